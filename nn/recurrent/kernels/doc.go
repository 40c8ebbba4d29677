// Package kernels has the kernels of package recurrent.
//
//	conv := ops.NewGeneric("shortconv", kernels.ShortConv[ops.T, ops.C])
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Columns of the table of sequences: the first token and the end of each, the row of its state, and
// whether this is 0 whatever it holds.
const (
	Start = iota
	End
	State
	Fresh
	Columns
)
