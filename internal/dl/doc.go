// Package dl opens shared libraries while the program runs and calls their C
// functions without cgo. It is the only package of the module that imports
// purego; everything above it sees numbers.
//
// The model:
//
//   - [Open] tries names in order and joins every failure into one error, so a
//     missing driver can be explained by what was looked for.
//   - [Lib.Sym] finds the address of a function.
//   - [Call] calls it with machine words. The caller owns the slice of
//     arguments, so a call allocates nothing. Integers and pointers only:
//     a C function with float parameters cannot be called through it.
//   - Pointers handed to C must point at memory that does not move and stays
//     reachable until the call returns: a heap object that the caller keeps
//     alive, never a variable that may live on a goroutine's stack.
//
// Built with the tag kiln_nogpu, or for a system without a dynamic loader,
// the package is a stub: [Open] returns [ErrNoDL], purego is not linked, and
// the binary stays static.
//
//	lib, err := dl.Open("libm.so.6", "libm.so")
//	abs, err := lib.Sym("labs")
//	r := dl.Call(abs, []uintptr{42})
package dl
