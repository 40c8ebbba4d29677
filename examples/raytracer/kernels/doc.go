// Package kernels holds the kernel of the raytracer example, Render, and the scene: a table of
// spheres over a floor, which is part of the compiled kernel.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the compiler reads the kernels from the binary
