package asm

// Role returns what op does with operand i where that is a register. SETCC writes 8
// bits of its operand and leaves the others: it is given a register that was cleared.
func (op Op) Role(i int) Role { return ops[op].roles[i] }

// RoleOf returns what the instruction does with operand i. Other than [Op.Role] it
// sees that IMUL with three operands only writes the first, that a vector which is
// written under a mask and not cleared is read too, and the direction of a move.
func (in *Inst) RoleOf(i int) Role {
	a := &in.Args[i]
	if a.Kind == MemArg || a.Kind == PoolArg {
		return in.memoryRole(i)
	}
	r := ops[in.Op].roles[i]
	if i > 0 {
		return r
	}
	switch {
	case in.Op == IMUL && in.Args[2].Kind != NoArg:
		return Write
	case r == Write && in.Merges():
		return ReadWrite
	}
	return r
}

// memoryRole is RoleOf for memory, which one form of a move may read and another
// write.
func (in *Inst) memoryRole(i int) Role {
	if f := in.shape(); f != nil {
		return f.args[i].role()
	}
	return ops[in.Op].roles[i]
}

// masked reports whether only some lanes are worked on: k0 stands for all.
func (in *Inst) masked() bool { return in.Mask != 0 && in.Mask != Phys(Mask, 0) }

// Merges reports whether the instruction keeps the lanes of its destination that
// its mask leaves out. Blends do not: there the mask chooses.
func (in *Inst) Merges() bool {
	switch in.Op {
	case VPBLENDMD, VPBLENDMQ:
		return false
	}
	return in.masked() && !in.Zero && in.Args[0].Kind == RegArg && in.Args[0].Reg.Class() == Vec
}

// MaskRole returns what op does with its write mask: gathers and scatters clear it.
func (op Op) MaskRole() Role {
	if ops[op].flags&gather != 0 {
		return ReadWrite
	}
	return Read
}

// Clears reports whether the instruction combines a register with itself so that
// what was in it does not matter: it only writes its operands.
func (in *Inst) Clears() bool {
	a := &in.Args
	switch in.Op {
	case XOR, SUB:
		return a[0].Kind == RegArg && a[1].Kind == RegArg && a[0].Reg == a[1].Reg
	case VPXOR, VPXORD, VPXORQ, KXORW, VPCMPEQD, KXNORW:
		return in.oneRegister()
	case VPTERNLOGD, VPTERNLOGQ:
		v := uint8(a[3].Imm)
		return (v == 0 || v == 255) && in.oneRegister()
	}
	return false
}

// oneRegister reports whether the first three operands are the same register, with
// no mask.
func (in *Inst) oneRegister() bool {
	a := &in.Args
	return in.Mask == 0 && a[1].Kind == RegArg && a[2].Kind == RegArg && a[0].Reg == a[1].Reg && a[1].Reg == a[2].Reg
}

// CanBeMem reports whether operand i of op, a register that it reads, could as well
// be memory that holds all bits of the register: where the instruction reads fewer,
// they are the lowest. It goes for VEX and EVEX alike.
func (op Op) CanBeMem(i int) bool { return ops[op].memory>>i&1 != 0 }

// AppendUses appends the registers that the instruction reads, operands first, then
// the mask. Machine registers that an operation reads without saying so (MUL, CQO,
// LOCK_CMPXCHG and others) are not among them.
func (in *Inst) AppendUses(list []Reg) []Reg {
	clears := in.Clears()
	for i := range in.Args {
		a := &in.Args[i]
		switch a.Kind {
		case RegArg:
			if in.RoleOf(i)&Read != 0 && !clears {
				list = append(list, a.Reg)
			}
		case MemArg:
			if a.Reg != 0 {
				list = append(list, a.Reg)
			}
			if a.Index != 0 {
				list = append(list, a.Index)
			}
		}
	}
	if in.Mask != 0 {
		list = append(list, in.Mask)
	}
	return list
}

// AppendDefs appends the registers that the instruction writes, the mask of a gather
// or scatter among them.
func (in *Inst) AppendDefs(list []Reg) []Reg {
	for i := range in.Args {
		if a := &in.Args[i]; a.Kind == RegArg && in.RoleOf(i)&Write != 0 {
			list = append(list, a.Reg)
		}
	}
	if in.Mask != 0 && in.Op.MaskRole() == ReadWrite {
		list = append(list, in.Mask)
	}
	return list
}
