// Package scatter has the operations that write by indices: scatter, index_add, index_put. Indices
// that occur several times are sorted where the order of additions is to be fixed.
//
// See package [github.com/gokiln/kiln/ops] for operands and launches.
package scatter
