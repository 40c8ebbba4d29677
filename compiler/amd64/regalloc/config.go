package regalloc

import (
	"errors"

	"github.com/gokiln/kiln/compiler/amd64/asm"
)

// Config says which registers there are and how values are kept in the frame.
type Config struct {
	// Regs has by class the registers to allocate, the preferred ones first.
	Regs [4][]asm.Reg
	// Base is the register that points to the frame. It is aligned to VecBytes.
	Base asm.Reg
	// Offset is the first byte of the frame, counted from Base, that is free for
	// values.
	Offset int
	// VecBytes is the size of a vector register.
	VecBytes int
}

// V4 is the configuration for x86-64-v4 (AVX-512) with values from offset on in
// the frame.
func V4(offset int) Config {
	return Config{Regs: regsV4, Base: asm.R14, Offset: offset, VecBytes: 64}
}

// V3 is the configuration for x86-64-v3 (AVX2) with values from offset on in the
// frame. It has no mask registers.
func V3(offset int) Config {
	return Config{Regs: regsV3, Base: asm.R14, Offset: offset, VecBytes: 32}
}

var (
	regsV3 = [4][]asm.Reg{asm.GPR: generalRegs(), asm.Vec: numbered(asm.Vec, 0, 16)}
	regsV4 = [4][]asm.Reg{asm.GPR: generalRegs(), asm.Vec: numbered(asm.Vec, 0, 32), asm.Mask: numbered(asm.Mask, 1, 8)}
)

// generalRegs are the general registers to allocate; those that need no prefix
// come first.
func generalRegs() []asm.Reg {
	return []asm.Reg{asm.RBX, asm.RSI, asm.RDI, asm.RBP, asm.R8, asm.R9, asm.R10, asm.R11, asm.R12, asm.R13}
}

func numbered(c asm.Class, from, to int) []asm.Reg {
	var regs []asm.Reg
	for n := from; n < to; n++ {
		regs = append(regs, asm.Phys(c, n))
	}
	return regs
}

// Result says what an allocation came to.
type Result struct {
	FrameSize int // bytes of the frame that are used, Offset included
	Stats     Stats
}

// Stats counts what the allocation put in and took out.
type Stats struct {
	Spills  int     // stores to the frame
	Reloads int     // loads from the frame
	Folded  int     // operands read from the frame by the instruction itself
	Remats  int     // values made again instead of loaded
	Moves   int     // moves between registers that were put in
	Copies  int     // COPYs that were deleted
	Kept    int     // COPYs that became moves
	Cost    float64 // of all stores, loads and moves put in: the sum of how often they run
}

// Failures of an allocation. Each is a mistake in the code that was given.
var (
	// ErrUndefined is the error of code that reads a register that was not written.
	ErrUndefined = errors.New("register is read before it is written")
	// ErrShape is the error of code whose control flow is malformed.
	ErrShape = errors.New("malformed code")
	// ErrPressure is the error of an instruction with more operands than registers.
	ErrPressure = errors.New("instruction needs more registers than there are")
)
