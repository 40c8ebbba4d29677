// Package kernels holds the kernels of the nbody example:
//
//	Step    moves bodies by the gravity of all of them
//	Count   counts how many bodies each pixel shows
//	Expose  makes a picture of the counts
package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // the compiler reads the kernels from the binary
