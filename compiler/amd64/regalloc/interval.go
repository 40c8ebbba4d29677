package regalloc

import (
	"cmp"
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// value is a set of virtual registers that became one.
type value struct {
	rlo, rhi int32 // its ranges
	ulo, uhi int32 // its uses
	first    int32 // its first interval, or -1
	remat    int32 // instruction that makes it again, or -1
	partner  int32 // value that a COPY joins it with, or -1
	hint     int16 // register that a COPY joins it with, or noReg
	last     int16 // register that it got last, or noReg
	stored   bool  // a part of it is in the frame
	dropped  bool  // what it was first made by is not needed
	slot     int32 // offset in the frame
	defs     int32 // how many instructions write it
	defFreq  float32
}

// span is a live range [from, to).
type span struct{ from, to int32 }

// use is a read or write that an instruction makes.
type use struct {
	pos   int32
	flags useFlags
}

// ival is a live interval: a part of the live range of a value, with one location.
type ival struct {
	value    int32
	from, to int32 // ranges are cut off here
	rlo, rhi int32 // its ranges
	cur      int32 // first range that may not be over
	ulo, uhi int32 // its uses
	next     int32 // the next part of the value, or -1
	reg      int16 // index into Config.Regs, or inFrame
}

const (
	noReg   = int16(-2)
	inFrame = int16(-1)
	never   = int32(math.MaxInt32)
)

// flatten turns the lists of values into slices and makes one interval of each.
func (a *alloc) flatten() {
	a.vals = grow(a.vals, a.count())
	a.heap = a.heap[:0]
	a.rng, a.uses, a.ivs = a.rng[:0], a.uses[:0], a.ivs[:0]
	for v := range a.vals {
		a.vals[v] = value{first: -1, remat: -1, partner: -1, hint: noReg, last: noReg}
	}
	a.findRemats()
	for v := range a.vals {
		if a.find(int32(v)) == int32(v) && a.rangeHead[v] >= 0 {
			a.flattenValue(int32(v))
		}
	}
	for _, c := range a.copies {
		d, s := a.find(c.dst), a.find(c.src)
		if a.vals[d].partner < 0 {
			a.vals[d].partner = s
		}
		if a.vals[s].partner < 0 {
			a.vals[s].partner = d
		}
	}
	a.splitAtBarriers()
}

func (a *alloc) flattenValue(v int32) {
	x := &a.vals[v]
	x.rlo = int32(len(a.rng))
	for g := a.rangeHead[v]; g >= 0; g = a.links[g].next {
		a.rng = append(a.rng, span{a.links[g].from, a.links[g].to})
	}
	x.rhi = int32(len(a.rng))
	x.ulo = int32(len(a.uses))
	for u := a.useHead[v]; u >= 0; u = a.events[u].next {
		e := &a.events[u]
		if e.flags&(useUndef|useEarly) != 0 || e.peer >= 0 && a.find(e.peer) == v {
			continue
		}
		if e.flags&useWrite != 0 {
			x.defs++
			x.defFreq += a.freqAt(e.pos)
		}
		flags := e.flags
		if x.remat >= 0 {
			flags &^= useMemory
		}
		a.uses = append(a.uses, use{pos: e.pos, flags: flags})
	}
	x.uhi = int32(len(a.uses))
	if x.defs != 1 {
		x.remat = -1
	}
	x.first = int32(len(a.ivs))
	a.ivs = append(a.ivs, ival{
		value: v, from: a.rng[x.rlo].from, to: a.rng[x.rhi-1].to,
		rlo: x.rlo, rhi: x.rhi, cur: x.rlo, ulo: x.ulo, uhi: x.uhi, next: -1, reg: noReg,
	})
}

// findRemats notes the values that an instruction can make again: those that the
// caller names and those that a constant is put into. The definitions of constants were
// noted when the ranges were built.
func (a *alloc) findRemats() {
	given := len(a.remats)
	for r, in := range a.f.Remat {
		if r.IsVirtual() {
			a.remats = append(a.remats, remat{inst: in, reg: r})
		}
	}
	// The same order whatever that of the map.
	slices.SortFunc(a.remats[given:], func(x, y remat) int { return cmp.Compare(x.reg, y.reg) })
	for i := range a.remats {
		r := &a.remats[i]
		a.vals[a.find(a.virtual(r.reg))].remat = int32(i)
		a.trace.addRemat(r.reg)
	}
}

// remat is how a virtual register is made again.
type remat struct {
	inst asm.Inst
	reg  asm.Reg
}

func (a *alloc) blockAt(pos int32) *bblock { return &a.blocks[a.blockOf[pos>>1]] }

func (a *alloc) freqAt(pos int32) float32 { return a.blockAt(pos).freq }

// split cuts interval i at a position inside it and returns the second part.
func (a *alloc) split(i, pos int32) int32 {
	j := int32(len(a.ivs))
	a.ivs = append(a.ivs, a.ivs[i])
	x, y := &a.ivs[i], &a.ivs[j]
	k := x.rlo
	for a.rng[k].to <= pos {
		k++
	}
	y.rlo, y.cur = k, k
	y.from = max(pos, a.rng[k].from)
	x.rhi = k
	if a.rng[k].from < pos {
		x.rhi++
	}
	x.to = min(pos, a.rng[x.rhi-1].to)
	u := x.ulo
	for u < x.uhi && a.uses[u].pos < pos {
		u++
	}
	x.uhi, y.ulo = u, u
	x.next = j
	y.reg = noReg
	return j
}

// splitAtBarriers cuts the intervals at the barriers that they live across, and
// queues all parts.
func (a *alloc) splitAtBarriers() {
	n := int32(len(a.ivs))
	for i := range n {
		j := i
		fresh := false // whether j starts behind a barrier
		for _, k := range a.barriers {
			if !a.covers(j, 2*k) {
				continue
			}
			part := a.split(j, 2*k)
			if a.endAtBarrier(j, 2*k) {
				a.place(j, fresh)
			}
			j, fresh = part, true
		}
		a.place(j, fresh)
	}
}

// place queues an interval for allocation, one that begins behind a barrier from where it is wanted
// in a register again.
func (a *alloc) place(i int32, fresh bool) {
	if fresh {
		a.toFrame(i, a.ivs[i].from+2)
		return
	}
	a.push(i)
}

// endAtBarrier puts the end of interval i, which is cut off at a barrier, into the
// frame from before a loop around the barrier that does not use it. It reports
// whether something is left of i.
func (a *alloc) endAtBarrier(i, pos int32) bool {
	q := a.storePos(i, pos)
	if q >= a.ivs[i].to {
		return true
	}
	a.vals[a.ivs[i].value].stored = true
	left := q > a.ivs[i].from
	if left {
		i = a.split(i, q)
	}
	a.ivs[i].reg = inFrame
	return left
}

// covers reports whether pos is in interval i.
func (a *alloc) covers(i, pos int32) bool {
	x := &a.ivs[i]
	if pos < x.from || pos >= x.to {
		return false
	}
	for k := x.rlo; k < x.rhi && a.rng[k].from <= pos; k++ {
		if pos < a.rng[k].to {
			return true
		}
	}
	return false
}

// meet returns the first position that intervals i and j share, or never. All that
// is before position now is over for i.
func (a *alloc) meet(i, j, now int32) int32 {
	x, y := &a.ivs[i], &a.ivs[j]
	if x.from >= y.to || y.from >= x.to {
		return never
	}
	for x.cur < x.rhi && a.rng[x.cur].to <= now {
		x.cur++
	}
	for k, l := x.cur, y.rlo; k < x.rhi && l < y.rhi; {
		g, h := &a.rng[k], &a.rng[l]
		from := max(g.from, h.from, x.from, y.from)
		if from < min(g.to, h.to, x.to, y.to) {
			return from
		}
		if g.to < h.to {
			k++
		} else {
			l++
		}
	}
	return never
}
