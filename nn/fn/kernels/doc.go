// Package kernels has the kernels of package fn.
//
//	rope := ops.NewGeneric("rope", kernels.Rope[ops.T, ops.O, ops.C])
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
