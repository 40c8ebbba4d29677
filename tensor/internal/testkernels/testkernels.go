package testkernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/kernels"
)

// Blend stores a·x + (1-a)·y, of tensors in any layout.
//
//kiln:kernel
func Blend(t dsl.Thread, out, x []float32, xs kernels.Strided, y []float32, ys kernels.Strided, a float32) {
	if i := t.Global(); i < xs.Count {
		out[i] = a*x[xs.At(i)] + (1-a)*y[ys.At(i)]
	}
}

// Double doubles the elements of a tensor in any layout.
//
//kiln:kernel
func Double(t dsl.Thread, x []float32, at kernels.Strided) {
	if i := t.Global(); i < at.Count {
		x[at.At(i)] *= 2
	}
}
