// Package kernels has the kernels of package rows: reductions, scans, softmax and norms.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
