package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

const (
	partReg   = iota // Args[arg].Reg
	partIndex        // Args[arg].Index
	partMask         // Mask
)

// isJump reports whether an instruction ends a basic block.
func isJump(op asm.Op) bool {
	return op == asm.JMP || op == asm.JCC || op == asm.RET
}

// clobbers reports whether an instruction changes all registers.
func clobbers(op asm.Op) bool { return op == asm.BARRIER || op == asm.CALL }

// isConstant reports whether an instruction does nothing but put a constant into a
// register, and leaves the flags alone.
func isConstant(in *asm.Inst) bool {
	switch {
	case in.Mask != 0 || in.Args[0].Kind != asm.RegArg:
		return false
	case in.Clears():
		return in.Op >= asm.VMOVUPS
	case in.Args[2].Kind != asm.NoArg:
		return false
	}
	switch in.Op {
	case asm.MOV:
		return in.Args[1].Kind == asm.ImmArg
	case asm.VMOVUPS, asm.VMOVAPS, asm.VMOVDQU, asm.VMOVDQU32, asm.VMOVDQU64, asm.VBROADCASTSS, asm.VBROADCASTSD,
		asm.VPBROADCASTD, asm.VPBROADCASTQ, asm.KMOVW, asm.KMOVQ:
		return in.Args[1].Kind == asm.PoolArg
	}
	return false
}

// decode finds the registers of all instructions.
func (a *alloc) decode() {
	a.ops = a.ops[:0]
	a.opsAt = grow(a.opsAt, len(a.blockOf)+1)
	a.copyTo = grow(a.copyTo, a.count())
	for v := range a.copyTo {
		a.copyTo[v] = -1
	}
	for i := range a.blocks {
		b := &a.blocks[i]
		insts := a.f.Blocks[b.block].Insts[b.lo:b.hi]
		a.opsAt[b.entry] = int32(len(a.ops))
		for k := range insts {
			a.opsAt[b.entry+1+int32(k)] = int32(len(a.ops))
			a.ops = a.appendOperands(a.ops, &insts[k])
			if in := &insts[k]; in.Op == asm.COPY && in.Args[0].Reg.IsVirtual() && in.Args[1].Reg.IsVirtual() {
				a.copyTo[a.virtual(in.Args[1].Reg)] = a.virtual(in.Args[0].Reg)
			}
		}
	}
	a.opsAt[len(a.blockOf)] = int32(len(a.ops))
}

// operands returns the registers of an instruction by its number.
func (a *alloc) operands(slot int32) []operand { return a.ops[a.opsAt[slot]:a.opsAt[slot+1]] }

// appendOperands appends the registers of an instruction.
func (a *alloc) appendOperands(ops []operand, in *asm.Inst) []operand {
	first := len(ops)
	fold := -1 // argument that can be in memory
	mem := false
	clears := in.Clears()
	for i := range in.Args {
		arg := &in.Args[i]
		switch arg.Kind {
		case asm.RegArg:
			o := a.regOperand(in, i)
			switch {
			case clears:
				o.read, o.write, o.again = false, true, i > 0
			case o.read && !o.write && (in.Op.CanBeMem(i) || in.Op == asm.COPY):
				fold = len(ops) - first
			}
			ops = append(ops, o)
		case asm.PoolArg:
			mem = true
		case asm.MemArg:
			mem = true
			ops = appendMem(ops, in, i)
		}
	}
	if in.Mask != 0 {
		w := in.Op.MaskRole()&asm.Write != 0
		ops = append(ops, operand{reg: in.Mask, read: true, write: w, early: w, part: partMask, peer: -1})
	}
	if fold >= 0 && !mem {
		ops[first+fold].memory = true
	}
	return ops
}

// regOperand is the register argument i of an instruction.
func (a *alloc) regOperand(in *asm.Inst, i int) operand {
	reg, role := in.Args[i].Reg, roleOf(in, i)
	o := operand{reg: reg, read: role&asm.Read != 0, write: role&asm.Write != 0, arg: int8(i), peer: -1}
	o.early = o.write && isGather(in.Op)
	if in.Op == asm.COPY && in.Args[1-i].Reg.IsVirtual() {
		o.peer = a.virtual(in.Args[1-i].Reg)
	}
	return o
}

// generalRoles has the roles of the operations on general registers, for speed.
var generalRoles = func() (t [asm.VMOVUPS][4]asm.Role) {
	for op := range t {
		for i := range t[op] {
			t[op][i] = asm.Op(op).Role(i)
		}
	}
	return t
}()

func roleOf(in *asm.Inst, i int) asm.Role {
	if in.Op < asm.VMOVUPS && in.Op != asm.IMUL {
		return generalRoles[in.Op][i]
	}
	return in.RoleOf(i)
}

// appendMem appends the registers of the memory argument i.
func appendMem(ops []operand, in *asm.Inst, i int) []operand {
	arg := &in.Args[i]
	if arg.Reg != 0 {
		ops = append(ops, operand{reg: arg.Reg, read: true, arg: int8(i), part: partReg, peer: -1})
	}
	if arg.Index != 0 {
		ops = append(ops, operand{reg: arg.Index, read: true, arg: int8(i), part: partIndex, peer: -1})
	}
	return ops
}

// isGather reports whether an instruction wants all its registers to differ.
func isGather(op asm.Op) bool { return op >= asm.VPGATHERDD && op <= asm.VPGATHERQQK }
