// Package kernels has the kernels of package loss: statistics of rows of logits and what
// their gradients are, and the forward-backward recursions of CTC.
//
// Rows are all elements along the class dimension of a contiguous tensor; Rows says where they
// lie. Numbers are computed in float32, or in float64 if the elements are.
//
//	stats := ops.NewGeneric("cross_entropy", kernels.RowStats[ops.T, ops.C])
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)
