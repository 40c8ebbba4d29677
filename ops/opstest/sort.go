package opstest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/runtime"
)

var sortShapes = []fold{
	{layout.Shape{1}, []int{0}}, {layout.Shape{7}, []int{0}}, {layout.Shape{33, 5}, []int{1}}, {layout.Shape{33, 5}, []int{0}}, {layout.Shape{3, 300}, []int{1}},
	{layout.Shape{2, 30, 5}, []int{1}}, {layout.Shape{3, 0}, []int{1}}, {layout.Shape{5, 1, 3}, []int{1}}, {layout.Shape{4, 1024}, []int{1}},
	{layout.Shape{1025}, []int{0}}, {layout.Shape{2, 5001}, []int{1}}, {layout.Shape{2000, 3}, []int{0}},
}

// order compares two numbers as sorting does: NaN is larger than all, and equal to NaN.
func order(a, b dtype.Scalar) int {
	if a.DType().IsInt() {
		return cmp.Compare(a.Int(), b.Int())
	}
	x, y := a.Float(), b.Float()
	switch {
	case x != x && y != y:
		return 0
	case x != x:
		return 1
	case y != y:
		return -1
	}
	return cmp.Compare(x+0, y+0)
}

// RunSorts tests sorts alone, and such of many tiles.
func RunSorts(t *testing.T, dev *runtime.Device) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	sorting(t, b)
	for i, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.F64, dtype.U8} {
		if b.has(d) {
			b.sort(t, d, fold{layout.Shape{30001}, []int{0}}, 0, i%2 == 0, i%2)
			b.sort(t, d, fold{layout.Shape{3, 9000}, []int{1}}, i, i%2 != 0, 5000*(i%2))
		}
	}
	b.longScatters(t)
}

// RunSortKeys tests sorts of keys that are apart in different ways, some of long rows.
func RunSortKeys(t *testing.T, dev *runtime.Device) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	b.sortKeys(t)
	b.sort(t, dtype.I64, fold{layout.Shape{17000}, []int{0}}, 0, true, 0)
	b.topK(t, dtype.F32, 1)
}

func sorting(t *testing.T, b *bench) {
	n := 0
	for _, d := range dtype.All() {
		if !b.has(d) {
			continue
		}
		first := n
		n += 3
		b.part(t, func(t *testing.T, b *bench) {
			for k := first + 1; k <= first+3; k++ {
				b.sort(t, d, sortShapes[k%len(sortShapes)], k, k%2 == 0, 0)
			}
			b.sort(t, d, sortShapes[10], first, first%3 == 0, 0)
		}, "%v", d)
	}
	for i, f := range sortShapes {
		b.part(t, func(t *testing.T, b *bench) {
			b.sort(t, dtype.F32, f, i, i%2 == 0, 0)
			b.sort(t, dtype.I32, f, i+1, i%2 != 0, i%4)
		}, "Shapes/%v", f)
	}
	for i, d := range dtype.All() {
		if b.has(d) {
			b.part(t, func(t *testing.T, b *bench) { b.topK(t, d, i) }, "TopK/%v", d)
		}
	}
	b.part(t, func(t *testing.T, b *bench) { b.sortKeys(t) }, "Keys")
	b.part(t, func(t *testing.T, b *bench) { b.quantiles(t) }, "Quantile")
	t.Run("Quantiles", b.quantileErrors)
	t.Run("Cases", b.sortCases)
}

// topK tests the first elements of rows that no block has room for, few enough for the
// rows not to be sorted.
func (b *bench) topK(t *testing.T, d dtype.DType, i int) {
	for k, f := range []fold{{layout.Shape{2, 9001}, []int{1}}, {layout.Shape{5, 2301}, []int{1}}, {layout.Shape{5003, 2}, []int{0}}, {layout.Shape{40000}, []int{0}}} {
		size := f.shape[f.dims[0]]
		keep := []int{1, 17, size / 4, 300}[(i+k)%4]
		b.sort(t, d, f, i+k, (i+k)%2 == 0, size-keep)
	}
}

// sort tests a sort of an operand in one of the kinds of layouts, of which all but drop
// are kept.
func (b *bench) sort(t *testing.T, d dtype.DType, f fold, kind int, down bool, drop int) {
	t.Helper()
	b.sortOf(t, d, f, kind, down, drop, func() dtype.Scalar {
		if b.rng.IntN(2) == 0 {
			return dtype.FromInt(d, int64(b.rng.IntN(20))-10) // some are equal
		}
		return b.number(d)
	})
}

