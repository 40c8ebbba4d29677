// Package lib has functions for kernels, and no kernel.
package lib

import (
	"embed"

	"github.com/gokiln/kiln/compiler/analyzer/testdata/deep"
	"github.com/gokiln/kiln/dsl"
)

//go:embed "lib.go"
var source embed.FS

var _ = dsl.Source(source)

// Quarter returns x/4.
func Quarter(x float32) float32 { return deep.Half(deep.Half(x)) }

// Wrong is no kernel code.
func Wrong(x float32) float32 { return deep.Wrong(x) }
