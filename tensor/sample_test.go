package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestGridSample(t *testing.T) {
	d := open(t)
	x := count(d, 1, 2, 3, 4)
	// The middles of all elements, with corners aligned and without.
	grid := func(ys, xs []float32) *tensor.Tensor {
		m := tensor.Meshgrid(true, tensor.From(d, xs), tensor.From(d, ys))
		return tensor.Stack(-1, m...).Unsqueeze(0)
	}
	for _, p := range []struct {
		aligned bool
		grid    *tensor.Tensor
	}{{true, grid([]float32{-1, 0, 1}, []float32{-1, -1. / 3, 1. / 3, 1})}, {false, grid([]float32{-2. / 3, 0, 2. / 3}, []float32{-0.75, -0.25, 0.25, 0.75})}} {
		for _, mode := range []tensor.SampleMode{tensor.SampleBilinear, tensor.SampleNearest, tensor.SampleBicubic} {
			for _, pad := range []tensor.PadMode{tensor.PadConstant, tensor.PadEdge, tensor.PadReflect} {
				for _, x := range layouts(x) {
					for _, g := range layouts(p.grid) {
						y := x.GridSample(g, tensor.Sampling{Mode: mode, Padding: pad, AlignCorners: p.aligned})
						require.NoError(t, y.Err())
						require.InDeltaSlice(t, list[float32](t, x), list[float32](t, y), 1e-5, "%v %v", mode, pad)
					}
				}
			}
		}
	}
	outside := grid([]float32{-2}, []float32{-0.75, 1.25, float32(math.NaN())}) // a row above the first
	for pad, want := range map[tensor.PadMode][]float32{tensor.PadConstant: {0, 0, 0, 0, 0, 0}, tensor.PadEdge: {0, 3, 0, 12, 15, 12}, tensor.PadReflect: {4, 7, 4, 16, 19, 16}} {
		y := x.GridSample(outside, tensor.Sampling{Mode: tensor.SampleNearest, Padding: pad})
		require.Equal(t, want, list[float32](t, y), "%v", pad)
	}
	half := x.Cast(tensor.F16)
	require.Equal(t, list[float32](t, half.GridSample(outside, tensor.Sampling{Padding: tensor.PadEdge}).Cast(tensor.F32)),
		list[float32](t, half.GridSample(outside.Cast(tensor.F16), tensor.Sampling{Padding: tensor.PadEdge}).Cast(tensor.F32)), "places that halves have")
	require.Equal(t, tensor.Shape{1, 2, 0, 3}, x.GridSample(outside.Narrow(1, 0, 0), tensor.Sampling{}).Shape())
	require.Equal(t, tensor.Shape{1, 0, 1, 3}, x.Narrow(1, 0, 0).GridSample(outside, tensor.Sampling{}).Shape())
	v := tensor.NewVar(x).Tensor()
	g, err := v.Narrow(1, 0, 0).GridSample(outside, tensor.Sampling{}).Backward()
	require.NoError(t, err)
	require.Equal(t, make([]float32, 24), list[float32](t, g.Of(v)))

	for _, c := range []struct {
		y    *tensor.Tensor
		kind error
	}{
		{x.GridSample(outside, tensor.Sampling{Mode: 7}), tensor.ErrArgument},
		{x.GridSample(outside, tensor.Sampling{Padding: tensor.PadCircular}), tensor.ErrArgument},
		{x.GridSample(outside.Get(0), tensor.Sampling{}), tensor.ErrRank},
		{x.GridSample(outside.Narrow(3, 0, 1), tensor.Sampling{}), tensor.ErrShape},
		{x.Narrow(2, 0, 0).GridSample(outside, tensor.Sampling{}), tensor.ErrShape},
		{x.GridSample(outside.Cast(tensor.F64), tensor.Sampling{}), tensor.ErrDTypeMismatch},
		{x.Cast(tensor.I32).GridSample(outside, tensor.Sampling{}), tensor.ErrDType},
		{x.GridSample(outside.Narrow(0, 1, 1), tensor.Sampling{}), tensor.ErrRange},
	} {
		require.ErrorIs(t, c.y.Err(), c.kind)
	}
}
