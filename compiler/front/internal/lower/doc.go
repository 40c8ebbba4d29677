// Package lower turns kernels from the form of go/ssa into IR.
//
// It is given a [Kernel]: a function, the code that it reaches, and what the request and its marks
// say. Structs, slices, small arrays and several results become scalars; functions are specialised
// for the memory their pointers point to and the function literals they are given.
//
//   - lower.go, function.go: the module, each function in it, its blocks
//   - state.go, value.go, emit.go: what is known of each, the form that a Go value has in IR, and
//     how instructions are appended
//   - instr.go, operand.go: each instruction, and its operands
//   - pointers.go, memory.go, merge.go, loopvar.go: variables, and what pointers point to
//   - params.go, funcs.go, tables.go: what a kernel gets from outside
//   - call.go, callee.go, intrinsics.go: calls; each function that is an operation has a row.
//     matrix.go, mbarrier.go, atomic.go, bits.go and copies.go are the operations of some rows
//   - condpos.go, contract.go, unroll.go: what the text says and go/ssa does not
//
// Mistakes go to the kernel's [report.Sink]; the module of a kernel with mistakes is of no use.
package lower
