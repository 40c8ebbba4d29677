// Package kernels holds the kernels that the benchmarks measure. They are
// written for speed within the language: what they do by hand is said beside
// each.
//
//	k := jit.Of(kernels.Saxpy)
//	err := k.Launch(stream, runtime.Blocks(8*units, 256), y, x, float32(2))
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:generate go tool kiln gen

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
