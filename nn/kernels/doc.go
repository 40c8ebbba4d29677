// Package kernels has the functions of elements that layers of package nn compile for the device: what
// cells of recurrent layers do between their products, and the derivatives for it.
//
//	c = tensor.Map4Grad(kernels.LSTMCell[float32], kernels.LSTMCellGrad[float32], i, f, g, c)
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
