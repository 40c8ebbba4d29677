// Package kernels has the kernels of package elementwise: elementwise operations, copies and functions of programs.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
