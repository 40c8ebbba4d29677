// Package reduce makes kernels smaller that machine code of the CPU and the interpreter
// disagree on.
//
// A kernel is Go source; nothing is built, so a trial takes milliseconds: the front end
// compiles the source, and both engines run it with the same warps on the same inputs.
// [Kernel] tries, over and over, to drop statements, to put bodies in place of what
// contains them, and operands in place of expressions, and keeps what still differs.
//
//	text, err := reduce.Kernel(gen.New(seed), "avx2")
package reduce
