package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestRows(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{3, 1, 4, 1, 5})
	require.Equal(t, []float32{3, 4, 8, 9, 14}, list[float32](t, x.CumSum(0)))
	require.Equal(t, []float32{3, 3, 12, 12, 60}, list[float32](t, x.CumProd(-1)))
	require.Equal(t, []float32{3, 3, 4, 4, 5}, list[float32](t, x.CumMax(0)))
	require.Equal(t, []float32{3, 1, 1, 1, 1}, list[float32](t, x.CumMin(0)))
	require.Equal(t, []float32{1, 0}, list[float32](t, tensor.From(d, []float32{1234, 0}).Softmax(0)))
	require.Equal(t, []float32{0, -1234}, list[float32](t, tensor.From(d, []float32{1234, 0}).LogSoftmax(0)))

	y := tensor.New(d, [][]float32{{3, 1, 4, 1.1, 5}, {2.1, 1, 7, 8, 2}})
	require.Equal(t, []uint32{1, 3, 0, 2, 4, 1, 4, 0, 2, 3}, list[uint32](t, y.ArgSort(-1, false)))
	require.Equal(t, []uint32{4, 2, 0, 3, 1, 3, 2, 0, 4, 1}, list[uint32](t, y.ArgSort(1, true)))
	values, places := tensor.From(d, []float32{9, 30, 10, 20}).Narrow(0, 1, 3).Sort(0, false)
	require.Equal(t, []float32{10, 20, 30}, list[float32](t, values))
	require.Equal(t, []uint32{1, 2, 0}, list[uint32](t, places))
	values, places = y.TopK(2, 1, false)
	require.Equal(t, []float32{5, 4, 8, 7}, list[float32](t, values))
	require.Equal(t, []uint32{4, 2, 3, 2}, list[uint32](t, places))
	require.Equal(t, []float32{3, 2.1}, list[float32](t, y.Median(1)))
	require.InDeltaSlice(t, []float32{1.05, 1.5}, list[float32](t, y.Quantile(0.125, 1)), 1e-6)
	require.True(t, math.IsNaN(float64(list[float32](t, tensor.From(d, []float32{1, float32(math.NaN())}).Median(0))[0])))

	_, bad := y.TopK(6, 1, false)
	require.ErrorIs(t, bad.Err(), tensor.ErrRange)
	require.ErrorIs(t, y.Quantile(1.5, 0).Err(), tensor.ErrArgument)
	require.ErrorIs(t, y.Softmax(2).Err(), tensor.ErrDim)
	require.ErrorIs(t, y.Cast(tensor.I32).Softmax(1).Err(), tensor.ErrDType)
	_, err := tensor.NewVar(x).Tensor().CumMax(0).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
}
