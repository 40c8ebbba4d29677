package testkernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Blend stores a·x + (1-a)·y, of tensors in any layout.
//
//kiln:kernel
func Blend(t dsl.Thread, out, x []float32, xs core.Strided, y []float32, ys core.Strided, a float32) {
	if i := t.Global(); i < xs.Count {
		out[i] = a*x[xs.At(i)] + (1-a)*y[ys.At(i)]
	}
}

// Pair is two slices.
type Pair struct{ A, B []float32 }

// Products stores the products of two slices.
//
//kiln:kernel
func Products(t dsl.Thread, of Pair, out []float32) {
	if i := t.Global(); i < len(out) {
		out[i] = of.A[i] * of.B[i]
	}
}

// Pairs is two slices by the names of [tensor.Launch].
type Pairs struct{ S0, S1 []float32 }

// Exchange swaps the elements of two slices.
//
//kiln:kernel
func Exchange(t dsl.Thread, of Pairs) {
	if i := t.Global(); i < len(of.S0) {
		of.S0[i], of.S1[i] = of.S1[i], of.S0[i]
	}
}

// Double doubles the elements of a tensor in any layout.
//
//kiln:kernel
func Double(t dsl.Thread, x []float32, at core.Strided) {
	if i := t.Global(); i < at.Count {
		x[at.At(i)] *= 2
	}
}
