package convtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// adaptives are inputs, and to how many windows they are pooled.
var adaptives = []struct {
	from, to layout.Shape
	dims     int
}{
	{layout.Shape{3, 2, 10}, layout.Shape{3, 2, 4}, 1},
	{layout.Shape{2, 5, 7}, layout.Shape{2, 5, 9}, 1},
	{layout.Shape{2, 3, 7, 5}, layout.Shape{2, 3, 3, 2}, 2},
	{layout.Shape{1, 2, 4, 40}, layout.Shape{1, 2, 5, 33}, 2},
	{layout.Shape{4, 6}, layout.Shape{1, 1}, 2},
	{layout.Shape{2, 4, 4}, layout.Shape{2, 0, 3}, 2},
}

func adaptive(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, c := range adaptives {
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.from), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(60))-20) })
		mean, most, which := b.Output(t, d, c.to, kind), b.Output(t, d, c.to, kind+1), b.Output(t, dtype.I64, c.to, kind+n)
		require.NoError(t, conv.AdaptiveAvgPool(b.Stream, mean.View, x.View, c.dims))
		require.NoError(t, conv.AdaptiveMaxPool(b.Stream, most.View, which.View, x.View, c.dims))
		means, mosts, places, i := b.Read(t, mean), b.Read(t, most), b.Read(t, which), 0
		opstest.EachIndex(c.to, func(at []int) {
			list, where := cut(c.from, c.to, c.dims, at)
			sum, best := 0.0, 0
			for k, from := range list {
				v := x.Want[from].Float()
				sum += v
				if v > x.Want[list[best]].Float() {
					best = k
				}
			}
			want := dtype.FromFloat(d, sum/float64(len(list)))
			if d.IsInt() { // the sum wraps
				want = dtype.FromInt(d, dtype.FromBits(d, uint64(int64(sum))).Int()/int64(len(list)))
			}
			require.NoError(t, opstest.Near(means[i], want, 1), "%v to %v: mean %v", x.Layout, c.to, at)
			require.Equal(t, x.Want[list[best]], mosts[i], "%v to %v: %v", x.Layout, c.to, at)
			require.Equal(t, int64(where[best]), places[i].Int(), "%v to %v: %v", x.Layout, c.to, at)
			i++
		})
	}
}

// cut returns the elements of an input in the window of a result, and where they are in the
// last dimensions.
func cut(x, out layout.Shape, dims int, at []int) (list, where []int) {
	lead := len(x) - dims
	sizes := make([]int, dims)
	for d := range sizes {
		i, n, m := at[lead+d], x[lead+d], out[lead+d]
		sizes[d] = ((i+1)*n+m-1)/m - i*n/m
	}
	opstest.EachIndex(sizes, func(k []int) {
		from := append([]int{}, at[:lead]...)
		for d := range k {
			from = append(from, at[lead+d]*x[lead+d]/out[lead+d]+k[d])
		}
		list, where = append(list, opstest.FlatIndex(x, from)), append(where, opstest.FlatIndex(x[lead:], from[lead:]))
	})
	return list, where
}

// adaptiveErrors are operands that do not fit.
func adaptiveErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	x := view(f, 2, 4, 4)
	require.ErrorIs(t, conv.AdaptiveAvgPool(b.Stream, view(f, 2, 4), x, 1), layout.ErrRank)
	require.ErrorIs(t, conv.AdaptiveAvgPool(b.Stream, view(f, 2, 3, 3), x, 3), layout.ErrRank)
	require.ErrorIs(t, conv.AdaptiveAvgPool(b.Stream, view(f, 3, 3, 3), x, 2), layout.ErrShape)
	require.ErrorIs(t, conv.AdaptiveAvgPool(b.Stream, view(dtype.F16, 2, 3, 3), x, 2), ops.ErrDType)
	require.ErrorIs(t, conv.AdaptiveAvgPool(b.Stream, view(f, 2, 1, 3), view(f, 2, 0, 3), 2), layout.ErrShape)
	require.ErrorIs(t, conv.UpsampleBicubic(b.Stream, view(f, 3), view(f, 4), conv.Bilinear{}), layout.ErrRank)
	require.ErrorIs(t, conv.UpsampleBicubic(b.Stream, view(dtype.I32, 3, 3), view(dtype.I32, 2, 2), conv.Bilinear{}), ops.ErrDType)
	require.ErrorIs(t, conv.AdaptiveMaxPool(b.Stream, view(f, 2, 3, 3), view(dtype.I32, 2, 3, 3), x, 2), ops.ErrDType)
	require.ErrorIs(t, conv.AdaptiveMaxPool(b.Stream, view(f, 2, 3, 3), view(dtype.I64, 2, 3, 2), x, 2), layout.ErrShape)
}

// bicubic tests the resizing of a value by the formula of the weights.
func bicubic(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, c := range []struct {
		from, to layout.Shape
		bicubic  conv.Bilinear
	}{
		{layout.Shape{2, 4, 6}, layout.Shape{2, 9, 4}, conv.Bilinear{}},
		{layout.Shape{1, 2, 3, 7}, layout.Shape{1, 2, 6, 40}, conv.Bilinear{AlignCorners: true}},
		{layout.Shape{5, 4}, layout.Shape{7, 9}, conv.Bilinear{Scale: [2]float64{1.5, 2.4}}},
		{layout.Shape{1, 3}, layout.Shape{1, 1}, conv.Bilinear{AlignCorners: true}},
		{layout.Shape{2, 3, 3}, layout.Shape{2, 0, 5}, conv.Bilinear{}},
	} {
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.from), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(30))-10) })
		out := b.Output(t, d, c.to, kind)
		require.NoError(t, conv.UpsampleBicubic(b.Stream, out.View, x.View, c.bicubic))
		got, i, lead := b.Read(t, out), 0, len(c.to)-2
		opstest.EachIndex(c.to, func(at []int) {
			sum := 0.0
			for _, p := range cubicCorners(at[lead], c.from[lead], c.to[lead], c.bicubic, 0) {
				for _, q := range cubicCorners(at[lead+1], c.from[lead+1], c.to[lead+1], c.bicubic, 1) {
					from := append(append([]int{}, at[:lead]...), p.at, q.at)
					sum += p.weight * q.weight * x.Want[opstest.FlatIndex(c.from, from)].Float()
				}
			}
			tolerance := 2e-4
			if d.Bits() < 32 {
				tolerance += opstest.ULP(d, sum)
			}
			require.InDelta(t, sum, got[i].Float(), tolerance, "%v to %v: %v", c.from, c.to, at)
			i++
		})
	}
}

// cubicCorners returns the four elements around a position.
func cubicCorners(i, n, m int, b conv.Bilinear, axis int) (list [4]corner) {
	scale := float64(n) / float64(m)
	if b.Scale[axis] > 0 {
		scale = 1 / b.Scale[axis]
	}
	at := (float64(i)+0.5)*scale - 0.5
	if b.AlignCorners {
		at = float64(i) * float64(n-1) / float64(max(m-1, 1))
	}
	first := math.Floor(at)
	for k := range list {
		const a = -0.75
		x := math.Abs(at - first + 1 - float64(k))
		w := ((a*x-5*a)*x+8*a)*x - 4*a
		if x <= 1 {
			w = ((a+2)*x-(a+3))*x*x + 1
		}
		list[k] = corner{min(max(int(first)+k-1, 0), n-1), w}
	}
	return list
}
