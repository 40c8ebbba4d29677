package asm

// generalRoles has the roles of the operands of general instructions that do not
// write their first operand and read the others.
var generalRoles = map[Op][]Role{
	COPY: {Write, Read}, UNDEF: {Write}, BARRIER: nil,
	ADD: {ReadWrite, Read}, OR: {ReadWrite, Read}, ADC: {ReadWrite, Read}, SBB: {ReadWrite, Read},
	AND: {ReadWrite, Read}, SUB: {ReadWrite, Read}, XOR: {ReadWrite, Read}, CMP: {Read, Read}, TEST: {Read, Read},
	NEG: {ReadWrite}, NOT: {ReadWrite}, INC: {ReadWrite}, DEC: {ReadWrite}, IMUL1: {Read}, MUL: {Read}, DIV: {Read}, IDIV: {Read},
	SHL: {ReadWrite, Read}, SHR: {ReadWrite, Read}, SAR: {ReadWrite, Read}, ROL: {ReadWrite, Read}, ROR: {ReadWrite, Read},
	BSWAP: {ReadWrite}, BT: {Read, Read}, SETCC: {Write}, CMOVCC: {ReadWrite, Read}, JCC: {Read}, JMP: {Read}, CALL: {Read},
	PUSH: {Read}, POP: {Write}, XCHG: {ReadWrite, ReadWrite}, LOCK_XADD: {ReadWrite, ReadWrite}, LOCK_CMPXCHG: {ReadWrite, Read},
}

// Role returns what op does with operand i. SETCC writes 8 bits of its operand and
// leaves the others: it is given a register that was cleared.
func (op Op) Role(i int) Role {
	if op >= VMOVUPS {
		if f := entries[op].forms; len(f) > 0 && i < len(f[0].args) {
			return f[0].args[i].role
		}
		return Read
	}
	switch {
	case op == SETCC:
		return ReadWrite
	case op == IMUL && i == 0:
		return ReadWrite
	}
	if roles, ok := generalRoles[op]; ok {
		if i < len(roles) {
			return roles[i]
		}
		return Read
	}
	if i == 0 {
		return Write
	}
	return Read
}

// RoleOf returns what the instruction does with operand i: with three operands IMUL
// only writes the first, and a destination with a mask that does not become zero is
// read; so is what an operation clears by combining it with itself not.
func (in *Inst) RoleOf(i int) Role {
	if in.Op == IMUL && in.Args[2].Kind != NoArg && i == 0 {
		return Write
	}
	r := in.Op.Role(i)
	if in.Op >= VMOVUPS && len(entries[in.Op].forms) > 1 {
		if f := formOf(in); f != nil && i < len(f.args) {
			r = f.args[i].role
		}
	}
	if i == 0 && r == Write && in.Merges() {
		r = ReadWrite
	}
	return r
}

// Merges reports whether the instruction keeps the lanes of its destination that
// its mask leaves out. Blends do not: there the mask chooses.
func (in *Inst) Merges() bool {
	switch in.Op {
	case VBLENDMPS, VBLENDMPD, VPBLENDMD, VPBLENDMQ:
		return false
	}
	return in.Mask != 0 && !in.Zero && in.Args[0].Kind == RegArg && in.Args[0].Reg.Class() == Vec
}

// MaskRole returns what op does with its write mask: gathers and scatters clear it.
func (op Op) MaskRole() Role {
	switch op {
	case VPGATHERDDK, VPGATHERDQK, VPGATHERQDK, VPGATHERQQK, VPSCATTERDD, VPSCATTERDQ, VPSCATTERQD, VPSCATTERQQ:
		return ReadWrite
	}
	return Read
}

// Clears reports whether the instruction combines a register with itself so that
// what was in it does not matter: it only writes its operands.
func (in *Inst) Clears() bool {
	switch in.Op {
	case XOR, SUB:
		return in.Args[0].Kind == RegArg && in.Args[1].Kind == RegArg && in.Args[0].Reg == in.Args[1].Reg
	case VPXOR, VPXORD, VPXORQ, VXORPS, VXORPD, KXORW, VPCMPEQD, KXNORW:
		a := &in.Args
		return in.Mask == 0 && a[1].Kind == RegArg && a[2].Kind == RegArg && a[0].Reg == a[1].Reg && a[1].Reg == a[2].Reg
	}
	return false
}

// CanBeMem reports whether operand i of op can be memory of its full width.
func (op Op) CanBeMem(i int) bool {
	switch op {
	case ADD, OR, AND, SUB, XOR, CMP, IMUL, MOV, TEST, CMOVCC:
		return i == 1 && op != TEST || i == 0 && op == TEST
	case COPY, UNDEF, BARRIER:
		return false
	}
	if op < VMOVUPS {
		return false
	}
	f := entries[op].forms[0]
	return i < len(f.args) && f.args[i].mem == '*' && f.args[i].class == 'v' && f.args[i].role == Read && f.tuple.bytes == 0
}
