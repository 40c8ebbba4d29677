package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func count(d *tensor.Device, shape ...int) *tensor.Tensor {
	return tensor.Arange(d, float32(0), float32(tensor.Shape(shape).Count())).Reshape(shape...)
}

func TestIndexing(t *testing.T) {
	d := open(t)
	ids := func(shape []int, list ...int64) *tensor.Tensor { return tensor.From(d, list, shape...) }
	x43 := count(d, 4, 3)
	for _, c := range []struct {
		name string
		got  *tensor.Tensor
		want []float32
	}{
		{"index_select with none", count(d, 3, 2).IndexSelect(tensor.From(d, []uint32{math.MaxUint32, 2, math.MaxUint32}), 0), []float32{0, 0, 4, 5, 0, 0}},
		{"index_add", tensor.Ones(d, tensor.F32, 4, 2).IndexAdd(ids([]int{3}, 0, 1, 1), x43, 1), []float32{1, 4, 4, 10, 7, 16, 10, 22}},
		{"scatter_add", tensor.Ones(d, tensor.F32, 4, 5).ScatterAdd(ids([]int{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4), x43, 1),
			[]float32{1, 2, 3, 1, 1, 6, 1, 1, 4, 5, 1, 9, 1, 14, 1, 11, 1, 10, 1, 12}},
		{"scatter", tensor.Ones(d, tensor.F32, 4, 5).Scatter(ids([]int{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4), x43, 1),
			[]float32{0, 1, 2, 1, 1, 5, 1, 1, 3, 4, 1, 8, 1, 7, 1, 10, 1, 9, 1, 11}},
		{"gather", x43.Gather(ids([]int{4, 1}, 0, 2, 1, 0), 1), []float32{0, 5, 7, 9}},
		{"gather with none", x43.Gather(tensor.From(d, []uint8{255, 2, 1, 0}, 4, 1), 1), []float32{0, 5, 7, 9}},
		{"slice_scatter", x43.SliceScatter(tensor.Arange(d, float32(100), 106).Reshape(2, 3), 0, 1), []float32{0, 1, 2, 100, 101, 102, 103, 104, 105, 9, 10, 11}},
		{"flip", count(d, 2, 3).Flip(0, 1), []float32{5, 4, 3, 2, 1, 0}},
		{"pad", tensor.New(d, [][]float32{{1, 2}, {3, 4}}).Pad(0, 1, 2, tensor.PadEdge, 0), []float32{1, 2, 1, 2, 3, 4, 3, 4, 3, 4}},
		{"roll", count(d, 5).Roll(7, 0), []float32{3, 4, 0, 1, 2}},
		{"repeat", count(d, 2).Repeat(2, 2), []float32{0, 1, 0, 1, 0, 1, 0, 1}},
		{"eye", tensor.Eye(d, tensor.F32, 2), []float32{1, 0, 0, 1}},
		{"tril", tensor.Tril2(d, tensor.F32, 2), []float32{1, 0, 1, 1}},
		{"triu", tensor.Triu2(d, tensor.F32, 2), []float32{1, 1, 0, 1}},
		{"one_hot", ids([]int{2, 2}, 0, 2, 1, -1).OneHot(4, tensor.F32, 1, 0), []float32{1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}},
		{"masked_select", x43.MaskedSelect(x43.GtScalar(8)), []float32{9, 10, 11}},
		{"masked_fill", count(d, 2, 2).MaskedFill(tensor.From(d, []uint8{1, 0}), -1), []float32{-1, 1, -1, 3}},
		{"embedding", count(d, 3, 2).Embedding(ids([]int{2, 1}, 2, 0)), []float32{4, 5, 0, 1}},
		{"take", x43.T().Take(ids([]int{2}, 1, 4)), []float32{3, 1}},
	} {
		require.NoError(t, c.got.Err(), c.name)
		require.Equal(t, c.want, list[float32](t, c.got), c.name)
	}
	require.Equal(t, []int64{0, 1, 1, 2}, list[int64](t, tensor.New(d, [][]int32{{0, 5, 0}, {0, 0, -1}}).Nonzero()))
	require.Equal(t, tensor.Shape{0, 4}, count(d, 2, 2).Repeat(0, 2).Shape())
	require.Equal(t, tensor.Shape{4, 0}, count(d, 2, 2).Repeat(2, 0).Shape())
	grid := tensor.Meshgrid(false, tensor.Zeros(d, tensor.F32, 0), count(d, 3))
	require.Equal(t, tensor.Shape{0, 3}, grid[1].Shape())
	require.ErrorIs(t, x43.Embedding(count(d, 2)).Err(), tensor.ErrDType)
	require.ErrorIs(t, x43.Gather(ids([]int{4}, 0, 0, 0, 0), 1).Err(), tensor.ErrDim)
	require.ErrorIs(t, x43.IndexSelect(ids([]int{1}, 0), 2).Err(), tensor.ErrDim)
	require.ErrorIs(t, x43.SliceScatter(x43, 0, 1).Err(), tensor.ErrRange)
}

// An index out of range is an error when the device is waited for, and one of the result from
// then on, and no number of another tensor.
func TestIndexOutOfRange(t *testing.T) {
	d := open(t)
	for _, id := range []int64{4, -2, 1 << 40, math.MinInt64, math.MaxInt64} {
		x := count(d, 4, 3).IndexSelect(tensor.From(d, []int64{1, id}), 0)
		err := d.Synchronize()
		require.ErrorContains(t, err, "index_select", "%d", id)
		require.ErrorIs(t, x.Err(), tensor.ErrIndex, "%d", id)
	}
	require.NoError(t, d.Synchronize())
}
