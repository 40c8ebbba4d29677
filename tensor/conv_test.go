package tensor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestConvolution(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{.4056, -.8689, .6843, .2395, 1.2279, -.9287, -1.7030, .1370, .1866}, 1, 1, 3, 3)
	require.InDeltaSlice(t, []float32{-.6197}, list[float32](t, x.Conv(tensor.Ones(d, tensor.F32, 1, 1, 3, 3), tensor.Convolution{})), 1e-4)
	row := tensor.From(d, []float32{.4056, -.8689, -.0773, -1.563}, 1, 1, 4)
	w := tensor.From(d, []float32{1, 0, 0}, 1, 1, 3)
	require.Equal(t, []float32{.4056, -.8689}, list[float32](t, row.Conv(w, tensor.Convolution{})))
	require.Equal(t, []float32{0, .4056, -.8689, -.0773}, list[float32](t, row.Conv(w, tensor.Convolution{Padding: []int{1}})))

	p := tensor.From(d, []float32{1, 2, 1, 3, 0, 0, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1}, 1, 1, 4, 4)
	two := tensor.Pooling{Kernel: []int{2, 2}}
	require.Equal(t, []float32{2, 3, 5, 1}, list[float32](t, p.MaxPool(two)))
	require.Equal(t, []float32{2, 3, 5, 1}, list[float32](t, p.Reshape(1, 1, 2, 8).MaxPool(two)))
	a := tensor.From(d, []float32{1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 1, 1, 4, 4)
	require.Equal(t, []float32{.5, 1, 1, 1}, list[float32](t, a.AvgPool(two)))
	n := count(d, 1, 1, 2, 3).UpsampleNearest(4, 6)
	require.Equal(t, []float32{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 3, 3, 4, 4, 5, 5}, list[float32](t, n))
	b := count(d, 1, 1, 4, 4).UpsampleBilinear(8, 8, false).Get(0).Get(0)
	require.InDeltaSlice(t, []float32{0, .25, .75, 1.25, 1.75, 2.25, 2.75, 3}, list[float32](t, b.Get(0)), 1e-6)
	c := tensor.From(d, []float32{1, 2, 3, 4}, 1, 1, 2, 2).UpsampleBilinear(4, 4, true)
	require.InDeltaSlice(t, []float32{1, 1.3333, 1.6667, 2}, list[float32](t, c.Get(0).Get(0).Get(0)), 1e-4)

	// The gradient of the nearest element adds up.
	v := tensor.NewVar(count(d, 1, 1, 3, 3))
	g, err := v.Tensor().UpsampleNearest(6, 6).Mul(count(d, 1, 1, 6, 6).AddScalar(1)).Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{18, 26, 34, 66, 74, 82, 114, 122, 130}, list[float32](t, g.Of(v.Tensor())))

	require.ErrorIs(t, x.Conv(w, tensor.Convolution{}).Err(), tensor.ErrRank)
	require.ErrorIs(t, row.Conv(tensor.Ones(d, tensor.F32, 1, 2, 3), tensor.Convolution{}).Err(), tensor.ErrShape)
	require.ErrorIs(t, row.Conv(w.Cast(tensor.F16), tensor.Convolution{}).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, p.MaxPool(tensor.Pooling{Kernel: []int{5, 5}}).Err(), tensor.ErrShape)
}

// The first rows are those of the example of ONNX, resize_upsample_scales_cubic.
func TestBicubic(t *testing.T) {
	d := open(t)
	x := count(d, 1, 1, 4, 4).AddScalar(1)
	for _, y := range []*tensor.Tensor{x.UpsampleBicubic(8, 8, false), x.UpsampleBicubicBy(2, 2, false), x.T().UpsampleBicubic(8, 8, false).T()} {
		require.InDeltaSlice(t, []float32{0.47265625, 0.76953125, 1.24609375, 1.875, 2.28125, 2.91015625, 3.38671875, 3.68359375,
			1.66015625, 1.95703125, 2.43359375, 3.0625, 3.46875, 4.09765625, 4.57421875, 4.87109375}, list[float32](t, y.Narrow(2, 0, 2)), 1e-5)
	}
	require.Equal(t, list[float32](t, x), list[float32](t, x.UpsampleBicubic(4, 4, true)))
	require.ErrorIs(t, x.UpsampleBicubicBy(1, -1, true).Err(), tensor.ErrArgument)
	require.ErrorIs(t, x.UpsampleBicubicBy(1e300, 1, true).Err(), tensor.ErrTooLarge)
	require.ErrorIs(t, x.Cast(tensor.I32).UpsampleBicubic(2, 2, true).Err(), tensor.ErrDType)
	require.ErrorIs(t, x.FlattenAll().UpsampleBicubic(2, 2, true).Err(), tensor.ErrRank)
}
