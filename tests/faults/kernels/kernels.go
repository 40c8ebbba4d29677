package kernels

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Pick stores the elements of x with some indices in out.
//
//kiln:kernel
func Pick(t dsl.Thread, out, x []float32, ids []int32) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		k := int(ids[i])
		dsl.Assert(t, k >= 0 && k < len(x), "index %d at position %d is out of range", k, i)
		out[i] = x[k]
	}
}

// Twice stores 2·x in out.
//
//kiln:kernel
func Twice(t dsl.Thread, out, x []float32) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = 2 * x[i]
	}
}

// Await waits until flag[0] is set.
//
//kiln:kernel
func Await(t dsl.Thread, flag []int32) {
	for dsl.AtomicLoad(&flag[0]) == 0 {
	}
	flag[1] = 1
}
