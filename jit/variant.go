package jit

import (
	"encoding/binary"
	"errors"

	"github.com/gokiln/kiln/compiler/code"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/runtime"
)

// variant returns the code for launches that have the properties a, compiling
// it at the first such launch.
func (k *Kernel) variant(in *instance, a code.Assume) (*runtime.Function, error) {
	if a == in.assumed {
		return in.fn, nil
	}
	if fn := in.variants[a].Load(); fn != nil {
		return fn, nil
	}
	defer observers.deliver() // when the lock is released
	k.mu.Lock()
	defer k.mu.Unlock()
	if fn := in.variants[a].Load(); fn != nil {
		return fn, nil
	}
	other, err := k.resolve(in.dev, in.tgt, in.want, a)
	if err != nil {
		return nil, err
	}
	in.variants[a].Store(other.fn)
	return other.fn, nil
}

// best returns code that assumes what is given, or less.
func (r *resolver) best(assume code.Assume) (*image, error) {
	return weaker(assume, func(a code.Assume) (*image, error) {
		r.assume = a
		return r.resolve()
	})
}

// weaker calls resolve for a and, as long as that is not prebuilt, for less
// and less of it: such code is right too.
func weaker(a code.Assume, resolve func(code.Assume) (*image, error)) (*image, error) {
	im, first := resolve(a)
	err := first
	for b := a; errors.Is(err, ErrNotPrebuilt) && b != 0; {
		b = (b - 1) & a
		im, err = resolve(b)
	}
	if err != nil {
		return nil, first
	}
	return im, nil
}

// watched is where the argument block holds what chooses the variant.
type watched struct {
	slices []watchedSlice
	ints   []int // offsets
}

type watchedSlice struct {
	at      int    // offset of the address; the length follows it
	size    uint64 // of an element
	written bool
}

func watch(plan []param) (w watched) {
	for i := range plan {
		switch p := &plan[i]; {
		case p.Slice:
			w.slices = append(w.slices, watchedSlice{p.Offset, uint64(p.Size), p.Written})
		case p.Go == "int" && !p.Const:
			w.ints = append(w.ints, p.Offset)
		}
	}
	return w
}

// properties returns which of the properties in assumed a launch has.
func (w *watched) properties(assumed code.Assume, g runtime.Grid, block []byte) code.Assume {
	a := assumed
	if a == 0 {
		return 0
	}
	if !smallAxis(g.Blocks.X, g.Threads.X) || !smallAxis(g.Blocks.Y, g.Threads.Y) || !smallAxis(g.Blocks.Z, g.Threads.Z) {
		a &^= code.Small
	}
	for _, at := range w.ints {
		if x := int64(binary.LittleEndian.Uint64(block[at:])); x >= ir.SmallLen || x <= -ir.SmallLen {
			a &^= code.Small
		}
	}
	for i := range w.slices {
		begin, n := w.slices[i].read(block)
		if begin%16 != 0 {
			a &^= code.Aligned
		}
		if n >= ir.SmallLen {
			a &^= code.Small
		}
		if a&code.Disjoint != 0 && w.slices[i].written && w.overlapped(i, begin, begin+n*w.slices[i].size, block) {
			a &^= code.Disjoint
		}
	}
	return a
}

func smallAxis(blocks, threads int) bool {
	blocks, threads = max(blocks, 1), max(threads, 1)
	// The product of two numbers up to these limits does not overflow.
	return blocks <= ir.SmallBlocks && threads <= ir.SmallThreads && blocks*threads <= ir.SmallThreads
}

// overlapped reports whether any slice but slice i has bytes in begin to end.
func (w *watched) overlapped(i int, begin, end uint64, block []byte) bool {
	for j := range w.slices {
		b, n := w.slices[j].read(block)
		if j != i && begin < b+n*w.slices[j].size && b < end {
			return true
		}
	}
	return false
}

// read returns the address and the length of the slice.
func (s *watchedSlice) read(block []byte) (begin, n uint64) {
	b := block[s.at:][:16]
	return binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
}
