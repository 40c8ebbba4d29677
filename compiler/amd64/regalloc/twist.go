package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// A two-address operation comes as a COPY of its first operand and the operation on
// that. Where another operand could be the first, and ends here while the first goes
// on or the result becomes that other one (a value passed around a loop), it is
// taken instead and the COPY goes away:
//
//	COPY d, c; VFMADD231 d, a, b    becomes    COPY d, a; VFMADD213 d, b, c
//	COPY d, a; ADD d, b             becomes    COPY d, b; ADD d, a

// forms is the distance in the list of operations between those of multiply-add of
// one kind that differ in the order of their operands.
const forms = asm.VFMADD213PS - asm.VFMADD132PS

// twist changes instruction k of b and the COPY before it if that saves a move. The
// set of registers that are live behind the instruction must be at hand.
func (a *alloc) twist(b *bblock, k int) {
	insts := a.f.Blocks[b.block].Insts[b.lo:b.hi]
	if k == 0 || insts[k-1].Op != asm.COPY {
		return
	}
	cp, in := &insts[k-1], &insts[k]
	d, c := cp.Args[0].Reg, cp.Args[1].Reg
	if in.Args[0].Kind != asm.RegArg || in.Args[0].Reg != d || in.Mask != 0 || !d.IsVirtual() || !c.IsVirtual() {
		return
	}
	switch {
	case in.Op >= asm.VFMADD231PS && in.Op <= asm.VFNMSUB231SD:
		i := a.betterFirst(d, c, in, 1, 2)
		if i < 0 {
			return
		}
		cp.Args[1].Reg = in.Args[i].Reg
		if other := in.Args[3-i]; other.Kind == asm.RegArg {
			in.Op -= forms
			in.Args[1], in.Args[2] = other, asm.R(c)
		} else {
			in.Op -= 2 * forms
			in.Args[1] = asm.R(c)
		}
	case in.Op >= asm.VFMADD213PS && in.Op <= asm.VFNMSUB213SD, in.Op == asm.ADD, in.Op == asm.AND, in.Op == asm.OR, in.Op == asm.XOR, in.Op == asm.IMUL && in.Args[2].Kind == asm.NoArg:
		if a.betterFirst(d, c, in, 1) < 0 {
			return
		}
		cp.Args[1], in.Args[1] = in.Args[1], cp.Args[1]
	default:
		return
	}
	for i := k - 1; i <= k; i++ {
		slot := b.entry + 1 + int32(i)
		at := a.opsAt[slot]
		a.appendOperands(a.ops[at:at:a.opsAt[slot+1]], &insts[i])
		a.trace.twist(b.block, b.lo+int32(i), &insts[i])
	}
}

// betterFirst returns which of some arguments of an instruction is better than c as
// the register that becomes d, or -1.
func (a *alloc) betterFirst(d, c asm.Reg, in *asm.Inst, args ...int) int {
	to := a.virtual(d)
	for range 4 { // through the copies that pass d on
		if to = a.copyTo[to]; to < 0 || to == a.virtual(c) {
			break
		}
		for _, i := range args {
			if r := in.Args[i].Reg; in.Args[i].Kind == asm.RegArg && r.IsVirtual() && to == a.virtual(r) && a.ends(r, c, d) {
				return i
			}
		}
	}
	if to == a.virtual(c) || !a.isLive(c) {
		return -1
	}
	for _, i := range args {
		if r := in.Args[i].Reg; in.Args[i].Kind == asm.RegArg && a.ends(r, c, d) {
			return i
		}
	}
	return -1
}

// ends reports whether the instruction is the last to read r, another register than
// c and d.
func (a *alloc) ends(r, c, d asm.Reg) bool {
	return r.IsVirtual() && r != c && r != d && !a.isLive(r)
}

func (a *alloc) isLive(r asm.Reg) bool {
	v := a.virtual(r)
	return a.live[v>>6]>>(v&63)&1 != 0
}
