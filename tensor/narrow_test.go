package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// many is how many gradients meet in one element: of a sum of ones that is rounded to 16 bits
// after each of them 256 or 2048 remain, to 8 bits less.
const many = 1400

// gathers read one element, or row, of x many times; ids are zeros.
var gathers = map[string]func(x, ids ten) ten{
	"embedding":    func(x, ids ten) ten { return x.Embedding(ids) },
	"index_select": func(x, ids ten) ten { return x.IndexSelect(ids, 0) },
	"gather":       func(x, ids ten) ten { return x.Gather(ids.Unsqueeze(1), 0) },
	"take":         func(x, ids ten) ten { return x.Take(ids) },
	"pad":          func(x, ids ten) ten { return x.Pad(0, ids.Count()-1, 0, tensor.PadEdge, 0) },
	"upsample":     func(x, ids ten) ten { return x.Reshape(1, 1, 2, 1).UpsampleNearest(2*ids.Count(), 1) },
}

// TestNarrowGradients tests that gradients of types below 32 bits that meet in an element are
// added in F32 and rounded once.
func TestNarrowGradients(t *testing.T) {
	d := open(t)
	ids := tensor.Zeros(d, tensor.I32, many)
	for _, dt := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F8E5M2} {
		want := tensor.From(d, []float32{many}).Cast(dt)
		for name, f := range gathers {
			x := tensor.NewVar(tensor.Zeros(d, dt, 2, 1))
			g, err := f(x.Tensor(), ids).Backward()
			require.NoError(t, err, name)
			require.Equal(t, list[float32](t, want.Cast(tensor.F32))[0], list[float32](t, g.Of(x.Tensor()).Cast(tensor.F32))[0], "%s of %v", name, dt)
		}
		ones := tensor.Ones(d, dt, many)
		sums := map[string]ten{
			"bincount":    ids.BincountOf(ones, 1),
			"index_put":   tensor.Zeros(d, dt, 1).IndexPut([]*tensor.Tensor{ids}, ones, true),
			"scatter_add": tensor.Zeros(d, dt, 1).ScatterAdd(ids, ones, 0),
			"index_add":   tensor.Zeros(d, dt, 1).IndexAdd(ids, ones, 0),
			"scatter_sum": tensor.Zeros(d, dt, 1).ScatterReduce(tensor.ScatterSum, ids, ones, 0, false),
			"in place":    tensor.Zeros(d, dt, 1),
		}
		require.NoError(t, sums["in place"].IndexAddSet(ids, ones, 0))
		for name, sum := range sums {
			require.Equal(t, list[float32](t, want.Cast(tensor.F32)), list[float32](t, sum.Cast(tensor.F32)), "%s of %v", name, dt)
		}
		x := tensor.NewVar(tensor.Zeros(d, dt, 1))
		src := tensor.NewVar(ones)
		g, err := x.Tensor().ScatterReduce(tensor.ScatterMean, ids, src.Tensor(), 0, false).Backward()
		require.NoError(t, err)
		require.InEpsilon(t, 1./many, float64(list[float32](t, g.Of(src.Tensor()).Cast(tensor.F32))[7]), 0.1)
	}
}
