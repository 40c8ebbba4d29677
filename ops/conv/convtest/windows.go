package convtest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// windowed are images, and the windows over them.
var windowed = []struct {
	x       layout.Shape
	windows conv.Windows
}{
	{layout.Shape{2, 3, 9}, conv.Windows{Kernel: []int{3}}},
	{layout.Shape{2, 50}, conv.Windows{Kernel: []int{4}, Stride: []int{3}, Padding: []int{2}, Dilation: []int{2}}},
	{layout.Shape{2, 2, 5, 6}, conv.Windows{Kernel: []int{3, 2}, Padding: []int{1, 0}}},
	{layout.Shape{3, 7, 40}, conv.Windows{Kernel: []int{2, 3}, Stride: []int{2, 1}, Padding: []int{1, 3}, Dilation: []int{3, 2}}},
	{layout.Shape{1, 2, 2, 4, 4}, conv.Windows{Kernel: []int{2, 2}, Stride: []int{2, 3}}},
	{layout.Shape{0, 2, 4, 4}, conv.Windows{Kernel: []int{2, 2}}},
}

// window tests windows of images and back.
func window(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for n, c := range windowed {
		shape, err := c.windows.Shape(c.x)
		require.NoError(t, err)
		draw := func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(7))-2) }
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.x), draw)
		taken := b.Output(t, d, shape, kind)
		require.NoError(t, conv.Im2col(b.Stream, taken.View, x.View, c.windows))
		columns := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+2*n+1)%len(opstest.Kinds)], shape), draw)
		added := b.Output(t, d, c.x, kind+n)
		require.NoError(t, conv.Col2im(b.Stream, added.View, columns.View, c.windows))
		want, sums := make([]dtype.Scalar, shape.Count()), make([]int64, c.x.Count())
		eachWindow(c.windows, c.x, func(column, element int) {
			want[column] = dtype.Zero(d)
			if element >= 0 {
				want[column] = x.Want[element]
				sums[element] += columns.Want[column].Int()
			}
		})
		require.NoError(t, opstest.Compare(b.Read(t, taken), want, 0), "%v of %+v", x.Layout, c.windows)
		for i, got := range b.Read(t, added) {
			require.Equal(t, dtype.FromInt(d, sums[i]), got, "%v to %v of %+v, element %d", columns.Layout, c.x, c.windows, i)
		}
	}
}

// eachWindow calls f for every element of every column with which element of the images it is,
// -1 for padding.
func eachWindow(p conv.Windows, x layout.Shape, f func(column, element int)) {
	lead, axes := len(x)-len(p.Kernel)-1, len(p.Kernel)
	counts, _ := p.Counts(x[lead+1:]...)
	column := 0
	opstest.EachIndex(slices.Concat(x[:lead+1], p.Kernel, counts), func(at []int) {
		from, inside := slices.Clone(at[:lead+1]), true
		for d := range axes {
			i := at[lead+1+axes+d]*axisOf(p.Stride, d, 1) + at[lead+1+d]*axisOf(p.Dilation, d, 1) - axisOf(p.Padding, d, 0)
			inside = inside && i >= 0 && i < x[lead+1+d]
			from = append(from, i)
		}
		if inside {
			f(column, opstest.FlatIndex(x, from))
		} else {
			f(column, -1)
		}
		column++
	})
}

// windowErrors are operands that do not fit.
func windowErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f, two := dtype.F32, conv.Windows{Kernel: []int{2, 2}}
	x, columns := view(f, 3, 4, 4), b.Output(t, f, layout.Shape{12, 9}, 0).View
	require.NoError(t, conv.Im2col(b.Stream, columns, x, two))
	for _, c := range []struct {
		columns, x ops.View
		windows    conv.Windows
		kind       error
	}{
		{columns, x, conv.Windows{}, layout.ErrRank},
		{columns, x, conv.Windows{Kernel: []int{2, 2, 2}}, layout.ErrRank},
		{columns, view(f, 4, 4), two, layout.ErrRank},
		{columns, x, conv.Windows{Kernel: []int{2, 2}, Stride: []int{1}}, layout.ErrRank},
		{columns, x, conv.Windows{Kernel: []int{2, 2}, Dilation: []int{0, 1}}, layout.ErrShape},
		{columns, x, conv.Windows{Kernel: []int{2, 5}}, layout.ErrShape},
		{view(f, 12, 8), x, two, layout.ErrShape},
		{view(dtype.F16, 12, 9), x, two, ops.ErrDType},
		{view(dtype.I32, 12, 9), x, two, ops.ErrDType},
	} {
		require.ErrorIs(t, conv.Im2col(b.Stream, c.columns, c.x, c.windows), c.kind)
		require.ErrorIs(t, conv.Col2im(b.Stream, c.x, c.columns, c.windows), c.kind)
	}
}