// sortKeys tests rows of keys that are apart in different ways: evenly over all bits or some,
// most of them next to each other and few far away, equal, and in order already.
func (b *bench) sortKeys(t *testing.T) {
	kinds := []struct {
		name string
		draw func() int64
	}{
		{"wide", func() int64 { return int64(b.rng.Uint64()) }},
		{"41 bits", func() int64 { return b.rng.Int64N(1<<41) - 1<<40 }},
		{"close", func() int64 {
			if b.rng.IntN(16) == 0 {
				return b.rng.Int64N(2)<<62 - 1<<61
			}
			return int64(b.rng.IntN(1 << 12))
		}},
		{"equal", func() int64 { return 5 }},
		{"down", func() func() int64 { i := int64(0); return func() int64 { i--; return i } }()},
	}
	for i, d := range []dtype.DType{dtype.I64, dtype.F64, dtype.F32, dtype.I32} {
		if !b.has(d) {
			continue
		}
		for k, n := range []int{20, 21, 70, 333, 2500} {
			kind := kinds[(i+k)%len(kinds)]
			b.sortOf(t, d, fold{layout.Shape{3, n}, []int{1}}, i+k, k%2 == 0, 0, func() dtype.Scalar { return dtype.FromInt(d, kind.draw()) })
		}
	}
	for i, kind := range kinds {
		if b.has(dtype.I64) {
			b.sortOf(t, dtype.I64, fold{layout.Shape{2, 700}, []int{1}}, i, i%2 == 0, 0, func() dtype.Scalar { return dtype.FromInt(dtype.I64, kind.draw()) })
		}
	}
}

// sortOf is sort of numbers that are drawn.
func (b *bench) sortOf(t *testing.T, d dtype.DType, f fold, kind int, down bool, drop int, draw func() dtype.Scalar) {
	t.Helper()
	dim, err := layout.Dim(f.dims[0], len(f.shape))
	require.NoError(t, err)
	x := b.value(t, d, layoutOf(t, kinds[kind%len(kinds)], f.shape), draw)
	shape := slices.Clone(f.shape)
	shape[dim] = max(0, shape[dim]-drop)
	values := b.result(t, d, layoutOf(t, kinds[(kind+1)%4], shape))
	indices := b.result(t, dtype.U32, layoutOf(t, kinds[(kind+2)%4], shape))
	run := sort.Sort
	if drop > 0 {
		run = sort.TopK
	}
	require.NoError(t, run(b.s, values.View, indices.View, x.View, f.dims[0], down))
	v, at := b.read(t, values), b.read(t, indices)
	_, rows := along(f.shape, f.dims)
	_, outs := along(shape, f.dims)
	for r, row := range rows {
		want := make([]int, len(row))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(i, j int) int {
			if down {
				i, j = j, i
			}
			return order(x.want[row[i]], x.want[row[j]])
		})
		for k, i := range outs[r] {
			require.Equal(t, int64(want[k]), at[i].Int(), "%v of %v, down %v, row %d, index %d", f, d, down, r, k)
			require.Equal(t, x.want[row[want[k]]].Bits(), v[i].Bits(), "%v of %v, down %v, row %d, value %d", f, d, down, r, k)
		}
	}
}

func (b *bench) quantiles(t *testing.T) {
	for i, d := range []dtype.DType{dtype.F32, dtype.F32, dtype.BF16, dtype.F64, dtype.F32, dtype.F16, dtype.F64, dtype.F8E4M3, dtype.F32} {
		if !b.has(d) {
			continue
		}
		f := []fold{{layout.Shape{9, 4}, []int{0}}, {layout.Shape{3, 1500}, []int{1}}, {layout.Shape{2, 4, 5}, []int{1}}, {layout.Shape{6, 70}, []int{-1}}, {layout.Shape{1}, []int{0}},
			{layout.Shape{5003, 3}, []int{0}}, {layout.Shape{2, 9001}, []int{1}}, {layout.Shape{2, 5001}, []int{-1}}, {layout.Shape{3, 2050, 2}, []int{1}}}[i]
		x := b.value(t, d, layoutOf(t, kinds[i%len(kinds)], f.shape), func() dtype.Scalar { return b.moderate(d) })
		shape, rows := along(f.shape, f.dims)
		for _, q := range []float64{0, 0.25, 0.5, 1} {
			out := b.result(t, d, layoutOf(t, kinds[(i+1)%4], shape))
			require.NoError(t, sort.Quantile(b.s, out.View, x.View, f.dims[0], q))
			for r, got := range b.read(t, out) {
				row := make([]float64, len(rows[r]))
				for k, at := range rows[r] {
					row[k] = x.want[at].Float()
				}
				slices.Sort(row)
				at, frac := math.Modf(q * float64(len(row)-1))
				want := row[int(at)]
				if frac > 0 {
					want += (row[int(at)+1] - want) * frac
				}
				require.InDelta(t, want, got.Float(), ulp(d, want)+4*ulp(d.Compute(), 2), "%v, q %v, row %d", f, q, r)
			}
		}
	}
}

