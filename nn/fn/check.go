package fn

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// dim is a dimension that may count from the end; ok is false where there is none such.
func dim(d, rank int) (int, bool) {
	if d < 0 {
		d += rank
	}
	return d, d >= 0 && d < rank
}

// along is a shape of ones with n at dimension d.
func along(rank, d, n int) []int {
	shape := make([]int, rank)
	for i := range shape {
		shape[i] = 1
	}
	shape[d] = n
	return shape
}
