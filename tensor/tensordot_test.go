package tensor_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestTensorDot(t *testing.T) {
	d := open(t)
	rng := rand.New(rand.NewPCG(1, 2))
	small := func(shape ...int) plain {
		return plainOf(shape, func([]int) float64 { return float64(rng.IntN(9) - 4) })
	}
	on := func(p plain, dt tensor.DType) *tensor.Tensor { return tensor.From(d, p.v, p.shape...).Cast(dt) }
	for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.I32, tensor.I64} {
		a, b := small(2, 3, 4), small(4, 5, 2)
		want := plainOf([]int{3, 5}, func(at []int) (sum float64) {
			for i := range 2 {
				for k := range 4 {
					sum += a.at([]int{i, at[0], k}) * b.at([]int{k, at[1], i})
				}
			}
			return sum
		})
		for i, x := range layouts(on(a, dt)) {
			y := layouts(on(b, dt))[(i+1)%4]
			got := x.TensorDot(y, []int{-1, 0}, []int{0, 2})
			require.Equal(t, tensor.Shape{3, 5}, got.Shape())
			require.Equal(t, list[float64](t, tensor.From(d, want.v).Cast(dt).Cast(tensor.F64)), list[float64](t, got.Cast(tensor.F64)), "%v", dt)
		}
	}
	x, y := count(d, 2, 3), count(d, 3)
	require.Equal(t, list[float32](t, x.MV(y)), list[float32](t, x.TensorDot(y, []int{1}, []int{0})))
	require.Equal(t, tensor.Shape{2, 3, 3}, x.TensorDot(y, nil, nil).Shape())
	require.Equal(t, []float32{0, 0, 0, 0, 1, 2, 0, 2, 4}, list[float32](t, x.Get(0).TensorDot(y, nil, nil)))
	require.Equal(t, []float32{55}, list[float32](t, x.TensorDot(x, []int{0, 1}, []int{0, 1})))
	require.Equal(t, tensor.Shape{3, 3}, x.Narrow(0, 0, 0).TensorDot(x.Narrow(0, 0, 0), []int{0}, []int{0}).Shape())

	require.ErrorIs(t, x.TensorDot(y, []int{0}, []int{0}).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.TensorDot(y, []int{0, 1}, []int{0}).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.TensorDot(x, []int{1, -1}, []int{1, 0}).Err(), tensor.ErrDuplicateDim)
	require.ErrorIs(t, x.TensorDot(x, []int{1}, []int{2}).Err(), tensor.ErrDim)
	require.ErrorIs(t, x.TensorDot(y.Cast(tensor.F64), []int{1}, []int{0}).Err(), tensor.ErrDTypeMismatch)
	packed := tensor.FromBytes(d, tensor.F4, []byte{1}, 2)
	require.ErrorIs(t, packed.TensorDot(packed, []int{0}, []int{0}).Err(), tensor.ErrDType)
}
