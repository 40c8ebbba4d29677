// Package constval has the values of a kernel's compile-time parameters, in one compilation: those
// that the request gives, those of a comment //kiln:const, or some that kernels are checked with.
package constval
