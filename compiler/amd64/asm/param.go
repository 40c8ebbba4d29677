package asm

// param is an operand of a form, in bit fields:
//
//	0-6    the kinds of operand that it takes
//	8-9    its [Role]
//	10-12  where it goes in the code
//	13-16  how wide a register is, a size
//	17-20  how wide memory is, a size
//	21-24  what else must hold, and how an immediate is written: a check
type param uint32

// The kinds of operand.
const (
	gpr param = 1 << iota
	vec
	mask
	mem  // memory, or a constant of the pool
	vmem // memory with a vector as its index
	imm
	label

	anyKind = 1<<7 - 1
)

// The roles.
const (
	read   = param(Read) << 8
	write  = param(Write) << 8
	update = param(ReadWrite) << 8
)

// The encodings of an operand.
const (
	inReg    param = (iota + 1) << 10 // ModRM.reg
	inRM                              // ModRM.rm
	inV                               // VEX.vvvv
	inOpcode                          // the low bits of the opcode
	inImm                             // behind the rest
	inIs4                             // upper bits of an immediate
	implied                           // nowhere

	places = 7 << 10
)

// size is how wide an operand is, in parts of the instruction's width or in bits.
type size uint8

const (
	szAll size = iota
	szHalf
	szQuarter
	szEighth
	sz8
	sz16
	sz32
	sz64
	sz128
	sz256
	szNone
)

// bits returns a size in bits, of an instruction of some width.
func (s size) bits(width int) int {
	switch s {
	case szAll, szHalf, szQuarter, szEighth:
		return width >> s
	case szNone:
		return 0
	}
	return 8 << (s - sz8)
}

const (
	regShift   = 13
	memShift   = 17
	checkShift = 21

	half, quarter, eighth = param(szHalf)<<regShift | param(szHalf)<<memShift, param(szQuarter)<<regShift | param(szQuarter)<<memShift, param(szEighth)<<regShift | param(szEighth)<<memShift

	reg8, reg32, reg64, reg128 = param(sz8) << regShift, param(sz32) << regShift, param(sz64) << regShift, param(sz128) << regShift

	mem8, mem16, mem32, mem64       = param(sz8) << memShift, param(sz16) << memShift, param(sz32) << memShift, param(sz64) << memShift
	mem128, mem256, memNone   param = param(sz128) << memShift, param(sz256) << memShift, param(szNone) << memShift
)

// The checks.
const (
	isAcc     param = (iota + 1) << checkShift // register 0
	isNotAcc                                   // another register
	isCL                                       // cl
	isByte                                     // a byte, signed or not
	isInt8                                     // a byte that is extended by its sign
	isInt32                                    // the same of 4 bytes
	isUint32                                   // 4 bytes that are extended by zeros
	isInt                                      // as wide as the instruction, 4 bytes at most
	isBits                                     // the same, written without a sign
	isInt64                                    // 8 bytes
	isOne                                      // 1, not written
	isEqual                                    // comparison 0, not written
	isGreater                                  // comparison 6, not written
	isTile                                     // the number of a tile register

	checks = 15 << checkShift
)

func (p param) role() Role    { return Role(p >> 8 & 3) }
func (p param) regSize() size { return size(p >> regShift & 15) }
func (p param) memSize() size { return size(p >> memShift & 15) }

// Vector operands: d is written, x read and written, s read in ModRM.reg or vvvv, rm
// read in ModRM.rm, wm written there. V is a vector of the full width, H, Q and E a
// half, a quarter and an eighth of it, X one of 128 bits.
const (
	dV   = vec | write | inReg
	xV   = vec | update | inReg
	sR   = vec | read | inReg
	sV   = vec | read | inV
	dVV  = vec | write | inV
	xVV  = vec | update | inV
	rV   = vec | read | inRM
	rmV  = vec | mem | read | inRM
	mV   = mem | read | inRM
	wmV  = vec | mem | write | inRM
	wMem = mem | write | inRM

	dH  = vec | write | inReg | half
	xH  = vec | update | inReg | half
	sH  = vec | read | inReg | half
	xVH = vec | update | inV | half
	rmH = vec | mem | read | inRM | half
	wmH = vec | mem | write | inRM | half
	rmQ = vec | mem | read | inRM | quarter
	wmQ = vec | mem | write | inRM | quarter
	rmE = vec | mem | read | inRM | eighth
	wmE = vec | mem | write | inRM | eighth

	dX  = vec | write | inReg | reg128
	xX  = vec | update | inReg | reg128
	sRX = vec | read | inReg | reg128
	sX  = vec | read | inV | reg128
	rX  = vec | read | inRM | reg128
	rmX = vec | mem | read | inRM | reg128 | mem128
	wX  = vec | write | inRM | reg128
	wmX = vec | mem | write | inRM | reg128 | mem128

	rmX8  = vec | mem | read | inRM | reg128 | mem8
	rmX16 = vec | mem | read | inRM | reg128 | mem16
	rmX32 = vec | mem | read | inRM | reg128 | mem32
	rmX64 = vec | mem | read | inRM | reg128 | mem64
	wmX64 = vec | mem | write | inRM | reg128 | mem64

	is4 = vec | read | inIs4
)

