package regalloc

import "github.com/gokiln/kiln/compiler/amd64/asm"

// Func is code before and after register allocation.
type Func struct {
	Blocks []*Block // in the order of the code; Blocks[0] is the entry
	Virt   [4]int   // by class: how many virtual registers there are
	// Remat has the instruction that makes a virtual register again from what is
	// always at hand (an argument of the kernel, a constant), so that it need not be
	// kept in the frame. Its Args[0] is the register.
	Remat map[asm.Reg]asm.Inst
}

// Block is a basic block. Control that reaches its end goes on with the next
// block, unless the last instruction is JMP or RET. Conditional jumps may stand
// anywhere in it: each also ends nothing, it only adds a successor.
type Block struct {
	Insts []asm.Inst
	Depth int // loops around it, for the cost of a spill
}

// New returns a new virtual register.
func (f *Func) New(c asm.Class) asm.Reg {
	f.Virt[c]++
	return asm.Virtual(c, f.Virt[c]-1)
}
