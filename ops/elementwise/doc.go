// Package elementwise has the operations that compute every element of their result from the
// elements of their operands at the same index: the table of unary, binary, comparing and scaled
// operations, functions of a program over several operands, copies, casts, fills and transposed
// copies.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package elementwise
