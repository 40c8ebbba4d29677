// Package kernels holds the kernels of the conformance suite. Together they use
// every part of the kernel language; each is small enough that a failure names
// the part.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