// quantileErrors are numbers that quantiles have none of, and NaN among elements.
func (b *bench) quantileErrors(t *testing.T) {
	long := b.value(t, dtype.F32, layout.Contiguous(layout.Shape{2, 6000}), func() dtype.Scalar { return dtype.FromFloat(dtype.F32, math.Copysign(0, -1)) })
	lonely := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{2}))
	require.NoError(t, sort.Quantile(b.s, lonely.View, long.View, 1, 0.3))
	for _, x := range b.read(t, lonely) {
		require.Zero(t, x.Bits(), "0 is not negative")
	}
	nan := b.numbers(t, dtype.F32, layout.Shape{3, 3}, 1, math.NaN(), 2, 3, 1, math.Inf(1), math.Inf(-1), math.Inf(-1), 0)
	out := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{3, 1}))
	require.NoError(t, sort.Quantile(b.s, out.View, nan.View, 1, 0.5))
	got := b.read(t, out)
	require.True(t, math.IsNaN(got[0].Float()))
	require.Equal(t, []float64{3, math.Inf(-1)}, []float64{got[1].Float(), got[2].Float()})
	require.ErrorContains(t, sort.Quantile(b.s, out.View, nan.View, 1, 1.5), "want 0 to 1")
	none := b.value(t, dtype.F32, layout.Contiguous(layout.Shape{3, 0}), nil)
	require.ErrorIs(t, sort.Quantile(b.s, out.View, none.View, 1, 0.5), ops.ErrEmpty)
}

// sortCases are those that tensor libraries are compared by.
func (b *bench) sortCases(t *testing.T) {
	down := make([]float64, 2000)
	reversed := make([]float64, 2000)
	for i := range down {
		down[i], reversed[i] = float64(2000-i), float64(1999-i)
	}
	two := b.numbers(t, dtype.F32, layout.Shape{2, 5}, 3, 1, 4, 1.1, 5, 2.1, 1, 7, 8, 2)
	row := b.numbers(t, dtype.F32, layout.Shape{2, 3}, 0, 0, 0, 30, 10, 20)
	var err error
	row.Layout, err = row.Layout.Index(0, 1)
	require.NoError(t, err)
	for _, c := range []struct {
		number int
		x      *value
		down   bool
		want   []float64
	}{
		{42, two, false, []float64{1, 3, 0, 2, 4, 1, 4, 0, 2, 3}},
		{42, two, true, []float64{4, 2, 0, 3, 1, 3, 2, 0, 4, 1}},
		{43, row, false, []float64{1, 2, 0}},
		{44, b.numbers(t, dtype.F32, layout.Shape{2000}, down...), false, reversed},
	} {
		at := b.result(t, dtype.U32, layout.Contiguous(c.x.Layout.Shape()))
		require.NoError(t, sort.Sort(b.s, ops.View{}, at.View, c.x.View, -1, c.down))
		for i, got := range b.read(t, at) {
			require.Equal(t, c.want[i], got.Float(), "case %d, element %d", c.number, i)
		}
	}
	values := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{3}))
	require.NoError(t, sort.Sort(b.s, values.View, ops.View{}, row.View, 0, false))
	for i, got := range b.read(t, values) {
		require.Equal(t, float64(i+1)*10, got.Float(), "case 43")
	}
	require.ErrorIs(t, sort.Sort(b.s, values.View, ops.View{}, two.View, 1, false), layout.ErrShape)
	require.ErrorIs(t, sort.Sort(b.s, ops.View{}, values.View, row.View, 0, false), ops.ErrDType)
	require.ErrorIs(t, sort.Sort(b.s, values.View, ops.View{}, row.View, 1, false), layout.ErrDim)
}
