// Package unroll takes comments //kiln:unroll through go/ssa.
//
// The comment above a for statement becomes a call at the beginning of its body, of a function
// literal that does nothing: so it comes to the lowering in whatever instance of the function it
// is, and says which loop it is of. No literal of a program looks like it, since its func and its
// brace have one position, that of the comment. It has as many empty statements as the unroll
// factor says, none for full unrolling.
package unroll
