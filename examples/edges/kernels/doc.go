// Package kernels holds the GPU kernels of the edges example: from a colour
// picture to thin bright lines where brightness changes.
//
//	Luma       colour to brightness, and LumaYCbCr, from the colours of JPEG files
//	BlurRows   Gaussian blur along rows, then
//	BlurCols   along columns
//	Sobel      strength and direction of the gradient
//	Histogram  how often each strength occurs, for an automatic threshold
//	Suppress   keeps only the ridge of each gradient
//
// Pictures are stored by rows without padding: the pixel at (x, y) is element
// y*width+x. Beyond its border a picture goes on with the nearest pixel.
//
// A grid may be smaller than the picture: the kernels stride over the rest.
// Only BlurRows needs a grid that covers the width.
//
// Every floating-point step is rounded on its own. The conversion in
// float32(a*b) tells the Go compiler not to fuse the product with the sum that
// follows (Kiln never does). So all devices, and these functions called as
// plain Go on any machine, give the same bits:
//
//	err := dsltest.Run(dsl.D1(4), dsl.D1(256), func(t dsl.Thread) {
//		kernels.Luma(t, luma, rgba, width, height)
//	})
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the compiler reads the kernels from the binary
