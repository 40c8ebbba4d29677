// Package kernels has the kernels of quantized tensors. Each takes the format as a type argument.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
