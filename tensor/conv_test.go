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
