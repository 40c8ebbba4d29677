package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestAdaptivePools(t *testing.T) {
	d := open(t)
	x := count(d, 1, 5, 7)
	for _, x := range layouts(x) {
		require.Equal(t, []float32{0.5, 2, 4, 5.5}, list[float32](t, x.AdaptiveAvgPool(4).Get(0).Get(0)))
		require.Equal(t, []float32{1, 3, 5, 6}, list[float32](t, x.AdaptiveMaxPool(4).Get(0).Get(0)))
		require.Equal(t, []float32{8.5, 11.5, 22.5, 25.5}, list[float32](t, x.AdaptiveAvgPool(2, 2)))
		require.Equal(t, []float32{17, 20, 31, 34}, list[float32](t, x.AdaptiveMaxPool(2, 2)))
		require.Equal(t, []float32{17}, list[float32](t, x.AdaptiveAvgPool(1, 1)))
		require.Equal(t, []float32{34}, list[float32](t, x.AdaptiveMaxPool(1, 1)))
		require.Equal(t, list[float32](t, x), list[float32](t, x.AdaptiveAvgPool(tensor.Inferred, 7)))
		require.Equal(t, list[float32](t, x.AvgPool(tensor.Pooling{Kernel: []int{7}})), list[float32](t, x.AdaptiveAvgPool(1)))
	}
	require.Equal(t, tensor.Shape{1, 5, 0}, x.AdaptiveAvgPool(0).Shape())
	require.Equal(t, tensor.Shape{0, 5, 3}, x.Narrow(0, 0, 0).AdaptiveMaxPool(3).Shape())
	none := x.Narrow(2, 0, 0)
	require.Equal(t, tensor.Shape{1, 5, 0}, none.AdaptiveAvgPool(tensor.Inferred).Shape(), "windows of nothing, of which there are none")
	require.Equal(t, tensor.Shape{1, 3, 0}, none.AdaptiveMaxPool(3, 0).Shape())
	require.Equal(t, tensor.Shape{1, 0, 0}, none.UpsampleBicubicBy(0.1, 2, false).Shape())
	require.Equal(t, []int32{1, 3}, list[int32](t, tensor.From(d, []int32{1, 2, 4}).AdaptiveAvgPool(2)), "integers are cut")
	nan := tensor.From(d, []float32{1, float32(math.NaN()), 3, 4}).AdaptiveMaxPool(3)
	require.Equal(t, []uint8{1, 1, 0}, list[uint8](t, nan.IsNaN()))

	require.ErrorIs(t, x.AdaptiveAvgPool().Err(), tensor.ErrRank)
	require.ErrorIs(t, x.AdaptiveMaxPool(1, 1, 1).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Get(0).Get(0).AdaptiveMaxPool(1, 1).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.AdaptiveAvgPool(-2).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.Narrow(2, 0, 0).AdaptiveAvgPool(3).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.FromBytes(d, tensor.F4, []byte{1}).AdaptiveAvgPool(1).Err(), tensor.ErrDType)
}

func TestMaxPoolWithIndices(t *testing.T) {
	d := open(t)
	p := tensor.Pooling{Kernel: []int{2, 2}, Stride: []int{2, 1}}
	values, at := tensor.From(d, []float32{1, 5, 3, 2, 4, 5, 5, 0, 1, 1, 1, 9}, 1, 4, 3).MaxPoolWithIndices(p)
	require.Equal(t, []float32{5, 5, 5, 9}, list[float32](t, values))
	require.Equal(t, []int64{1, 1, 6, 11}, list[int64](t, at))
	require.Equal(t, []float32{0, 5, 0, 0, 0, 0, 5, 0, 0, 0, 0, 9}, list[float32](t, values.MaxUnpool(at, 4, 3)))
	_, bad := values.MaxPoolWithIndices(tensor.Pooling{Kernel: []int{5}})
	require.ErrorIs(t, bad.Err(), tensor.ErrShape)
	require.ErrorIs(t, values.MaxUnpool(at).Err(), tensor.ErrRank)
	require.ErrorIs(t, values.MaxUnpool(at.Get(0), 4, 3).Err(), tensor.ErrShape)
	require.ErrorIs(t, values.MaxUnpool(values, 4, 3).Err(), tensor.ErrDType)
	failed := values.MaxUnpool(at, 2, 2)
	require.ErrorIs(t, d.Synchronize(), tensor.ErrIndex)
	require.ErrorIs(t, failed.Err(), tensor.ErrIndex)
}

// TestPoolsOfNothing has pools of a batch of none, and their gradients.
func TestPoolsOfNothing(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.Zeros(d, tensor.F32, 0, 3, 4, 4)).Tensor()
	p := tensor.Pooling{Kernel: []int{2, 2}}
	values, at := x.MaxPoolWithIndices(p)
	for name, y := range map[string]*tensor.Tensor{
		"max": x.MaxPool(p), "max with indices": values, "unpool": values.MaxUnpool(at, 4, 4), "mean": x.AvgPool(p),
		"adaptive max": x.AdaptiveMaxPool(3, 3), "all of it": x.AdaptiveMaxPool(1, 1), "to none": x.AdaptiveMaxPool(0, 2), "adaptive mean": x.AdaptiveAvgPool(3, 3),
	} {
		g, err := y.Backward()
		require.NoError(t, err, name)
		require.Equal(t, x.Shape(), g.Of(x).Shape(), name)
	}
}
