// Package kernels has the kernels of the tensor operations, a family for each class:
// what an operation computes with one element or a few is a function that the kernel
// is compiled with, and where the elements are is a [Walk].
//
//	jit.Of(kernels.Unary[float32, float32]).Launch(s, grid, out, in, walk, kernels.Sqr[float32])
//
// T is the type of elements in memory, C the type that is computed in: float32 for the
// floating-point types of fewer bits, which are storage, and T itself for others.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
