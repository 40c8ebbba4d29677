// Package llvm turns the IR of a kernel into LLVM IR, for AMD GPUs (amdgcn) and
// for NVIDIA's (nvptx64), and with a stock LLVM into what their drivers load.
//
// It is the second emitter for both: the AMD code object that it leads to is made on
// any machine, without ROCm, and the PTX that LLVM makes checks our own. [Emit]
// only selects instructions and leaves the rest to LLVM:
//
//   - The module is one of github.com/llir/llvm, and so are its functions, blocks,
//     instructions, constants, attributes and metadata. types.go has what the
//     library lacks: pointers without the type of what they point to, and comments.
//   - What an operation becomes is a row of one table (rows.go and the files
//     beside it), with a function that appends instructions (build.go). A row
//     applies to kinds of type and to some of the instruction sets that this
//     package calls dialects (dialect.go).
//   - Every value is an LLVM value: bool an i1, integers of their width, halves
//     an i16 pattern, pointers opaque and of the dialect's address space. Values
//     have numbers, parameters the names of Go.
//   - Block parameters are phis; constants are written where they are used.
//   - A parameter of the kernel is a parameter of the function, with padding
//     between where the argument block has some, so that the block is the same
//     as everywhere.
//
// LLVM's instructions have undefined results where the IR has defined ones: too
// large a count of a shift, division by zero, conversion out of range. Every row
// avoids them, so that no value is ever poison; the tests run the rows on the CPU,
// optimised, against [ir.Eval].
//
//	t, err := target.Parse("llvm:gfx942")
//	text, err := llvm.Emit(m, t)              // m after the passes
//	tools, err := llvm.FindTools(t)           // llc and ld.lld
//	object, err := tools.Build(ctx, text, t)  // .hsaco, for nvptx64 PTX
//
// The text suits LLVM 18 and later and needs no device library. A program that imports
// this package has the targets llvm:<arch> in package compiler, too; others are built
// without it.
package llvm
