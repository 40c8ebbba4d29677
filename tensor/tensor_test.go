package tensor_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func open(t *testing.T) *tensor.Device {
	t.Helper()
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func list[T tensor.Element](t *testing.T, x *tensor.Tensor) []T {
	t.Helper()
	out, err := tensor.ToSlice[T](x)
	require.NoError(t, err)
	return out
}

func TestFormula(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	y := x.Mul(x).AddScalar(1).T()
	rows, err := tensor.To2[float32](y)
	require.NoError(t, err)
	require.Equal(t, [][]float32{{2, 17}, {5, 26}, {10, 37}}, rows)
	require.Equal(t, []float32{11, 22, 33, 14, 25, 36}, list[float32](t, x.Add(tensor.From(d, []float32{10, 20, 30}))))
	require.Equal(t, []uint8{0, 0, 0, 1, 1, 1}, list[uint8](t, x.GtScalar(3)))
}

func TestErrorsStick(t *testing.T) {
	d := open(t)
	x, y := tensor.From(d, []float32{1, 2, 3}), tensor.From(d, []float32{1, 2})
	z := x.Add(y).Exp().Neg()
	_, _, line, _ := runtime.Caller(0)
	require.ErrorIs(t, z.Err(), tensor.ErrBroadcast)
	require.EqualError(t, z.Err(), fmt.Sprintf("add: incompatible shapes for broadcasting: [3] and [2], 3 and 2 (tensor_test.go:%d)", line-1))
	_, err := tensor.To1[float32](z)
	require.Equal(t, z.Err(), err)
	require.ErrorIs(t, x.Add(y.Cast(tensor.F64)).Err(), tensor.ErrDTypeMismatch)
	require.ErrorIs(t, x.Add(nil).Err(), tensor.ErrArgument)
	require.ErrorIs(t, x.Cast(tensor.I32).Exp().Err(), tensor.ErrDType)
	require.ErrorIs(t, x.Cast(tensor.I32).MulScalar(0.5).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Zeros(nil, tensor.F32, 2).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.Zeros(d, tensor.F32, -2).Err(), tensor.ErrShape)
	require.ErrorIs(t, tensor.Zeros(d, tensor.F4, 2).Err(), tensor.ErrDType)
	require.ErrorIs(t, tensor.Zeros(d, tensor.F32, 1<<40, 1<<22).Err(), tensor.ErrTooLarge)
	require.ErrorIs(t, x.Narrow(0, 2, 2).Err(), tensor.ErrRange)
	// Lists are as long as usual, so that a program that takes parts of them goes on.
	for _, bad := range [][]*tensor.Tensor{z.Chunk(3, 0), x.Chunk(3, 1), z.Split([]int{1, 1, 1}, 0), x.Split([]int{1, 1, 2}, 0), tensor.Meshgrid(true, x, z, y), tensor.Meshgrid(true, x, x.Unsqueeze(0), y)} {
		require.Len(t, bad, 3)
		require.Error(t, bad[2].Err())
	}
	require.Len(t, z.Chunk(0, 0), 1)
	require.Len(t, z.Split(nil, 0), 1)
	var none *tensor.Tensor
	require.ErrorIs(t, none.Err(), tensor.ErrArgument)
	require.ErrorIs(t, none.Exp().Err(), tensor.ErrArgument)
}

func TestRandom(t *testing.T) {
	d := open(t)
	d.SetSeed(42)
	a := list[float32](t, tensor.Rand(d, tensor.F32, -1, 1, 1000))
	d.SetSeed(42)
	b := list[float32](t, tensor.Rand(d, tensor.F32, -1, 1, 10, 100))
	require.Equal(t, a, b)
	require.NotEqual(t, a, list[float32](t, tensor.Rand(d, tensor.F32, -1, 1, 1000)))
	require.EqualValues(t, 42, d.Seed())
	for _, dt := range []tensor.DType{tensor.BF16, tensor.F16, tensor.F32, tensor.F64, tensor.F8E4M3, tensor.F8E5M2} {
		u := list[float64](t, tensor.Rand(d, dt, 2, 3, 20001).Cast(tensor.F64))
		n := list[float64](t, tensor.Randn(d, dt, 1, 2, 20001).Cast(tensor.F64))
		var sum, squares, usum float64
		for i := range n {
			require.True(t, u[i] >= 2 && u[i] < 3, "%v %v", dt, u[i])
			usum += u[i]
			sum += n[i]
			squares += (n[i] - 1) * (n[i] - 1)
		}
		count := float64(len(n))
		if dt.Bits() > 8 {
			require.InDelta(t, 2.5, usum/count, 0.02, dt)
		}
		require.InDelta(t, 1, sum/count, 0.06, dt)
		require.InDelta(t, 2, math.Sqrt(squares/count), 0.06, dt)
	}
}
