// Package onhost runs code for GPUs on the machine's own processor, on its way through
// LLVM: a stock clang optimises the LLVM IR that package compiler/llvm writes with
// Options.Host and makes a library of it, with src/gpu.c in place of what GPUs have and
// other processors have not. What LLVM leaves undefined for some operands shows in the
// results, because its optimiser makes use of it.
//
// The model:
//
//   - [Build] takes the text of one kernel or, after llvm.Join, of many.
//   - A block runs on one thread of the machine. Its threads are contexts of their own
//     where they wait for each other, else they run one after another.
//   - Instructions of AMD are functions amd.*, those of NVIDIA nv.*, and so are the
//     few that stand in the text as asm.
//
// Example:
//
//	text, err := llvm.Options{Host: true}.Emit(m, t)
//	lib, err := onhost.Build(dir, text, t.WarpSize)
//	err = lib.Run("scale", grid, block, args, true)
package onhost
