// Package kernels holds the kernels with which the compiler is measured against
// nvcc. Each has a twin of the same algorithm, launch and argument block in
// bench/compiler/cuda; what a twin could not say in the same way is said beside
// it.
//
//	k := jit.Of(kernels.Saxpy)
//	err := k.Launch(stream, runtime.Blocks(8*units, 256), y, x, float32(2))
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
