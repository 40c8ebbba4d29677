// Package fix has mistakes with a mechanical correction.
package fix

import (
	"embed"
	"math"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Grow calls Go's exponential function.
//
//kiln:kernel
func Grow(t dsl.Thread, x []float64) { x[0] = math.Exp(x[0]) }

// Scale has no thread.
//
//kiln:kernel
func Scale(x []float64) {}
