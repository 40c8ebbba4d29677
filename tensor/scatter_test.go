package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestScatterReduce(t *testing.T) {
	d := open(t)
	x := tensor.From(d, []float32{1, 2, 3, 4})
	ids := tensor.From(d, []int64{0, 0, 2, 2, 0})
	src := tensor.From(d, []float32{5, 7, -1, 6, 9})
	for _, c := range []struct {
		by   *tensor.ScatterBy
		self bool
		want []float32
	}{
		{tensor.ScatterSum, true, []float32{22, 2, 8, 4}}, {tensor.ScatterSum, false, []float32{21, 2, 5, 4}},
		{tensor.ScatterProd, true, []float32{315, 2, -18, 4}}, {tensor.ScatterProd, false, []float32{315, 2, -6, 4}},
		{tensor.ScatterMean, true, []float32{5.5, 2, 8. / 3, 4}}, {tensor.ScatterMean, false, []float32{7, 2, 2.5, 4}},
		{tensor.ScatterMax, true, []float32{9, 2, 6, 4}}, {tensor.ScatterMax, false, []float32{9, 2, 6, 4}},
		{tensor.ScatterMin, true, []float32{1, 2, -1, 4}}, {tensor.ScatterMin, false, []float32{5, 2, -1, 4}},
	} {
		require.Equal(t, c.want, list[float32](t, x.ScatterReduce(c.by, ids, src, 0, c.self)), "%s, self %v", c.by.Name(), c.self)
	}
	require.ErrorIs(t, x.ScatterReduce(tensor.ScatterMax, src, src, 0, true).Err(), tensor.ErrDType)
}

func TestCounts(t *testing.T) {
	d := open(t)
	ids := tensor.From(d, []int32{1, 3, 1, 0, -1, 1})
	require.Equal(t, []uint32{1, 3, 0, 1, 0}, list[uint32](t, ids.Bincount(5)))
	require.Equal(t, []uint32{1, 3, 0, 1}, list[uint32](t, tensor.From(d, []uint8{1, 3, 1, 0, 1}).Bincount(0)))
	require.Equal(t, []float32{8, 10, 0, 2}, list[float32](t, ids.BincountOf(tensor.From(d, []float32{1, 2, 4, 8, 16, 5}), 4)))
	require.Equal(t, []uint32{}, list[uint32](t, ids.Narrow(0, 0, 0).Bincount(0)))
	require.ErrorIs(t, ids.Bincount(-1).Err(), tensor.ErrArgument)
	require.Equal(t, []uint32{1, 3, 0, 1}, list[uint32](t, ids.Bincount(0)))
	require.ErrorIs(t, tensor.From(d, []int32{math.MaxInt32}).Bincount(0).Err(), tensor.ErrTooLarge)
	failed := ids.Bincount(3)
	require.ErrorContains(t, d.Synchronize(), "bincount: index 3 at position 1")
	require.ErrorIs(t, failed.Err(), tensor.ErrIndex)

	x := tensor.From(d, []float32{0, 0.5, 1, 1.9, 4, 5, float32(math.NaN()), -1})
	require.Equal(t, []uint32{2, 2, 0, 1}, list[uint32](t, x.Histc(4, 0, 4)))
	require.ErrorIs(t, x.Histc(4, 1, 1).Err(), tensor.ErrArgument)
	require.ErrorIs(t, ids.Histc(4, 0, 1).Err(), tensor.ErrDType)
}

func TestSearches(t *testing.T) {
	d := open(t)
	sorted := tensor.From(d, []float32{1, 3, 3, 5})
	x := tensor.New(d, [][]float32{{0, 1, 3}, {4, 5, 6}})
	require.Equal(t, []uint32{0, 0, 1, 3, 3, 4}, list[uint32](t, sorted.SearchSorted(x, false)))
	require.Equal(t, []uint32{0, 1, 3, 3, 4, 4}, list[uint32](t, x.Bucketize(sorted, true)))
	lines := tensor.New(d, [][]float32{{1, 2}, {5, 6}})
	require.Equal(t, []uint32{0, 0, 2, 0, 0, 1}, list[uint32](t, lines.SearchSorted(x, false)))
	require.ErrorIs(t, lines.SearchSorted(x.T(), false).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.Bucketize(lines, false).Err(), tensor.ErrRank)

	values, inverse, counts := tensor.New(d, [][]int32{{3, -1, 3}, {7, 3, -1}}).Unique()
	require.Equal(t, []int32{-1, 3, 7}, list[int32](t, values))
	require.Equal(t, []int64{1, 0, 1, 2, 1, 0}, list[int64](t, inverse))
	require.Equal(t, tensor.Shape{2, 3}, inverse.Shape())
	require.Equal(t, []int64{2, 3, 1}, list[int64](t, counts))
	values, _, counts = sorted.Narrow(0, 0, 0).Unique()
	require.Equal(t, 0, values.Count()+counts.Count())
	values, inverse, counts = sorted.Narrow(0, 1, 1).Unique()
	require.Equal(t, []float32{3}, list[float32](t, values))
	require.Equal(t, []int64{0, 1}, append(list[int64](t, inverse), list[int64](t, counts)...))
}

