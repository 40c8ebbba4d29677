// Package kernels has kernels for the product of two matrices, from the textbook's to the fastest:
// [Naive], [Shared], [Tiles] and [Bulk], and [Layer] with bias and activation. docs/products.md goes
// through them.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
