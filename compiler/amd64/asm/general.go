package asm

import "encoding/binary"

// Instructions of general registers.

// alu has the digit of operations that have the eight classical forms.
var alu = map[Op]byte{ADD: 0, OR: 1, ADC: 2, SBB: 3, AND: 4, SUB: 5, XOR: 6, CMP: 7}

// shifts has the digit of shifts and rotations.
var shifts = map[Op]byte{ROL: 0, ROR: 1, SHL: 4, SHR: 5, SAR: 7}

// unary has the digit of operations on one operand, of opcode F7.
var unary = map[Op]byte{NOT: 2, NEG: 3, MUL: 4, IMUL1: 5, DIV: 6, IDIV: 7}

// regRM has the operations that read their second operand, of two bytes with 0F.
var regRM = map[Op]struct {
	prefix, opcode byte
	width          uint16 // of the source, 0 for that of the instruction
}{
	MOVZXB: {0, 0xb6, 8}, MOVZXW: {0, 0xb7, 16}, MOVSXB: {0, 0xbe, 8}, MOVSXW: {0, 0xbf, 16},
	POPCNT: {0xf3, 0xb8, 0}, LZCNT: {0xf3, 0xbd, 0}, TZCNT: {0xf3, 0xbc, 0}, IMUL: {0, 0xaf, 0},
}

// simple has the operations without operands.
var simple = map[Op][]byte{
	CQO: {0x48, 0x99}, CDQ: {0x99}, RET: {0xc3}, MFENCE: {0x0f, 0xae, 0xf0}, PAUSE: {0xf3, 0x90}, UD2: {0x0f, 0x0b}, NOP: {0x90},
}

func (a *Assembler) general(in *Inst) error {
	x, y := &in.Args[0], &in.Args[1]
	for _, arg := range in.Args {
		if arg.Reg.IsVirtual() || arg.Index.IsVirtual() {
			return a.bad(in, "a register is not allocated")
		}
	}
	if digit, ok := alu[in.Op]; ok {
		return a.aluInst(in, digit)
	}
	if digit, ok := shifts[in.Op]; ok {
		if y.Kind == ImmArg {
			a.rm(in.Width, 0, 0xc1, digit, x, 1)
			a.put(byte(y.Imm))
		} else { // by cl
			a.rm(in.Width, 0, 0xd3, digit, x, 0)
		}
		return nil
	}
	if digit, ok := unary[in.Op]; ok {
		a.rm(in.Width, 0, 0xf7, digit, x, 0)
		return nil
	}
	if row, ok := regRM[in.Op]; ok {
		return a.regRM(in, row.prefix, row.opcode, row.width)
	}
	if code, ok := simple[in.Op]; ok {
		a.put(code...)
		return nil
	}
	return a.other(in)
}

func (a *Assembler) aluInst(in *Inst, digit byte) error {
	x, y := &in.Args[0], &in.Args[1]
	switch {
	case y.Kind == ImmArg && in.Width > 8 && y.Imm == int64(int8(y.Imm)):
		a.rm(in.Width, 0, 0x83, digit, x, 1)
		a.put(byte(y.Imm))
	case y.Kind == ImmArg:
		if !fits(y.Imm, in.Width) {
			return a.bad(in, "the immediate has more than 32 bits")
		}
		a.rm(in.Width, 0, 0x81, digit, x, immBytes(in.Width))
		a.imm(y.Imm, in.Width)
	case x.Kind == RegArg:
		a.rm(in.Width, 0, digit<<3|3, reg8(x), y, 0, x.Reg)
	case y.Kind == RegArg:
		a.rm(in.Width, 0, digit<<3|1, reg8(y), x, 0, y.Reg)
	default:
		return a.bad(in, "both operands are in memory")
	}
	return nil
}

func reg8(x *Arg) byte { return byte(number(x.Reg)) }

// fits reports whether v is an immediate of an instruction of that width.
func fits(v int64, width uint16) bool {
	return v == int64(int32(v)) || width == 32 && v == int64(uint32(v))
}

func immBytes(width uint16) int {
	switch width {
	case 8:
		return 1
	case 16:
		return 2
	}
	return 4
}