func TestPuts(t *testing.T) {
	d := open(t)
	x := count(d, 3, 4)
	mask := tensor.New(d, [][]uint8{{0, 1, 0, 0}, {0, 0, 0, 0}, {1, 0, 0, 1}})
	src := tensor.From(d, []float32{20, 30, 40, 50})
	require.Equal(t, []float32{0, 20, 2, 3, 4, 5, 6, 7, 30, 9, 10, 40}, list[float32](t, x.MaskedScatter(mask, src)))
	failed := x.MaskedScatter(mask, src.Narrow(0, 0, 2))
	require.Error(t, d.Synchronize())
	require.ErrorIs(t, failed.Err(), tensor.ErrIndex)

	require.Equal(t, []float32{0, 20, 30, 3, 4, 20, 30, 7, 8, 9, 10, 11}, list[float32](t, x.SliceAssign(src.Narrow(0, 0, 2), tensor.SliceTo(2), tensor.Slice(1, 3))))
	require.Equal(t, []float32{0, 1, 2, 3, 9, 5, 9, 7, 8, 9, 10, 11}, list[float32](t, x.SliceAssign(tensor.From(d, []float32{9}), tensor.Slice(1, 2), tensor.All.By(2))))
	require.ErrorIs(t, x.SliceAssign(src, tensor.All, tensor.All.By(-1)).Err(), tensor.ErrArgument)
	require.ErrorIs(t, x.SliceAssign(src, tensor.Slice(0, 9)).Err(), tensor.ErrRange)

	rows, cols := tensor.From(d, []int64{0, -1, 0}), tensor.From(d, []int32{1, 3, 1})
	require.Equal(t, []float32{0, 40, 2, 3, 4, 5, 6, 7, 8, 9, 10, 30}, list[float32](t, x.IndexPut([]*tensor.Tensor{rows, cols}, src.Narrow(0, 0, 3), false)))
	require.Equal(t, []float32{0, 61, 2, 3, 4, 5, 6, 7, 8, 9, 10, 41}, list[float32](t, x.IndexPut([]*tensor.Tensor{rows, cols}, tensor.From(d, []float32{20, 30, 40}), true)))
	require.Equal(t, []float32{9, 9, 9, 9, 4, 5, 6, 7, 9, 9, 9, 9}, list[float32](t, x.IndexPut([]*tensor.Tensor{rows}, tensor.From(d, []float32{9}), false)))
	failed = x.IndexPut([]*tensor.Tensor{tensor.From(d, []int64{3})}, src, false)
	require.Error(t, d.Synchronize())
	require.ErrorIs(t, failed.Err(), tensor.ErrIndex)
	require.ErrorIs(t, x.IndexPut(nil, src, false).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.IndexPut([]*tensor.Tensor{src}, src, false).Err(), tensor.ErrDType)
}

// The gradients of what writes by indices, with those of other formulas.
func init() {
	add := func(name string, low, high float64, f func(d *tensor.Device, ids, x, y ten) ten) {
		gradients = append(gradients, g2(name, low, high, func(x, y ten) ten {
			d := x.Device()
			return f(d, tensor.New(d, [][]int64{{0, 1, 0, 3}, {0, 0, 2, 3}, {1, 1, 1, -1}}), x, y)
		}))
	}
	for _, by := range []*tensor.ScatterBy{tensor.ScatterSum, tensor.ScatterProd, tensor.ScatterMean, tensor.ScatterMax, tensor.ScatterMin} {
		for name, self := range map[string]bool{" with self": true, " alone": false} {
			add(by.Name()+name, 0.5, 2, func(d *tensor.Device, ids, x, y ten) ten { return x.ScatterReduce(by, ids, y, 1, self).Sqr() })
		}
	}
	add("scatter_mul of zeros", 0.5, 2, func(d *tensor.Device, ids, x, y ten) ten {
		zero := tensor.New(d, [][]float64{{1, 0, 1, 0}, {0, 0, 1, 1}, {1, 1, 1, 1}})
		return x.Mul(zero.Flip(1)).ScatterReduce(tensor.ScatterProd, ids, y.Mul(zero), 1, true)
	})
	add("bincount of weights", -2, 2, func(d *tensor.Device, ids, x, y ten) ten { return ids.BincountOf(x.Mul(y), 4).Sqr() })
	add("masked scatter", -2, 2, func(d *tensor.Device, ids, x, y ten) ten { return x.MaskedScatter(ids.GtScalar(0), y).Sqr() })
	add("slice assign", -2, 2, func(d *tensor.Device, ids, x, y ten) ten {
		return x.SliceAssign(y.Narrow(0, 0, 2).Step(1, 2), tensor.SliceFrom(1), tensor.All.By(2)).Sqr()
	})
	add("index put", -2, 2, func(d *tensor.Device, ids, x, y ten) ten {
		rows := tensor.From(d, []int64{2, 0, 2})
		return x.IndexPut([]ten{rows}, y, false).Sqr().Add(x.IndexPut([]ten{rows, rows}, y.Get(1).Narrow(0, 0, 3), true).Sqr())
	})
}
