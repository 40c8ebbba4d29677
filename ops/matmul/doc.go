// Package matmul has the products of matrices: by matrix instructions where the device has them for
// the type, tiled in shared memory, packed for the vector registers of a CPU, and for few rows or
// columns. Package conv makes convolutions products of this package.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package matmul
