// Package kernels has the kernels of weights of published checkpoints. Each takes the scheme of the
// weight as a type argument.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
