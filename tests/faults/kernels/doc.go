// Package kernels holds the kernels of package faults: one that fails at an index out of range,
// and one that works on what that has computed.
//
//	jit.Of(kernels.Pick).Launch(stream, runtime.Cover(out.Len(), 64), out, x, ids)
package kernels
