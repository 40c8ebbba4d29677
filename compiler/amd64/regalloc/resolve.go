package regalloc

import (
	"cmp"
	"slices"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// The points of moves around an instruction, in order.
const (
	atEntry  = iota // behind the start of a block, for the only edge that leads there
	atBefore        // before the instruction
	atOut           // before it, of values that the instruction reads but leaves no room for
	atJump          // before it, for the edge that it takes
	atAfter         // after it, stores of what it wrote
	atEnd           // after it, for the edge to the next block
	phases   = 8
)

func key(slot int32, phase int32) int32 { return slot*phases + phase }

// resolve finds the moves between the parts of values.
func (a *alloc) resolve() {
	a.moves = a.moves[:0]
	a.tramps = a.tramps[:0]
	a.trampOf = grow(a.trampOf, len(a.blocks))
	for i := range a.trampOf {
		a.trampOf[i] = -1
	}
	a.locStart, a.locEnd = grow(a.locStart, len(a.blocks)), grow(a.locEnd, len(a.blocks))
	a.cleanIn, a.effect = grow(a.cleanIn, len(a.blocks)), grow(a.effect, len(a.blocks))
	for i := range a.locStart {
		a.locStart[i], a.locEnd[i] = noReg, noReg
	}
	for v := range a.vals {
		x := &a.vals[v]
		if x.first < 0 || a.ivs[x.first].next < 0 {
			continue
		}
		a.lifeLo, a.lifeHi = a.blockOf[a.rng[x.rlo].from>>1], a.blockOf[(a.rng[x.rhi-1].to-1)>>1]
		n := len(a.moves)
		a.locate(int32(v))
		a.findClean(int32(v))
		a.dropDefs(int32(v))
		a.joinParts(int32(v))
		a.joinEdges(int32(v))
		a.chooseStores(int32(v), n)
		for i := a.lifeLo; i <= a.lifeHi; i++ {
			a.locStart[i], a.locEnd[i] = noReg, noReg
		}
	}
	slices.SortStableFunc(a.moves, func(x, y move) int { return cmp.Compare(x.key, y.key) })
	a.placeTramps()
}

// placeTramps decides where the moves of jumps go that have no block of their own: in
// a block at the end of the code or, for a jump back at the end of a block, behind
// that jump, which then is to leave the loop.
func (a *alloc) placeTramps() {
	n := int32(len(a.f.Blocks))
	a.trampAt = a.trampAt[:0]
	for _, i := range a.tramps {
		b := &a.blocks[i]
		if b.succ[0] <= i && int(b.hi) == len(a.f.Blocks[b.block].Insts) && len(a.group(key(b.last(), atEnd))) == 0 {
			a.trampAt = append(a.trampAt, -1)
			continue
		}
		a.trampAt = append(a.trampAt, n)
		n++
	}
}

// group returns the moves of a key.
func (a *alloc) group(k int32) []move {
	lo, _ := slices.BinarySearchFunc(a.moves, k, func(m move, k int32) int { return cmp.Compare(m.key, k) })
	hi := lo
	for hi < len(a.moves) && a.moves[hi].key == k {
		hi++
	}
	return a.moves[lo:hi]
}

// trampKey is the key of the moves of trampoline t.
func (a *alloc) trampKey(t int32) int32 { return key(int32(len(a.blockOf))+t, atBefore) }

// joinParts adds the moves from one part of v to the next inside blocks.
func (a *alloc) joinParts(v int32) {
	// Whether the frame has the current value, as of a position.
	clean, asOf := false, int32(0)
	for i := a.vals[v].first; ; {
		j := a.ivs[i].next
		if j < 0 {
			return
		}
		x, y := &a.ivs[i], &a.ivs[j]
		slot := y.from >> 1
		b := a.blockOf[slot]
		if start := a.blocks[b].start(); start > asOf {
			clean, asOf = a.cleanIn[b], start
		}
		if asOf < y.from {
			clean = x.reg == inFrame || clean && !a.writtenBetween(&a.vals[v], asOf, y.from)
			asOf = y.from
		}
		switch {
		case x.to != y.from || x.reg == y.reg || clean && y.reg == inFrame:
		case y.from&1 != 0:
			// The instruction writes it, or only reads it and needs the register.
			if y.reg == inFrame {
				a.addMove(key(slot, atOut), v, x.reg, y.reg)
			}
		case a.blocks[b].entry != slot:
			a.addMove(key(slot, atBefore), v, x.reg, y.reg)
		}
		i = j
	}
}

func (a *alloc) addMove(key, v int32, from, to int16) {
	a.moves = append(a.moves, move{key: key, value: v, from: from, to: to})
}

// joinEdges adds the moves of v on edges between blocks.
func (a *alloc) joinEdges(v int32) {
	for i := a.lifeLo; i <= a.lifeHi; i++ {
		b := &a.blocks[i]
		for k, s := range b.succ {
			if s < 0 || a.locStart[s] == noReg || a.locStart[s] == a.locEnd[i] {
				continue
			}
			if a.locStart[s] == inFrame && a.cleanOut(i) {
				continue
			}
			a.addMove(a.edgeKey(i, k), v, a.locEnd[i], a.locStart[s])
		}
	}
}

// locate finds where v is at the start and the end of each block of its life.
func (a *alloc) locate(v int32) {
	for i := a.vals[v].first; i >= 0; i = a.ivs[i].next {
		x := &a.ivs[i]
		for k := x.rlo; k < x.rhi; k++ {
			from, to := max(a.rng[k].from, x.from), min(a.rng[k].to, x.to)
			for b := a.blockOf[from>>1]; int(b) < len(a.blocks) && a.blocks[b].start() < to; b++ {
				if from <= a.blocks[b].start() {
					a.locStart[b] = x.reg
				}
				if to >= a.blocks[b].end() {
					a.locEnd[b] = x.reg
				}
			}
		}
	}
}

// edgeKey returns the key of moves on the edge to a successor of block i. Where
// there is none, a block of its own is put at the end of the code.
func (a *alloc) edgeKey(i int32, succ int) int32 {
	b := &a.blocks[i]
	if succ == 1 {
		return key(b.last(), atEnd)
	}
	if a.f.Blocks[b.block].Insts[b.hi-1].Op == asm.JMP {
		return key(b.last(), atJump)
	}
	if s := &a.blocks[b.succ[0]]; s.preds == 1 {
		return key(s.entry, atEntry)
	}
	if a.trampOf[i] < 0 {
		a.trampOf[i] = int32(len(a.tramps))
		a.tramps = append(a.tramps, i)
	}
	return a.trampKey(a.trampOf[i])
}

// chooseStores decides whether v is stored where it leaves its register or after
// each definition, and puts in the stores of the latter. The moves of v are those
// from n on.
func (a *alloc) chooseStores(v int32, n int) {
	x := &a.vals[v]
	out := float32(0)
	for _, m := range a.moves[n:] {
		if m.to == inFrame {
			out += a.moveFreq(m.key)
		}
	}
	if out == 0 || x.remat < 0 && out < x.defFreq {
		return
	}
	kept := a.moves[:n]
	for _, m := range a.moves[n:] {
		if m.to != inFrame {
			kept = append(kept, m)
		}
	}
	a.moves = kept
	if x.remat < 0 {
		a.storeDefs(v)
	}
}

// storeDefs puts a store after each instruction that writes v, unless v is written
// again before the frame could be read.
func (a *alloc) storeDefs(v int32) {
	i := a.vals[v].first
	uses := a.uses[a.vals[v].ulo:a.vals[v].uhi]
	for k, u := range uses {
		if u.flags&useWrite == 0 {
			continue
		}
		for a.ivs[i].to <= u.pos {
			i = a.ivs[i].next
		}
		if !a.overwritten(&a.ivs[i], uses[k:]) {
			a.addMove(key(u.pos>>1, atAfter), v, a.ivs[i].reg, inFrame)
		}
	}
}

// overwritten reports whether what the first use writes to a register is written again
// by another in the same basic block, while the value is in the same register.
func (a *alloc) overwritten(p *ival, uses []use) bool {
	for _, u := range uses[1:] {
		if u.pos >= p.to || a.blockOf[u.pos>>1] != a.blockOf[uses[0].pos>>1] {
			return false
		}
		if u.flags&useWrite != 0 && u.pos>>1 != uses[0].pos>>1 {
			return true
		}
	}
	return false
}

func (a *alloc) moveFreq(k int32) float32 {
	slot := k / phases
	if int(slot) < len(a.blockOf) {
		return a.freqAt(2 * slot)
	}
	b := &a.blocks[a.tramps[int(slot)-len(a.blockOf)]]
	return min(b.freq, a.blocks[b.succ[0]].freq)
}
