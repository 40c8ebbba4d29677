package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// rewrite puts the machine registers and the moves into the code.
func (a *alloc) rewrite() {
	a.at = 0
	a.cursor = grow(a.cursor, a.count())
	for v := range a.vals {
		a.cursor[v] = a.vals[v].first
	}
	k := 0
	for i, b := range a.f.Blocks {
		a.out = a.out[:0]
		a.trace.block()
		for ; k < len(a.blocks) && a.blocks[k].block == int32(i); k++ {
			a.rewriteBlock(b, k)
		}
		b.Insts = append(b.Insts[:0], a.out...)
	}
	for t, i := range a.tramps {
		if a.trampAt[t] >= 0 {
			a.addTrampoline(int32(t), i)
		}
	}
}

func (a *alloc) rewriteBlock(f *Block, k int) {
	b := &a.blocks[k]
	insts := f.Insts[b.lo:b.hi]
	pos := int32(0)
	if len(insts) > 0 {
		pos = insts[0].Pos
	}
	a.emitMoves(key(b.entry+1, 0), pos)
	for n := range insts {
		slot := b.entry + 1 + int32(n)
		in := &insts[n]
		a.emitMoves(key(slot, atAfter), in.Pos)
		if t := a.trampOf[k]; t >= 0 && in.Op == asm.JCC {
			a.rewriteJump(in, b, t, b.lo+int32(n))
			continue
		}
		a.rewriteInst(in, slot, b.lo+int32(n))
		a.emitMoves(key(slot+1, 0), in.Pos)
	}
}

// rewriteJump appends the conditional jump at the end of b, on whose edge there are
// moves.
func (a *alloc) rewriteJump(in *asm.Inst, b *bblock, t, orig int32) {
	a.out = append(a.out, *in)
	a.trace.add(orig, len(a.out)-1, -1)
	jump := &a.out[len(a.out)-1]
	if at := a.trampAt[t]; at >= 0 {
		jump.Args[0].Imm = int64(at)
		a.emitMoves(key(b.last()+1, 0), in.Pos)
		return
	}
	to := in.Args[0]
	jump.Cond ^= 1
	jump.Args[0].Imm = int64(b.block) + 1
	a.emitGroup(a.group(a.trampKey(t)), in.Pos)
	a.emit(asm.Inst{Op: asm.JMP, Width: 64, Args: [4]asm.Arg{to}, Pos: in.Pos}, -1)
}

// addTrampoline appends the block with the moves of the edge that the jump at the
// end of basic block i takes.
func (a *alloc) addTrampoline(t, i int32) {
	b := &a.blocks[i]
	to := &a.blocks[b.succ[0]]
	from := a.f.Blocks[b.block]
	pos := from.Insts[len(from.Insts)-1].Pos
	a.out = a.out[:0]
	a.trace.block()
	a.emitGroup(a.group(a.trampKey(t)), pos)
	a.emit(asm.Inst{Op: asm.JMP, Width: 64, Args: [4]asm.Arg{asm.L(int(to.block))}, Pos: pos}, -1)
	a.f.Blocks = append(a.f.Blocks, &Block{
		Insts: append([]asm.Inst(nil), a.out...),
		Depth: min(from.Depth, a.f.Blocks[to.block].Depth),
	})
}

// place returns where virtual register r is at a position: an index into the
// registers of its class, or inFrame, and its value. Positions only grow.
func (a *alloc) where(r asm.Reg, pos int32) (int16, int32) {
	v := a.find(a.virtual(r))
	i := a.cursor[v]
	for a.ivs[i].to <= pos && a.ivs[i].next >= 0 {
		i = a.ivs[i].next
	}
	a.cursor[v] = i
	return a.ivs[i].reg, v
}

// rewriteInst appends an instruction with machine registers, unless it goes.
func (a *alloc) rewriteInst(in *asm.Inst, slot, orig int32) {
	switch in.Op {
	case asm.UNDEF:
		a.trace.add(orig, -1, -1)
		return
	case asm.COPY:
		a.rewriteCopy(in, slot, orig)
		return
	}
	if a.isDropped(in) {
		a.trace.add(orig, -1, -1)
		return
	}
	a.out = append(a.out, *in)
	a.trace.add(orig, len(a.out)-1, -1)
	in = &a.out[len(a.out)-1]
	ops := a.operands(slot)
	for i := range ops {
		if o := &ops[i]; o.read && o.reg.IsVirtual() {
			a.substitute(in, o, 2*slot)
		}
	}
	for i := range ops {
		if o := &ops[i]; o.write && !o.read && o.reg.IsVirtual() {
			a.substitute(in, o, 2*slot+1)
		}
	}
}

// substitute puts the location of an operand into an instruction.
func (a *alloc) substitute(in *asm.Inst, o *operand, pos int32) {
	reg, v := a.where(o.reg, pos)
	if reg == inFrame {
		a.stats.Folded++
		in.Args[o.arg] = asm.M(a.cfg.Base, a.vals[v].slot)
		return
	}
	r := a.cfg.Regs[o.reg.Class()][reg]
	switch o.part {
	case partReg:
		in.Args[o.arg].Reg = r
	case partIndex:
		in.Args[o.arg].Index = r
	case partMask:
		in.Mask = r
	}
}

// rewriteCopy turns a COPY into a move, or drops it.
func (a *alloc) rewriteCopy(in *asm.Inst, slot, orig int32) {
	dst, src := in.Args[0].Reg, in.Args[1].Reg
	c := dst.Class()
	from := asm.R(src)
	if src.IsVirtual() {
		reg, v := a.where(src, 2*slot)
		if dst.IsVirtual() && a.find(a.virtual(dst)) == v {
			a.dropCopy(orig)
			return
		}
		if reg == inFrame {
			a.stats.Folded++
			from = asm.M(a.cfg.Base, a.vals[v].slot)
		} else {
			from = asm.R(a.cfg.Regs[c][reg])
		}
	}
	if dst.IsVirtual() {
		reg, _ := a.where(dst, 2*slot+1)
		dst = a.cfg.Regs[c][reg]
	}
	if from.Kind == asm.RegArg && from.Reg == dst {
		a.dropCopy(orig)
		return
	}
	a.stats.Kept++
	a.out = append(a.out, a.moveInst(c, asm.R(dst), from, in.Pos))
	a.trace.add(orig, len(a.out)-1, -1)
}

func (a *alloc) dropCopy(orig int32) {
	a.stats.Copies++
	a.trace.add(orig, -1, -1)
}