func (a *Assembler) imm(v int64, width uint16) {
	switch immBytes(width) {
	case 1:
		a.put(byte(v))
	case 2:
		a.buf = binary.LittleEndian.AppendUint16(a.buf, uint16(v))
	default:
		a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(v))
	}
}

// rm adds an instruction of one opcode byte, which is one less for 8 bits, with a
// register or digit and a register or memory operand. bytes are registers used with
// 8 bits: some need a prefix.
func (a *Assembler) rm(width uint16, prefix byte, opcode, reg byte, m *Arg, after int, bytes ...Reg) {
	a.prefixes(width, prefix, reg, m, bytes...)
	if width == 8 {
		opcode--
	}
	a.put(opcode)
	a.modrm(reg&7, m, 1, after)
}

// prefixes adds the operand size prefix, a mandatory prefix and REX.
func (a *Assembler) prefixes(width uint16, prefix, reg byte, m *Arg, bytes ...Reg) {
	if width == 16 {
		a.put(0x66)
	}
	if prefix != 0 {
		a.put(prefix)
	}
	rex := byte(0)
	if width == 64 {
		rex |= 0x48
	}
	if reg&8 != 0 {
		rex |= 0x44
	}
	if m.Kind == MemArg && m.Index != 0 && number(m.Index)&8 != 0 {
		rex |= 0x42
	}
	if (m.Kind == MemArg || m.Kind == RegArg) && m.Reg != 0 && number(m.Reg)&8 != 0 {
		rex |= 0x41
	}
	if width == 8 {
		if m.Kind == RegArg {
			bytes = append(bytes, m.Reg)
		}
		for _, r := range bytes {
			if n := number(r); n >= 4 && n < 8 {
				rex |= 0x40
			}
		}
	}
	if rex != 0 {
		a.put(rex)
	}
}

// regRM adds an instruction of opcode 0F xx whose first operand is a register.
func (a *Assembler) regRM(in *Inst, prefix, opcode byte, source uint16) error {
	x, y := &in.Args[0], &in.Args[1]
	if x.Kind != RegArg || y.Kind == ImmArg {
		return a.bad(in, "the operands have other kinds")
	}
	if z := &in.Args[2]; in.Op == IMUL && z.Kind == ImmArg {
		if z.Imm == int64(int8(z.Imm)) {
			a.rm(in.Width, 0, 0x6b, reg8(x), y, 1)
			a.put(byte(z.Imm))
			return nil
		}
		if !fits(z.Imm, in.Width) {
			return a.bad(in, "the immediate has more than 32 bits")
		}
		a.rm(in.Width, 0, 0x69, reg8(x), y, immBytes(in.Width))
		a.imm(z.Imm, in.Width)
		return nil
	}
	if y.Kind == RegArg && source == 8 {
		n := number(y.Reg)
		a.prefixes(in.Width, prefix, reg8(x), y)
		if n >= 4 && n < 8 && !(in.Width == 64 || number(x.Reg) >= 8) {
			a.put(0x40) // else the number means ah to bh
		}
	} else {
		a.prefixes(in.Width, prefix, reg8(x), y)
	}
	a.put(0x0f, opcode)
	a.modrm(reg8(x)&7, y, 1, 0)
	return nil
}

