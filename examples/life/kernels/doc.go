// Package kernels holds the kernels of the life example:
//
//	Step   computes a generation of the world
//	Paint  draws a part of it
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the compiler reads the kernels from the binary