// Memory with vectors of indices: of the full width, of half of it, and of the full
// width with data of half of it.
const (
	vm   = vmem | read | inRM
	vmH  = vmem | read | inRM | param(szHalf)<<regShift
	vmN  = vmem | read | inRM | param(szHalf)<<memShift
	wvm  = vmem | write | inRM
	wvmH = vmem | write | inRM | param(szHalf)<<regShift
	wvmN = vmem | write | inRM | param(szHalf)<<memShift
)

// Memory of a width of its own.
const (
	m8      = mem | read | inRM | mem8
	m32     = mem | read | inRM | mem32
	m64     = mem | read | inRM | mem64
	m128    = mem | read | inRM | mem128
	m256    = mem | read | inRM | mem256
	wMem8   = mem | write | inRM | mem8
	wMem16  = mem | write | inRM | mem16
	wMem32  = mem | write | inRM | mem32
	wMem64  = mem | write | inRM | mem64
	wm64    = wMem64
	addr    = mem | label | read | inRM | memNone // LEA reads nothing there
	mG      = mem | read | inRM
	wMemG   = wMem
	xMemG   = mem | update | inRM
	rG32m8  = gpr | mem | read | inRM | reg32 | mem8
	rG32m16 = gpr | mem | read | inRM | reg32 | mem16
	wG32m8  = gpr | mem | write | inRM | reg32 | mem8
)

// General registers: G is one of the instruction's width, Op one in the opcode.
const (
	dG    = gpr | write | inReg
	xG    = gpr | update | inReg
	sG    = gpr | read | inReg
	dG32  = gpr | write | inReg | reg32
	dG64  = gpr | write | inReg | reg64
	dVG   = gpr | write | inV
	sVG   = gpr | read | inV
	rmG   = gpr | mem | read | inRM
	wmG   = gpr | mem | write | inRM
	xmG   = gpr | mem | update | inRM
	rG32  = gpr | read | inRM | reg32
	rG64  = gpr | read | inRM | reg64
	wG64  = gpr | write | inRM | reg64
	rmG8  = gpr | mem | read | inRM | reg8 | mem8
	rmG16 = gpr | mem | read | inRM | param(sz16)<<regShift | mem16
	rmG32 = gpr | mem | read | inRM | reg32 | mem32
	rmG64 = gpr | mem | read | inRM | reg64 | mem64
	wmG32 = gpr | mem | write | inRM | reg32 | mem32
	wmG64 = gpr | mem | write | inRM | reg64 | mem64
	xm8   = gpr | mem | update | inRM | reg8 | mem8

	dOpG    = gpr | write | inOpcode
	xOpG    = gpr | update | inOpcode
	dOp32   = gpr | write | inOpcode | reg32
	dOp64   = gpr | write | inOpcode | reg64
	sOp64   = gpr | read | inOpcode | reg64
	acc     = gpr | read | implied | isAcc
	xAcc    = gpr | update | implied | isAcc
	xNotAcc = gpr | update | inOpcode | isNotAcc
	cl      = gpr | read | implied | reg8 | isCL
)

// Masks.
const (
	dK    = mask | write | inReg
	sK    = mask | read | inReg
	sVK   = mask | read | inV
	rK    = mask | read | inRM
	rmK8  = mask | mem | read | inRM | mem8
	rmK16 = mask | mem | read | inRM | mem16
	rmK32 = mask | mem | read | inRM | mem32
	rmK64 = mask | mem | read | inRM | mem64
)

// Immediates and labels.
const (
	i8   = imm | read | inImm | isByte
	i8s  = imm | read | inImm | isInt8
	i32s = imm | read | inImm | isInt32
	u32  = imm | read | inImm | isUint32
	iW   = imm | read | inImm | isInt
	uW   = imm | read | inImm | isBits
	i64  = imm | read | inImm | isInt64
	is1  = imm | read | implied | isOne
	isEQ = imm | read | implied | isEqual
	isGT = imm | read | implied | isGreater
)

// Tile registers, which code names by their numbers: none is allocated.
const (
	dT  = imm | read | inReg | isTile
	aT  = imm | read | inRM | isTile
	bT  = imm | read | inV | isTile
	mT  = mem | read | inRM | memNone
	wmT = mem | write | inRM | memNone
)

// toLabel is the target of a jump, which the assembler writes.
const toLabel = label | read | implied