// other encodes what follows no pattern.
func (a *Assembler) other(in *Inst) error {
	x, y := &in.Args[0], &in.Args[1]
	switch in.Op {
	case MOV:
		return a.mov(in)
	case MOVSXD:
		a.rm(64, 0, 0x63, reg8(x), y, 0)
	case LEA:
		a.rm(64, 0, 0x8d, reg8(x), y, 0)
	case TEST:
		if y.Kind == ImmArg {
			a.rm(in.Width, 0, 0xf7, 0, x, immBytes(in.Width))
			a.imm(y.Imm, in.Width)
		} else {
			a.rm(in.Width, 0, 0x85, reg8(y), x, 0, y.Reg)
		}
	case INC, DEC:
		a.rm(in.Width, 0, 0xff, byte(in.Op-INC), x, 0)
	case XCHG:
		a.rm(in.Width, 0, 0x87, reg8(y), x, 0, y.Reg)
	case SETCC:
		a.prefixes(8, 0, 0, x)
		a.put(0x0f, 0x90|byte(in.Cond))
		a.modrm(0, x, 1, 0)
	case CMOVCC:
		a.prefixes(in.Width, 0, reg8(x), y)
		a.put(0x0f, 0x40|byte(in.Cond))
		a.modrm(reg8(x)&7, y, 1, 0)
	case BSWAP:
		a.prefixes(in.Width, 0, 0, x)
		a.put(0x0f, 0xc8|reg8(x)&7)
	case BT:
		a.prefixes(in.Width, 0, reg8(y), x)
		a.put(0x0f, 0xa3)
		a.modrm(reg8(y)&7, x, 1, 0)
	case LOCK_XADD, LOCK_CMPXCHG:
		a.put(0xf0)
		a.prefixes(in.Width, 0, reg8(y), x, y.Reg)
		op := byte(0xc1)
		if in.Op == LOCK_CMPXCHG {
			op = 0xb1
		}
		if in.Width == 8 {
			op--
		}
		a.put(0x0f, op)
		a.modrm(reg8(y)&7, x, 1, 0)
	case PUSH, POP:
		a.prefixes(32, 0, 0, x)
		a.put(map[Op]byte{PUSH: 0x50, POP: 0x58}[in.Op] | reg8(x)&7)
	case JMP, CALL, JCC:
		return a.jump(in)
	default:
		return a.bad(in, "it has no encoding")
	}
	return nil
}

func (a *Assembler) mov(in *Inst) error {
	x, y := &in.Args[0], &in.Args[1]
	switch {
	case y.Kind == ImmArg && x.Kind == RegArg && in.Width >= 32:
		switch v := y.Imm; {
		case v == int64(uint32(v)) || in.Width == 32:
			a.prefixes(32, 0, 0, x)
			a.put(0xb8 | reg8(x)&7)
			a.imm(v, 32)
		case v == int64(int32(v)):
			a.rm(64, 0, 0xc7, 0, x, 4)
			a.imm(v, 32)
		default:
			a.prefixes(64, 0, 0, x)
			a.put(0xb8 | reg8(x)&7)
			a.buf = binary.LittleEndian.AppendUint64(a.buf, uint64(v))
		}
	case y.Kind == ImmArg:
		if !fits(y.Imm, in.Width) {
			return a.bad(in, "the immediate has more than 32 bits")
		}
		a.rm(in.Width, 0, 0xc7, 0, x, immBytes(in.Width))
		a.imm(y.Imm, in.Width)
	case x.Kind == RegArg:
		a.rm(in.Width, 0, 0x8b, reg8(x), y, 0, x.Reg)
	default:
		a.rm(in.Width, 0, 0x89, reg8(y), x, 0, y.Reg)
	}
	return nil
}

func (a *Assembler) jump(in *Inst) error {
	x := &in.Args[0]
	if x.Kind != LabelArg {
		if in.Op == JCC {
			return a.bad(in, "a conditional jump has a label")
		}
		digit := byte(4)
		if in.Op == CALL {
			digit = 2
		}
		a.rm(32, 0, 0xff, digit, x, 0)
		return nil
	}
	if n := a.base + int(x.Imm); in.Op != CALL && n < len(a.blocks) && a.blocks[n] >= 0 {
		if d := a.blocks[n] - (len(a.buf) + 2); d >= -128 {
			op := byte(0xeb)
			if in.Op == JCC {
				op = 0x70 | byte(in.Cond)
			}
			a.put(op, byte(d))
			return nil
		}
	}
	switch in.Op {
	case JMP:
		a.put(0xe9)
	case CALL:
		a.put(0xe8)
	default:
		a.put(0x0f, 0x80|byte(in.Cond))
	}
	a.put(0, 0, 0, 0)
	a.fixes = append(a.fixes, fix{len(a.buf) - 4, len(a.buf), a.base + int(x.Imm), 0})
	return nil
}
