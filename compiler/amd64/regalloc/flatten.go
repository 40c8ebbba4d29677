package regalloc

import (
	"cmp"
	"slices"
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
