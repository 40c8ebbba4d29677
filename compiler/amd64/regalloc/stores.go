package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// The effect of a basic block on whether the frame has the current value.
const (
	passes = uint8(iota) // as it was at the start
	isClean
	isDirty
)

// findClean finds out for each block whether the frame has the current value of v at
// its start and its end, so that it need not be stored again. Must follow locate.
func (a *alloc) findClean(v int32) {
	for i := a.lifeLo; i <= a.lifeHi; i++ {
		a.cleanIn[i], a.effect[i] = i > 0, passes
	}
	a.blockEffects(v)
	for changed := true; changed; {
		changed = false
		for i := a.lifeLo; i <= a.lifeHi; i++ {
			if a.locEnd[i] == noReg || a.cleanOut(i) {
				continue
			}
			for _, s := range a.blocks[i].succ {
				if s >= 0 && a.locStart[s] >= 0 && a.cleanIn[s] {
					a.cleanIn[s], changed = false, true
				}
			}
		}
	}
}

// cleanOut reports whether the frame has the current value at the end of block i.
func (a *alloc) cleanOut(i int32) bool {
	return a.effect[i] == isClean || a.effect[i] == passes && a.cleanIn[i]
}

// blockEffects finds the effect of each block: what came last of a write of v and a
// stay in the frame.
func (a *alloc) blockEffects(v int32) {
	x := &a.vals[v]
	for _, u := range a.uses[x.ulo:x.uhi] {
		if u.flags&useWrite != 0 {
			a.effect[a.blockOf[u.pos>>1]] = isDirty
		}
	}
	for i := x.first; i >= 0; i = a.ivs[i].next {
		p := &a.ivs[i]
		if p.reg != inFrame {
			continue
		}
		for b := a.blockOf[p.from>>1]; int(b) < len(a.blocks) && a.blocks[b].start() < p.to; b++ {
			if end := a.blocks[b].end(); p.to >= end || !a.writtenBetween(x, p.to, end) {
				a.effect[b] = isClean
			}
		}
	}
}

// writtenBetween reports whether the value is written in [from, to).
func (a *alloc) writtenBetween(x *value, from, to int32) bool {
	lo, hi := x.ulo, x.uhi
	for lo < hi {
		if m := (lo + hi) / 2; a.uses[m].pos < from {
			lo = m + 1
		} else {
			hi = m
		}
	}
	for ; lo < x.uhi && a.uses[lo].pos < to; lo++ {
		if a.uses[lo].flags&useWrite != 0 {
			return true
		}
	}
	return false
}

// dropDefs marks a value that is made again wherever it is used: what it was first
// made by is not needed.
func (a *alloc) dropDefs(v int32) {
	x := &a.vals[v]
	if x.remat < 0 {
		return
	}
	p := &a.ivs[x.first]
	if p.reg < 0 || p.uhi != p.ulo+1 || a.uses[p.ulo].flags&useWrite == 0 {
		return
	}
	b := a.blockAt(p.from)
	if p.to > b.end() {
		return
	}
	for _, s := range b.succ {
		if p.to == b.end() && s >= 0 && a.locStart[s] >= 0 {
			return
		}
	}
	if n := p.next; n >= 0 && a.ivs[n].from == p.to && a.ivs[n].reg >= 0 {
		return
	}
	x.dropped = true
}

// isDropped reports whether an instruction only makes a value that [dropDefs] marked.
func (a *alloc) isDropped(in *asm.Inst) bool {
	if in.Args[0].Kind != asm.RegArg || !in.Args[0].Reg.IsVirtual() || in.Op.Role(0) != asm.Write {
		return false
	}
	x := &a.vals[a.find(a.virtual(in.Args[0].Reg))]
	return x.dropped && in.Op == a.remats[x.remat].inst.Op
}
