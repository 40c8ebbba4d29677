package asm

import (
	"strconv"
)

func (op Op) String() string {
	if op < numOps {
		return mnemonics[op]
	}
	return "op" + strconv.Itoa(int(op))
}

var gprNames = [4][16]string{
	{"al", "cl", "dl", "bl", "spl", "bpl", "sil", "dil", "r8b", "r9b", "r10b", "r11b", "r12b", "r13b", "r14b", "r15b"},
	{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8w", "r9w", "r10w", "r11w", "r12w", "r13w", "r14w", "r15w"},
	{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d"},
	{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"},
}

// Name returns the name of a register seen with a width in bits; of a virtual one %,
// a letter for its class (g, v, m) and its number.
func (r Reg) Name(width int) string { return string(r.appendName(nil, width)) }

func (r Reg) appendName(b []byte, width int) []byte {
	n := int64(r.Num())
	c := r.Class()
	switch {
	case c > Mask || c == NoClass:
		return append(b, '?')
	case r.IsVirtual():
		b = append(b, '%', "?gvm"[c])
	case c == Mask:
		b = append(b, 'k')
	case c == GPR:
		return append(b, gprName(n, width)...)
	case width == 512:
		b = append(b, "zmm"...)
	case width == 256:
		b = append(b, "ymm"...)
	default:
		b = append(b, "xmm"...)
	}
	return strconv.AppendInt(b, n, 10)
}

func gprName(n int64, width int) string {
	if n > 15 {
		return "?"
	}
	switch width {
	case 8:
		return gprNames[0][n]
	case 16:
		return gprNames[1][n]
	case 32:
		return gprNames[2][n]
	}
	return gprNames[3][n]
}

// String returns the instruction in Intel's syntax, as LLVM reads and prints it.
// Jumps name blocks as .N, and constants are pool+N.
func (in *Inst) String() string { return string(in.Append(nil)) }

// Append appends the text of the instruction, see [Inst.String].
func (in *Inst) Append(b []byte) []byte {
	f := in.shape()
	if in.Lock {
		b = append(b, "lock "...)
	}
	b, last := in.appendName(b)
	sep := byte(' ')
	for i := range in.Args {
		a := &in.Args[i]
		if a.Kind == NoArg || i == last {
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, ' ')
		p := param(0)
		if f != nil {
			p = f.args[i]
		}
		b = in.appendArg(b, f, p, a)
		if i == 0 {
			b = in.appendMask(b, sep)
		}
	}
	return b
}

func (in *Inst) appendMask(b []byte, sep byte) []byte {
	if in.Mask != 0 && (in.masked() || in.Zero) {
		b = append(b, sep, '{')
		b = in.Mask.appendName(b, 0)
		b = append(b, '}')
	}
	if in.Zero {
		b = append(b, sep)
		b = append(b, "{z}"...)
	}
	return b
}

// comparisons of floats by their number, as they are written in mnemonics.
var comparisons = [32]string{
	"eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord", "eq_uq", "nge", "ngt", "false", "neq_oq", "ge", "gt", "true",
	"eq_os", "lt_oq", "le_oq", "unord_s", "neq_us", "nlt_uq", "nle_uq", "ord_s", "eq_us", "nge_uq", "ngt_uq", "false_os", "neq_os", "ge_oq", "gt_oq", "true_us",
}

// appendName appends the mnemonic. Of comparisons it has the predicate, and the
// operand that says it, last, is not written.
func (in *Inst) appendName(b []byte) (_ []byte, last int) {
	name := in.Op.String()
	n := in.Args[3].Imm
	switch in.Op {
	case JCC, SETCC, CMOVCC:
		return append(append(b, name...), in.Cond.String()...), -1
	case VCMPPS, VCMPPD, VCMPPSK, VCMPPDK:
		if n >= 0 && n < 32 {
			b = append(append(b, "vcmp"...), comparisons[n]...)
			return append(b, name[4:]...), 3
		}
	case VPCMPD, VPCMPQ, VPCMPUD, VPCMPUQ:
		if n >= 0 && n < 7 && n != 3 {
			s := comparisons[n]
			if n == 6 && len(name) == len("vpcmpd") {
				s = "gt"
			}
			b = append(append(b, "vpcmp"...), s...)
			return append(b, name[5:]...), 3
		}
	}
	return append(b, name...), -1
}

func (in *Inst) appendArg(b []byte, f *form, p param, a *Arg) []byte {
	w := int(in.Width)
	switch a.Kind {
	case RegArg:
		n := w
		if p != 0 {
			n = p.regSize().bits(w)
		}
		return a.Reg.appendName(b, n)
	case ImmArg:
		v := a.Imm
		switch p & checks {
		case isByte:
			v = int64(uint8(v))
		case isInt8, isInt:
			v = signed(v, in.Width)
		case isTile:
			b = append(b, "tmm"...)
		}
		if c := p & checks; c == isBits || c == isInt && (w == 16 || w == 32) {
			v &= 1<<w - 1
		}
		return strconv.AppendInt(b, v, 10)
	case LabelArg:
		if p&places != inRM {
			return strconv.AppendInt(append(b, '.'), a.Imm, 10)
		}
	}
	bits := p.memSize().bits(w)
	n := 0
	if in.Bcast && f != nil && f.flags&(f4|f8) != 0 {
		n, bits = bits/(8*f.element()), 8*f.element()
	}
	if p != 0 {
		b = append(b, pointers[bits]...)
	}
	b = append(b, '[')
	b = a.appendAddress(b, p.regSize().bits(w))
	b = append(b, ']')
	if n > 0 {
		b = append(b, "{1to"...)
		b = strconv.AppendInt(b, int64(n), 10)
		b = append(b, '}')
	}
	return b
}

var pointers = map[int]string{8: "byte ptr ", 16: "word ptr ", 32: "dword ptr ", 64: "qword ptr ", 128: "xmmword ptr ", 256: "ymmword ptr ", 512: "zmmword ptr "}

// appendAddress appends what is between the brackets; a vector of indices has so
// many bits.
func (a *Arg) appendAddress(b []byte, indexBits int) []byte {
	switch a.Kind {
	case PoolArg:
		return strconv.AppendInt(append(b, "rip + pool+"...), a.Imm+int64(a.Disp), 10)
	case LabelArg:
		b = strconv.AppendInt(append(b, "rip + ."...), a.Imm, 10)
		return appendDisp(b, a.Disp)
	}
	if a.Reg == 0 && a.Index == 0 {
		return strconv.AppendInt(b, int64(a.Disp), 10)
	}
	if a.Reg != 0 {
		b = a.Reg.appendName(b, 64)
	}
	if a.Index != 0 {
		if a.Reg != 0 {
			b = append(b, " + "...)
		}
		if a.Scale > 1 {
			b = append(b, '0'+a.Scale, '*')
		}
		if a.Index.Class() == GPR {
			indexBits = 64
		}
		b = a.Index.appendName(b, indexBits)
	}
	return appendDisp(b, a.Disp)
}

func appendDisp(b []byte, d int32) []byte {
	switch {
	case d < 0:
		return strconv.AppendInt(append(b, " - "...), -int64(d), 10)
	case d > 0:
		return strconv.AppendInt(append(b, " + "...), int64(d), 10)
	}
	return b
}
