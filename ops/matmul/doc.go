// Package matmul has the products of matrices: tiled in shared memory, packed for the vector
// registers of a CPU, and for few rows or columns. Package conv makes convolutions products of this
// package.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package matmul
