package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// emitMoves appends the moves whose key is below one. Those of one key
// happen at the same time.
func (a *alloc) emitMoves(before, pos int32) {
	for a.at < len(a.moves) && a.moves[a.at].key < before {
		n := a.at + 1
		for n < len(a.moves) && a.moves[n].key == a.moves[a.at].key {
			n++
		}
		a.emitGroup(a.moves[a.at:n], pos)
		a.at = n
	}
}

// emitGroup appends moves that happen at the same time: registers are stored before
// they are written, and loaded after they were read.
func (a *alloc) emitGroup(group []move, pos int32) {
	a.pending = a.pending[:0]
	if len(group) > 0 {
		a.stats.Cost += float64(len(group)) * float64(a.moveFreq(group[0].key))
	}
	for _, m := range group {
		switch {
		case m.to == inFrame:
			a.stats.Spills++
			c := a.classOf(m.value)
			a.emit(a.moveInst(c, a.slotArg(m.value), a.regArg(c, m.from), pos), -1)
		case m.from >= 0:
			a.pending = append(a.pending, m)
		}
	}
	a.emitParallel(pos)
	for _, m := range group {
		if m.to >= 0 && m.from == inFrame {
			a.emitLoad(m, pos)
		}
	}
}

func (a *alloc) slotArg(v int32) asm.Arg { return asm.M(a.cfg.Base, a.vals[v].slot) }

func (a *alloc) regArg(c asm.Class, reg int16) asm.Arg { return asm.R(a.cfg.Regs[c][reg]) }

// emitLoad appends a load from the frame, or the instruction that makes the value
// again.
func (a *alloc) emitLoad(m move, pos int32) {
	c := a.classOf(m.value)
	x := &a.vals[m.value]
	if x.remat < 0 {
		a.stats.Reloads++
		a.emit(a.moveInst(c, a.regArg(c, m.to), a.slotArg(m.value), pos), -1)
		return
	}
	a.stats.Remats++
	r := &a.remats[x.remat]
	in := r.inst
	for i := range in.Args {
		if in.Args[i].Reg == r.reg { // more than once where it clears the register
			in.Args[i].Reg = a.cfg.Regs[c][m.to]
		}
	}
	in.Pos = pos
	a.emit(in, x.remat)
}

// emitParallel appends the pending moves between registers in an order in which
// none is written before it was read. A cycle is broken through the frame.
func (a *alloc) emitParallel(pos int32) {
	const fromTemp = noReg
	for len(a.pending) > 0 {
		k := a.ready()
		if k < 0 {
			a.breakCycle(fromTemp, pos)
			continue
		}
		m := a.pending[k]
		c := a.classOf(m.value)
		src := asm.M(a.cfg.Base, 0)
		if m.from == fromTemp {
			src.Disp = a.tempSlot(c)
		} else {
			src = a.regArg(c, m.from)
		}
		a.stats.Moves++
		a.emit(a.moveInst(c, a.regArg(c, m.to), src, pos), -1)
		a.pending[k] = a.pending[len(a.pending)-1]
		a.pending = a.pending[:len(a.pending)-1]
	}
}

// ready returns a pending move whose destination no other reads, or -1.
func (a *alloc) ready() int {
next:
	for k, m := range a.pending {
		for l, o := range a.pending {
			if l != k && o.from == m.to && a.classOf(o.value) == a.classOf(m.value) {
				continue next
			}
		}
		return k
	}
	return -1
}

// breakCycle saves the destination of the first pending move in the frame, where
// the move that reads it then finds it.
func (a *alloc) breakCycle(fromTemp int16, pos int32) {
	m := a.pending[0]
	c := a.classOf(m.value)
	temp := asm.M(a.cfg.Base, a.tempSlot(c))
	a.emit(a.moveInst(c, temp, a.regArg(c, m.to), pos), -1)
	for k := range a.pending {
		if o := &a.pending[k]; o.from == m.to && a.classOf(o.value) == c {
			o.from = fromTemp
		}
	}
}

// moveInst is the instruction that moves a register of class c, or a slot of the
// frame to or from one.
func (a *alloc) moveInst(c asm.Class, dst, src asm.Arg, pos int32) asm.Inst {
	in := asm.Inst{Op: asm.MOV, Width: 64, Args: [4]asm.Arg{dst, src}, Pos: pos}
	switch {
	case c == asm.Mask:
		in.Op = asm.KMOVQ
	case c != asm.Vec:
	case dst.Kind == asm.RegArg && src.Kind == asm.RegArg:
		in.Op, in.Width = asm.VMOVAPS, uint16(8*a.cfg.VecBytes)
	default:
		in.Op, in.Width = asm.VMOVUPS, uint16(8*a.cfg.VecBytes)
	}
	return in
}

// emit appends an instruction that was put in.
func (a *alloc) emit(in asm.Inst, remat int32) {
	a.out = append(a.out, in)
	a.trace.add(-1, len(a.out)-1, remat)
}
