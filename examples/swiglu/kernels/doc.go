// Package kernels holds the kernel of the swiglu example. It is ordinary Go
// that embeds its own text: what the compiler translates is what is built.
//
//	err := kernels.LaunchSwiGLU(stream, runtime.Cover(n, 256), out, gate, up)
//
// The launchers in zz_kernels.go are written by kiln gen.
package kernels

//go:generate go tool kiln gen
