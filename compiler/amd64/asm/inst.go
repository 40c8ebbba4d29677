package asm

// Reg is a machine register or, before registers are allocated, a virtual one.
// The zero Reg is none.
type Reg uint32

// Class is a kind of register.
type Class uint8

// The register classes.
const (
	NoClass Class = iota
	GPR           // general purpose, 64 bits
	Vec           // vector, as wide as the instruction says
	Mask          // AVX-512 mask
)

const (
	classShift   = 28
	firstVirtual = 32
)

// Phys returns the machine register n of a class: 0 is rax, xmm0, k0.
func Phys(c Class, n int) Reg { return Reg(c)<<classShift | Reg(n) }

// Virtual returns the virtual register n of a class.
func Virtual(c Class, n int) Reg { return Reg(c)<<classShift | Reg(n+firstVirtual) }

// Class returns the class of r.
func (r Reg) Class() Class { return Class(r >> classShift) }

// IsVirtual reports whether r is yet to be allocated.
func (r Reg) IsVirtual() bool { return r&(1<<classShift-1) >= firstVirtual }

// Num returns the number of r in its class: of a machine register its encoding,
// of a virtual one the number that [Virtual] got.
func (r Reg) Num() int {
	n := int(r & (1<<classShift - 1))
	if n >= firstVirtual {
		n -= firstVirtual
	}
	return n
}

// The general registers, by the names of their 64-bit forms.
var (
	RAX, RCX, RDX, RBX = Phys(GPR, 0), Phys(GPR, 1), Phys(GPR, 2), Phys(GPR, 3)
	RSP, RBP, RSI, RDI = Phys(GPR, 4), Phys(GPR, 5), Phys(GPR, 6), Phys(GPR, 7)
	R8, R9, R10, R11   = Phys(GPR, 8), Phys(GPR, 9), Phys(GPR, 10), Phys(GPR, 11)
	R12, R13, R14, R15 = Phys(GPR, 12), Phys(GPR, 13), Phys(GPR, 14), Phys(GPR, 15)
)

// ArgKind is the kind of an operand.
type ArgKind uint8

// The kinds of operand.
const (
	NoArg    ArgKind = iota
	RegArg           // Reg
	MemArg           // [Reg + Index*Scale + Disp]; Reg or Index may be none
	PoolArg          // constant at offset Imm + Disp of the constant pool, addressed relative to rip
	ImmArg           // Imm
	LabelArg         // start of block Imm
)

// Arg is an operand of an instruction.
type Arg struct {
	Kind  ArgKind
	Scale uint8 // 1, 2, 4 or 8
	Reg   Reg   // register, or base of a memory operand
	Index Reg   // general register, or vector of gathers and scatters
	Disp  int32
	Imm   int64
}

// Inst is one instruction. The role of each operand (read, written or both) is
// in the table of operations, see [Op.Role]. With a Mask and without Zero, the
// destination of a vector instruction is read too.
type Inst struct {
	Op    Op
	Width uint16 // operand size in bits: 8 to 64 of general instructions, 128, 256 or 512 of vector ones; of mask ones the mask's
	Cond  Cond   // of JCC, SETCC and CMOVCC
	Mask  Reg    // write mask (AVX-512); none writes all lanes
	Zero  bool   // lanes that are masked off become zero, not kept
	Bcast bool   // the memory operand is one element, given to all lanes (AVX-512)
	Lock  bool   // the operation on memory is atomic
	Args  [4]Arg
	Pos   int32 // position in the source for listings, index of ir.Module.Pos
}

// R is a register operand.
func R(r Reg) Arg { return Arg{Kind: RegArg, Reg: r} }

// I is an immediate operand.
func I(v int64) Arg { return Arg{Kind: ImmArg, Imm: v} }

// L is a jump target: the start of a block.
func L(block int) Arg { return Arg{Kind: LabelArg, Imm: int64(block)} }

// M is the memory at base + disp.
func M(base Reg, disp int32) Arg { return Arg{Kind: MemArg, Reg: base, Disp: disp, Scale: 1} }

// MX is the memory at base + index*scale + disp.
func MX(base, index Reg, scale uint8, disp int32) Arg {
	return Arg{Kind: MemArg, Reg: base, Index: index, Scale: scale, Disp: disp}
}

// Pool is the constant at an offset of the constant pool.
func Pool(offset int64) Arg { return Arg{Kind: PoolArg, Imm: offset} }

// Role says what an instruction does with an operand.
type Role uint8

// The roles.
const (
	Read      Role = 1
	Write     Role = 2
	ReadWrite      = Read | Write
)
