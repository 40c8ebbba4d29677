// Package plain has the algorithms of some kernels of bench/cpu/kernels as a Go programmer writes
// them for one thread: what the kernels have to beat on the processors of a CPU.
//
// Results are those of the kernels, to the last bit: sums and products are rounded in the same
// order, of pieces of text that are as long the nearest is found, and components are numbered by
// their first pixel. Functions write their results into slices that the caller has made, and
// allocate nothing.
//
//	plain.Scan(out, x) // as kernels.LookBack
package plain
