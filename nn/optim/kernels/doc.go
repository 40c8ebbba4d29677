// Package kernels has the kernels of package optim: updates of parameters and their states in
// place, norms and scalings of gradients.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
