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

	// What lies between two elements is not farther than they are.
	inf, most := float32(math.Inf(1)), float32(math.MaxFloat32)
	ends := tensor.From(d, []float32{-inf, 0, 5, inf, -most, most, -inf, inf}).Reshape(4, 2)
	got := list[float32](t, ends.Median(1))
	require.Equal(t, []float32{-inf, inf, 0}, got[:3])
	require.True(t, math.IsNaN(float64(got[3])), "nothing is in the middle of both infinities")
	require.Equal(t, []float32{-inf, 5, -most, -inf}, list[float32](t, ends.Quantile(0, 1)))
	require.ErrorIs(t, y.Softmax(2).Err(), tensor.ErrDim)
	require.ErrorIs(t, y.Cast(tensor.I32).Softmax(1).Err(), tensor.ErrDType)
}

func TestCumMaxTies(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float32{1, 3, 2, 3, 0, float32(math.NaN()), 9}))
	y := x.Tensor().CumMax(0).Mul(tensor.From(d, []float32{1, 2, 4, 8, 16, 32, 64}))
	g, err := y.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{1, 6, 0, 24, 0, 96, 0}, list[float32](t, g.Of(x.Tensor())), "the last of equal ones has the gradient")
}

func TestNorms(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 6, -1, 0, 0, 1}).Reshape(2, 4)
	w, b := tensor.From(d, []float32{1, 2, 3, 4}), tensor.From(d, []float32{0, 1, 0, 1})
	for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16} {
		slack := map[tensor.DType]float64{tensor.F64: 1e-12, tensor.F32: 1e-5, tensor.BF16: 0.03}[dt]
		x, w, b := x.Cast(dt), w.Cast(dt), b.Cast(dt)
		rms, layer := x.RMSNorm(-1, w, 0.5), x.LayerNorm(1, w, b, 0.5)
		require.Equal(t, dt, rms.DType())
		r, l := math.Sqrt(12.5+0.5), math.Sqrt(3.5+0.5)
		require.InDeltaSlice(t, []float64{1 / r, 4 / r, 9 / r, 24 / r}, list[float64](t, rms.Get(0).Cast(tensor.F64)), slack)
		require.InDeltaSlice(t, []float64{-2 / l, 1 - 2/l, 0, 1 + 12/l}, list[float64](t, layer.Get(0).Cast(tensor.F64)), slack)
		require.InDeltaSlice(t, list[float64](t, x.Cast(tensor.F64).Mul(x.Cast(tensor.F64).Sqr().MeanKeep(0).AddScalar(0.5).Rsqrt()).Reshape(8)),
			list[float64](t, x.RMSNorm(0, nil, 0.5).Cast(tensor.F64).Reshape(8)), slack)
	}
	require.ErrorIs(t, x.RMSNorm(2, nil, 0).Err(), tensor.ErrDim)
	require.ErrorIs(t, x.RMSNorm(0, w, 0).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.RMSNorm(1, w.Cast(tensor.F64), 0).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.LayerNorm(1, w, b, -1).Err(), tensor.ErrArgument)
	require.ErrorIs(t, x.Cast(tensor.I32).LayerNorm(1, nil, nil, 0).Err(), tensor.ErrDType)
	require.ErrorIs(t, x.LayerNorm(1, w.Get(9), b, 0).Err(), tensor.ErrIndex)
}

func TestLogCumSumExp(t *testing.T) {
	d := open(t)
	inf := float32(math.Inf(1))
	x := tensor.New(d, [][]float32{{1000, 1000, 0}, {-inf, -inf, 3}, {-1000, inf, 1}})
	want := []float32{1000, 1000 + math.Ln2, 1000 + math.Ln2, -inf, -inf, 3, -1000, inf, inf}
	require.Equal(t, want, list[float32](t, x.LogCumSumExp(1)))
	require.Equal(t, want, list[float32](t, x.T().Contiguous().LogCumSumExp(0).T()))
	require.ErrorIs(t, x.Cast(tensor.I32).LogCumSumExp(1).Err(), tensor.ErrDType)
	v := tensor.NewVar(x.Narrow(0, 0, 2)).Tensor()
	g, err := v.LogCumSumExp(1).Mul(tensor.From(d, []float32{1, -2, 4})).Backward()
	require.NoError(t, err)
	require.InDeltaSlice(t, []float32{2, 1, 0, 0, 0, 4}, list[float32](t, g.Of(v)), 1e-3)
}

func TestPlaces(t *testing.T) {
	d := open(t)
	x := tensor.New(d, [][]float32{{1, 5, 5}, {7, float32(math.NaN()), -1}})
	values, places := x.MaxWithIndices(-1)
	require.Equal(t, []uint32{1, 1}, list[uint32](t, places))
	require.Equal(t, []uint8{0, 1}, list[uint8](t, values.IsNaN()))
	values, places = x.MinWithIndices(0)
	require.Equal(t, []uint32{0, 1, 1}, list[uint32](t, places))
	require.Equal(t, []float32{1, -1}, list[float32](t, values.IndexSelect(tensor.From(d, []int64{0, 2}), 0)))
	_, bad := x.MaxWithIndices(2)
	require.ErrorIs(t, bad.Err(), tensor.ErrDim)
	_, bad = x.Narrow(0, 0, 0).MinWithIndices(0)
	require.ErrorIs(t, bad.Err(), tensor.ErrEmpty)
}
