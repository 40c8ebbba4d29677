package regalloc

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

const (
	useWrite  useFlags = 1 << iota
	useMemory          // the instruction can read the operand from memory
	useUndef           // written by UNDEF
	useEarly           // must differ from what the instruction reads: no use of its own
)

// buildRanges finds the live ranges and the uses of each virtual register, going
// through the code backward so that lists grow at their head.
func (a *alloc) buildRanges() error {
	n := a.count()
	a.links, a.events, a.copies, a.remats = a.links[:0], a.events[:0], a.copies[:0], a.remats[:0]
	a.rangeHead, a.useHead = grow(a.rangeHead, n), grow(a.useHead, n)
	for v := range n {
		a.rangeHead[v], a.useHead[v] = -1, -1
	}
	for c := range a.fixed {
		for r := range a.fixed[c] {
			a.fixed[c][r] = -1
		}
	}
	for i := len(a.blocks) - 1; i >= 0; i-- {
		if err := a.buildBlock(i); err != nil {
			return err
		}
	}
	return nil
}

func (a *alloc) buildBlock(i int) error {
	b := &a.blocks[i]
	a.liveOut(b, a.live)
	for w, bits := range a.live {
		for ; bits != 0; bits &= bits - 1 {
			a.addRange(&a.rangeHead[int32(w*64)+trailing(bits)], b.start(), b.end())
		}
	}
	var phys [4]uint32 // machine registers that are live
	insts := a.f.Blocks[b.block].Insts[b.lo:b.hi]
	for k := len(insts) - 1; k >= 0; k-- {
		slot := b.entry + 1 + int32(k)
		a.twist(b, k)
		ops := a.operands(slot)
		a.buildWrites(b, slot, &insts[k], ops, &phys)
		a.buildReads(b, slot, ops, &phys)
		a.noteCopy(b, &insts[k])
	}
	for c := range phys {
		if phys[c] != 0 && i > 0 {
			return fmt.Errorf("regalloc: %w: block %d reads machine register %d of class %d without writing it; it may live within one basic block only", ErrShape, b.block, trailing(uint64(phys[c])), c)
		}
	}
	return nil
}

func (a *alloc) buildWrites(b *bblock, slot int32, in *asm.Inst, ops []operand, phys *[4]uint32) {
	for j := range ops {
		o := &ops[j]
		if !o.write || o.again {
			continue
		}
		if !o.reg.IsVirtual() {
			a.physWrite(o.reg, slot, phys)
			continue
		}
		v := a.virtual(o.reg)
		if a.live[v>>6]>>(v&63)&1 != 0 {
			a.links[a.rangeHead[v]].from = 2*slot + 1
			a.live[v>>6] &^= 1 << (v & 63)
		} else {
			a.addRange(&a.rangeHead[v], 2*slot+1, 2*slot+2)
		}
		flags := useWrite
		if in.Op == asm.UNDEF {
			flags |= useUndef
		}
		a.addEvent(v, 2*slot+1, o.peer, flags)
		if isConstant(in) {
			a.remats = append(a.remats, remat{inst: *in, reg: o.reg})
		}
	}
}

func (a *alloc) buildReads(b *bblock, slot int32, ops []operand, phys *[4]uint32) {
	for j := range ops {
		o := &ops[j]
		if o.write && o.early && o.reg.IsVirtual() {
			a.addEvent(a.virtual(o.reg), 2*slot, -1, useWrite|useEarly)
		}
		if !o.read {
			continue
		}
		if !o.reg.IsVirtual() {
			a.physRead(o.reg, b, slot, phys)
			continue
		}
		v := a.virtual(o.reg)
		if a.live[v>>6]>>(v&63)&1 == 0 {
			a.live[v>>6] |= 1 << (v & 63)
			a.addRange(&a.rangeHead[v], b.start(), 2*slot+1)
		}
		flags := useFlags(0)
		if o.memory {
			flags = useMemory
		}
		a.addEvent(v, 2*slot, o.peer, flags)
	}
}

func (a *alloc) physWrite(r asm.Reg, slot int32, phys *[4]uint32) {
	c, n := r.Class(), r.Num()
	if a.physOf[c][n] < 0 {
		return
	}
	if phys[c]>>n&1 != 0 {
		a.links[a.fixed[c][n]].from = 2*slot + 1
		phys[c] &^= 1 << n
		return
	}
	a.addRange(&a.fixed[c][n], 2*slot+1, 2*slot+2)
}

func (a *alloc) physRead(r asm.Reg, b *bblock, slot int32, phys *[4]uint32) {
	c, n := r.Class(), r.Num()
	if a.physOf[c][n] < 0 || phys[c]>>n&1 != 0 {
		return
	}
	phys[c] |= 1 << n
	a.addRange(&a.fixed[c][n], b.start(), 2*slot+1)
}

// noteCopy remembers a COPY between virtual registers and hints of machine ones.
func (a *alloc) noteCopy(b *bblock, in *asm.Inst) {
	if in.Op != asm.COPY {
		return
	}
	d, s := in.Args[0].Reg, in.Args[1].Reg
	if d.IsVirtual() && s.IsVirtual() && d != s {
		a.copies = append(a.copies, copyPair{dst: a.virtual(d), src: a.virtual(s), freq: b.freq})
	}
}

// addRange puts a range before the ranges of a list.
func (a *alloc) addRange(head *int32, from, to int32) {
	if h := *head; h >= 0 && to >= a.links[h].from {
		a.links[h].from = min(from, a.links[h].from)
		return
	}
	a.links = append(a.links, link{from: from, to: to, next: *head})
	*head = int32(len(a.links) - 1)
}

func (a *alloc) addEvent(v, pos, peer int32, flags useFlags) {
	a.events = append(a.events, event{pos: pos, next: a.useHead[v], peer: peer, flags: flags})
	a.useHead[v] = int32(len(a.events) - 1)
}
