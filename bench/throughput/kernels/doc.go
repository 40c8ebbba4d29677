// Package kernels holds what bench/throughput compiles: elementwise kernels that
// an operation, a type of element and a configuration specialise, as a library
// of tensors has them.
//
//	Map[dsl.F16, Gelu[float32]] with cfg.Each=2 and cfg.After=1
//
// reads halves, computes GELU in float32 and adds a second operand, two elements
// a turn.
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
