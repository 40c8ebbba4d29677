package regalloc

import (
	"cmp"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// assignSlots assigns slots of the frame to the values that need them. Values that
// are never live together share one.
func (a *alloc) assignSlots() {
	f := &a.frame
	f.size = a.cfg.Offset
	f.temp = [4]int32{}
	f.order = f.order[:0]
	for v := range a.vals {
		if a.inFrame(int32(v)) {
			f.order = append(f.order, int32(v))
		}
	}
	// Vectors come first: their slots are the ones that need alignment.
	slices.SortFunc(f.order, func(v, w int32) int {
		x, y := a.slotClass(v), a.slotClass(w)
		if x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Or(cmp.Compare(a.rng[a.vals[v].rlo].from, a.rng[a.vals[w].rlo].from), cmp.Compare(v, w))
	})
	n := 0
	for _, v := range f.order {
		n = a.assignSlot(v, n)
	}
}

// slotClass is Vec or, for all that takes 8 bytes, GPR.
func (a *alloc) slotClass(v int32) asm.Class {
	if a.classOf(v) == asm.Vec {
		return asm.Vec
	}
	return asm.GPR
}

func (a *alloc) inFrame(v int32) bool {
	x := &a.vals[v]
	if x.first < 0 || x.remat >= 0 {
		return false
	}
	for i := x.first; i >= 0; i = a.ivs[i].next {
		if a.ivs[i].reg == inFrame {
			return true
		}
	}
	return false
}

// assignSlot gives v one of n slots or a new one, and returns their number.
func (a *alloc) assignSlot(v int32, n int) int {
	c := a.slotClass(v)
	for i := range a.frame.slots[:n] {
		s := &a.frame.slots[i]
		if s.class == c && !slices.ContainsFunc(s.values, func(w int32) bool { return a.overlap(v, w) }) {
			s.values = append(s.values, v)
			a.vals[v].slot = s.offset
			return n
		}
	}
	if n == len(a.frame.slots) {
		a.frame.slots = append(a.frame.slots, slot{})
	}
	s := &a.frame.slots[n]
	s.class, s.offset = c, a.newSlot(c)
	s.values = append(s.values[:0], v)
	a.vals[v].slot = s.offset
	return n + 1
}

func (a *alloc) newSlot(c asm.Class) int32 {
	size := 8
	if c == asm.Vec {
		size = a.cfg.VecBytes
	}
	off := (a.frame.size + size - 1) &^ (size - 1)
	a.frame.size = off + size
	return int32(off)
}

// tempSlot returns a temporary slot for one register of class c.
func (a *alloc) tempSlot(c asm.Class) int32 {
	if a.frame.temp[c] == 0 {
		a.frame.temp[c] = a.newSlot(c) + 1
	}
	return a.frame.temp[c] - 1
}

// overlap reports whether two values are ever live at the same time.
func (a *alloc) overlap(v, w int32) bool {
	x, y := a.rng[a.vals[v].rlo:a.vals[v].rhi], a.rng[a.vals[w].rlo:a.vals[w].rhi]
	if x[0].from >= y[len(y)-1].to || y[0].from >= x[len(x)-1].to {
		return false
	}
	for len(x) > 0 && len(y) > 0 {
		if max(x[0].from, y[0].from) < min(x[0].to, y[0].to) {
			return true
		}
		if x[0].to < y[0].to {
			x = x[1:]
		} else {
			y = y[1:]
		}
	}
	return false
}
