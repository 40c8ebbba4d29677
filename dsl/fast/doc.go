// Package fast has the approximate forms of math functions: what the hardware
// computes in an instruction or two, where package dsl's own functions take
// twenty to a hundred and are right to the last place.
//
// A kernel names them one by one, so that precision is given up where its author
// says so and nowhere else:
//
//	p := fast.Exp(x[i] - top)
//	sum += p
//
// They take float32 only; there is no hardware for float64. Their results differ
// between targets, each within the error that the function's documentation
// states. NaN, infinities and signed zeros are treated as package math treats
// them, and subnormal numbers are kept, except where the documentation says
// otherwise. As plain Go, and in the interpreter, the nine functions that are
// instructions return the exact result rounded.
//
// The errors are those of NVIDIA's PTX ISA. An ulp is a unit in the last place of
// the exact result.
//
// To let products and sums of a whole kernel be contracted into fused ones, see
// the mark //kiln:fastmath in package dsl.
package fast
