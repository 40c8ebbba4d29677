// Package kernels has the kernels of package attention.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
