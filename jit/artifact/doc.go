// Package artifact says under which keys compiled kernels are kept, and as what entries:
// what package jit, which finds them, and package prebuild, which makes them ahead, have
// to agree on.
//
//	source   source text, kernel, types, compile-time values and functions, compiler → hash of the IR, positions
//	artifact hash of the IR, target, options          → PTX, or IR for the CPU
//	machine  artifact, device architecture, driver    → cubin
//
// A key depends on nothing else, on no path, no time, and on no build of the program.
package artifact
