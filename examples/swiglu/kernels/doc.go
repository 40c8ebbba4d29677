// Package kernels holds the kernel of the swiglu example. It is ordinary Go
// that embeds its own text: what the compiler translates is what is built.
//
//	k := jit.Of(kernels.SwiGLU[float32])
//	err := k.Launch(stream, runtime.Cover(n, 256), out, gate, up)
package kernels
