package asm

// form is a row of the table: an encoding of an operation. Rows of an operation are
// next to each other, and the first that takes the operands is used: of several
// that would do the shortest comes first.
type form struct {
	op    Op
	enc   encoding
	opmap uint8
	pp    uint8
	code  uint8 // opcode, the last byte
	ext   extension
	w     wRule
	sizes widths
	flags flags
	args  [4]param
}

type args = [4]param

// encoding is the kinds of prefix that a form has.
type encoding uint8

const (
	legacy encoding = iota
	locked          // legacy, with LOCK in front
	vex
	evex
	both
)

// Maps of opcodes: the bytes before the opcode.
const (
	m00 uint8 = iota
	m0F
	m0F38
	m0F3A
)

// Mandatory prefixes.
const (
	np uint8 = iota
	p66
	pF3
	pF2
)

// extension is what is in ModRM.reg: a register, as the manual's "/r", or a digit
// that goes on with the opcode.
type extension uint8

const (
	slashR extension = iota
	slash0
	slash1
	slash2
	slash3
	slash4
	slash5
	slash6
	slash7
)

// wRule says what the bit W of a prefix is.
type wRule uint8

const (
	w0  wRule = iota
	w1        // 1
	w01       // 1 of EVEX, ignored by VEX
	wG        // 1 if the width is 64; a width of 16 has a prefix of its own
)

// widths is a set of widths that an instruction of a form may have.
type widths uint16

const (
	b8 widths = 1 << iota
	b16
	b32
	b64
	v128
	v256
	v512
	anyWidth // the width does not matter
	l1       // the bit L of the prefix is set, whatever the width is

	vl = v128 | v256 | v512
)

// flags say more about a form.
type flags uint16

const (
	f4         flags = 1 << iota // elements of 4 bytes can be broadcast
	f8                           // the same of 8
	e4                           // a displacement of 8 bits counts in 4 bytes, else in the width of memory
	e8                           // the same of 8
	nomask                       // EVEX without a write mask
	gather                       // needs a write mask, and clears it
	reversible                   // the next row is the other direction, and can be shorter
	commutes                     // the sources can be exchanged bit for bit
	sibmem                       // memory is a base and an index, which is the distance of rows
	distinct                     // the tile registers must be different ones

	t0 flags = 0
)

// hasMemoryOnly reports whether an operand must be memory.
func (f *form) hasMemoryOnly() bool {
	for _, p := range f.args {
		if k := p & anyKind; k != 0 && k&^(mem|vmem|label) == 0 && p != toLabel {
			return true
		}
	}
	return false
}

// widthBit returns the set of one width.
func widthBit(w uint16) widths {
	switch w {
	case 8:
		return b8
	case 16:
		return b16
	case 32:
		return b32
	case 64:
		return b64
	case 128:
		return v128
	case 256:
		return v256
	case 512:
		return v512
	}
	return 0
}

// kinds returns the kinds of the operands.
func (in *Inst) kinds() (k [4]param) {
	for i := range in.Args {
		a := &in.Args[i]
		switch a.Kind {
		case RegArg:
			k[i] = [...]param{0x8000, gpr, vec, mask}[a.Reg.Class()&3]
		case MemArg:
			k[i] = mem
			if a.Index.Class() == Vec {
				k[i] = vmem
			}
		case PoolArg:
			k[i] = mem
		case ImmArg:
			k[i] = imm
		case LabelArg:
			k[i] = label
		}
	}
	return k
}

// takes reports whether the operands are of the kinds that the form has, and
// immediates of the values.
func (f *form) takes(in *Inst, k *[4]param) bool {
	for i, p := range f.args {
		if p&k[i] == 0 && (p != 0 || k[i] != 0) {
			return false
		}
		if p&checks != 0 && k[i]&(gpr|imm) != 0 && !p.holds(&in.Args[i], in.Width) {
			return false
		}
	}
	return true
}

// holds reports whether an operand passes the check of a parameter.
func (p param) holds(a *Arg, width uint16) bool {
	v := a.Imm
	switch p & checks {
	case isAcc:
		return a.Reg == RAX
	case isNotAcc:
		return a.Reg != RAX
	case isCL:
		return a.Reg == RCX
	case isByte:
		return v >= -1<<7 && v < 1<<8
	case isInt8:
		v = signed(v, width)
		return v == int64(int8(v))
	case isInt32:
		return v == int64(int32(v))
	case isUint32:
		return v == int64(uint32(v))
	case isInt, isBits:
		v = signed(v, width)
		return v == int64(int32(v)) && (width >= 32 || v>>(width-1) == v>>63)
	case isOne:
		return v == 1
	case isEqual:
		return v == 0
	case isGreater:
		return v == 6
	case isTile:
		return v >= 0 && v < 8
	}
	return true
}

// signed returns an immediate of a width as a signed number, if it was given as an
// unsigned one.
func signed(v int64, width uint16) int64 {
	if width < 64 && width >= 8 && v > 0 && v>>width == 0 {
		s := 64 - width
		return v << s >> s
	}
	return v
}

// fitsWidth reports whether the form has the width of the instruction.
func (f *form) fitsWidth(width uint16) bool {
	return f.sizes&anyWidth != 0 || f.sizes&widthBit(width) != 0
}

// element is how many bytes an element has that can be broadcast.
func (f *form) element() int {
	if f.flags&f8 != 0 {
		return 8
	}
	return 4
}
