// Package conformance proves that a device gives a kernel its one meaning: the
// meaning of the same Go function run as plain Go.
//
// A backend's test imports it and calls
//
//	conformance.RunAll(t, device)
//
// Each case runs a kernel twice on the same inputs, by dsltest thread by thread
// as ordinary Go, and by jit on the device, and compares every byte of every
// slice. Inputs are drawn from a fixed seed and hold the values that break
// things: zeros of both signs, infinities, NaN, subnormals, the largest and
// smallest integers. Slices lie inside larger buffers whose edges are checked
// for stray writes. Sizes are 0, 1, odd, and larger than a grid.
package conformance
