// Package kernels has three kernels for the product of two matrices, bias and activation included:
// [Naive], [Shared] and [Tiles].
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
