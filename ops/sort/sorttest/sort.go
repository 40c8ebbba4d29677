package sorttest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/runtime"
)

var sortShapes = []opstest.ReductionCase{
	{Shape: layout.Shape{1}, Dims: []int{0}}, {Shape: layout.Shape{7}, Dims: []int{0}}, {Shape: layout.Shape{33, 5}, Dims: []int{1}}, {Shape: layout.Shape{33, 5}, Dims: []int{0}}, {Shape: layout.Shape{3, 300}, Dims: []int{1}},
	{Shape: layout.Shape{2, 30, 5}, Dims: []int{1}}, {Shape: layout.Shape{3, 0}, Dims: []int{1}}, {Shape: layout.Shape{5, 1, 3}, Dims: []int{1}}, {Shape: layout.Shape{4, 1024}, Dims: []int{1}},
	{Shape: layout.Shape{1025}, Dims: []int{0}}, {Shape: layout.Shape{2, 5001}, Dims: []int{1}}, {Shape: layout.Shape{2000, 3}, Dims: []int{0}},
}

// RunSortKeys tests sorts of keys of different distributions, some of long rows.
func RunSortKeys(t *testing.T, dev *runtime.Device) {
	b := opstest.NewBench(dev)
	sortKeys(t, b)
	CheckSort(t, b, dtype.I64, opstest.ReductionCase{Shape: layout.Shape{17000}, Dims: []int{0}}, 0, true, 0)
	topK(t, b, dtype.F32, 1)
}

// Sort tests sorts, quantiles and the k largest elements.
func Sort(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for k := range 3 {
				CheckSort(t, b, d, sortShapes[b.Rand.IntN(len(sortShapes))], b.Kind(), k%2 == 0, 0)
			}
			CheckSort(t, b, d, sortShapes[10], b.Kind(), b.Rand.IntN(2) == 0, 0)
		}, "%v", d)
	}
	for _, f := range sortShapes {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			down := b.Rand.IntN(2) == 0
			CheckSort(t, b, dtype.F32, f, b.Kind(), down, 0)
			CheckSort(t, b, dtype.I32, f, b.Kind(), !down, b.Rand.IntN(4))
		}, "Shapes/%v", f)
	}
	for _, d := range dtype.All() {
		if b.Has(d) {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { topK(t, b, d, b.Kind()) }, "TopK/%v", d)
		}
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { sortKeys(t, b) }, "Keys")
	b.Part(t, func(t *testing.T, b *opstest.Bench) { strategies(t, b) }, "Strategies")
	b.Part(t, func(t *testing.T, b *opstest.Bench) { quantiles(t, b) }, "Quantile")
	t.Run("Quantiles", func(t *testing.T) { quantileErrors(t, b) })
	b.Part(t, func(t *testing.T, b *opstest.Bench) { sortCases(t, b) }, "Cases")
}

// topK tests the first elements of rows that fit no block, few enough for the
// rows not to be sorted.
func topK(t *testing.T, b *opstest.Bench, d dtype.DType, i int) {
	for k, f := range []opstest.ReductionCase{{Shape: layout.Shape{2, 9001}, Dims: []int{1}}, {Shape: layout.Shape{5, 2301}, Dims: []int{1}}, {Shape: layout.Shape{5003, 2}, Dims: []int{0}}, {Shape: layout.Shape{40000}, Dims: []int{0}}} {
		size := f.Shape[f.Dims[0]]
		keep := []int{1, 17, size / 4, 300}[(i+k)%4]
		CheckSort(t, b, d, f, i+k, (i+k)%2 == 0, size-keep)
	}
}

// CheckSort tests a sort of an operand in one of the kinds of layouts, of which all but drop
// are kept.
func CheckSort(t *testing.T, b *opstest.Bench, d dtype.DType, f opstest.ReductionCase, kind int, down bool, drop int) {
	t.Helper()
	sortOf(t, b, d, f, kind, down, drop, func() dtype.Scalar {
		if b.Rand.IntN(2) == 0 {
			return dtype.FromInt(d, int64(b.Rand.IntN(20))-10) // some are equal
		}
		return b.Number(d)
	})
}

// sortKeys tests rows of keys of different distributions: evenly over all bits or some,
// most of them next to each other and few far away, equal, and in order already.
func sortKeys(t *testing.T, b *opstest.Bench) {
	kinds := []struct {
		name string
		draw func() int64
	}{
		{"wide", func() int64 { return int64(b.Rand.Uint64()) }},
		{"41 bits", func() int64 { return b.Rand.Int64N(1<<41) - 1<<40 }},
		{"close", func() int64 {
			if b.Rand.IntN(16) == 0 {
				return b.Rand.Int64N(2)<<62 - 1<<61
			}
			return int64(b.Rand.IntN(1 << 12))
		}},
		{"equal", func() int64 { return 5 }},
		{"down", func() func() int64 { i := int64(0); return func() int64 { i--; return i } }()},
	}
	for i, d := range []dtype.DType{dtype.I64, dtype.F64, dtype.F32, dtype.I32} {
		if !b.Has(d) {
			continue
		}
		for k, n := range []int{20, 21, 70, 333, 2500} {
			kind := kinds[(i+k)%len(kinds)]
			sortOf(t, b, d, opstest.ReductionCase{Shape: layout.Shape{3, n}, Dims: []int{1}}, i+k, k%2 == 0, 0, func() dtype.Scalar { return dtype.FromInt(d, kind.draw()) })
		}
	}
	for i, kind := range kinds {
		if b.Has(dtype.I64) {
			sortOf(t, b, dtype.I64, opstest.ReductionCase{Shape: layout.Shape{2, 700}, Dims: []int{1}}, i, i%2 == 0, 0, func() dtype.Scalar { return dtype.FromInt(dtype.I64, kind.draw()) })
		}
	}
}

// sortOf is sort of numbers that are drawn.
func sortOf(t *testing.T, b *opstest.Bench, d dtype.DType, f opstest.ReductionCase, kind int, down bool, drop int, draw func() dtype.Scalar) {
	t.Helper()
	run := sort.Sort
	if drop > 0 {
		run = sort.TopK
	}
	require.NoError(t, sortBy(t, b, run, d, f, kind, down, drop, draw))
}

type sorter = func(s *runtime.Stream, values, indices, x ops.View, dim int, descending bool) error

// strategies tests rows of some lengths by each strategy, which may refuse them, but the last one.
func strategies(t *testing.T, b *opstest.Bench) {
	three := func() ops.View { return b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{3})).View }
	for i, name := range sort.SortStrategies() {
		by := func(s *runtime.Stream, values, indices, x ops.View, dim int, descending bool) error {
			return sort.SortBy(s, name, values, indices, x, dim, descending)
		}
		sorted := 0
		for k, n := range []int{1, 2, 33, 300, 1025, 5001} {
			f := opstest.ReductionCase{Shape: layout.Shape{3, n}, Dims: []int{1}}
			err := sortBy(t, b, by, dtype.F32, f, i+k, k%2 == 0, 0, func() dtype.Scalar { return b.Number(dtype.F32) })
			if err == nil {
				sorted++
			} else {
				require.ErrorIs(t, err, layout.ErrShape, name)
			}
		}
		if i == len(sort.SortStrategies())-1 {
			require.Equal(t, 6, sorted, "%s has to sort all rows", name)
		}
	}
	require.ErrorContains(t, sort.SortBy(b.Stream, "magic", three(), ops.View{}, three(), 0, false), `no strategy "magic"`)
}

// sortBy tests a sort by a function, whose error it returns.
func sortBy(t *testing.T, b *opstest.Bench, run sorter, d dtype.DType, f opstest.ReductionCase, kind int, down bool, drop int, draw func() dtype.Scalar) error {
	t.Helper()
	dim, err := layout.Dim(f.Dims[0], len(f.Shape))
	require.NoError(t, err)
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], f.Shape), draw)
	shape := slices.Clone(f.Shape)
	shape[dim] = max(0, shape[dim]-drop)
	values := b.Result(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+1)%4], shape))
	indices := b.Result(t, dtype.U32, opstest.LayoutOf(t, opstest.Kinds[(kind+2)%4], shape))
	if err := run(b.Stream, values.View, indices.View, x.View, f.Dims[0], down); err != nil {
		return err
	}
	v, at := b.Read(t, values), b.Read(t, indices)
	_, rows := opstest.Along(f.Shape, f.Dims)
	_, outs := opstest.Along(shape, f.Dims)
	for r, row := range rows {
		want := make([]int, len(row))
		for i := range want {
			want[i] = i
		}
		slices.SortStableFunc(want, func(i, j int) int {
			if down {
				i, j = j, i
			}
			return opstest.Order(x.Want[row[i]], x.Want[row[j]])
		})
		for k, i := range outs[r] {
			require.Equal(t, int64(want[k]), at[i].Int(), "%v of %v, down %v, row %d, index %d", f, d, down, r, k)
			require.Equal(t, x.Want[row[want[k]]].Bits(), v[i].Bits(), "%v of %v, down %v, row %d, value %d", f, d, down, r, k)
		}
	}
	return nil
}

func quantiles(t *testing.T, b *opstest.Bench) {
	for i, d := range []dtype.DType{dtype.F32, dtype.F32, dtype.BF16, dtype.F64, dtype.F32, dtype.F16, dtype.F64, dtype.F8E4M3, dtype.F32} {
		if !b.Has(d) {
			continue
		}
		f := []opstest.ReductionCase{{Shape: layout.Shape{9, 4}, Dims: []int{0}}, {Shape: layout.Shape{3, 1500}, Dims: []int{1}}, {Shape: layout.Shape{2, 4, 5}, Dims: []int{1}}, {Shape: layout.Shape{6, 70}, Dims: []int{-1}}, {Shape: layout.Shape{1}, Dims: []int{0}},
			{Shape: layout.Shape{5003, 3}, Dims: []int{0}}, {Shape: layout.Shape{2, 9001}, Dims: []int{1}}, {Shape: layout.Shape{2, 5001}, Dims: []int{-1}}, {Shape: layout.Shape{3, 2050, 2}, Dims: []int{1}}}[i]
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[i%len(opstest.Kinds)], f.Shape), func() dtype.Scalar { return b.Moderate(d) })
		shape, rows := opstest.Along(f.Shape, f.Dims)
		for _, q := range []float64{0, 0.25, 0.5, 1} {
			out := b.Result(t, d, opstest.LayoutOf(t, opstest.Kinds[(i+1)%4], shape))
			require.NoError(t, sort.Quantile(b.Stream, out.View, x.View, f.Dims[0], q))
			for r, got := range b.Read(t, out) {
				row := make([]float64, len(rows[r]))
				for k, at := range rows[r] {
					row[k] = x.Want[at].Float()
				}
				slices.Sort(row)
				at, frac := math.Modf(q * float64(len(row)-1))
				want := row[int(at)]
				if frac > 0 {
					want += (row[int(at)+1] - want) * frac
				}
				require.InDelta(t, want, got.Float(), opstest.ULP(d, want)+4*opstest.ULP(d.Compute(), 2), "%v, q %v, row %d", f, q, r)
			}
		}
	}
}

// quantileErrors are numbers that quantiles have none of, and NaN among elements.
func quantileErrors(t *testing.T, b *opstest.Bench) {
	long := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{2, 6000}), func() dtype.Scalar { return dtype.FromFloat(dtype.F32, math.Copysign(0, -1)) })
	lonely := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{2}))
	require.NoError(t, sort.Quantile(b.Stream, lonely.View, long.View, 1, 0.3))
	for _, x := range b.Read(t, lonely) {
		require.Zero(t, x.Bits(), "0 is not negative")
	}
	nan := b.Cycle(t, dtype.F32, layout.Shape{3, 3}, 1, math.NaN(), 2, 3, 1, math.Inf(1), math.Inf(-1), math.Inf(-1), 0)
	out := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{3, 1}))
	require.NoError(t, sort.Quantile(b.Stream, out.View, nan.View, 1, 0.5))
	got := b.Read(t, out)
	require.True(t, math.IsNaN(got[0].Float()))
	require.Equal(t, []float64{3, math.Inf(-1)}, []float64{got[1].Float(), got[2].Float()})
	require.ErrorContains(t, sort.Quantile(b.Stream, out.View, nan.View, 1, 1.5), "want 0 to 1")
	none := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{3, 0}), nil)
	require.ErrorIs(t, sort.Quantile(b.Stream, out.View, none.View, 1, 0.5), ops.ErrEmpty)
}

// sortCases are those that tensor libraries are compared by.
func sortCases(t *testing.T, b *opstest.Bench) {
	down := make([]float64, 2000)
	reversed := make([]float64, 2000)
	for i := range down {
		down[i], reversed[i] = float64(2000-i), float64(1999-i)
	}
	two := b.Cycle(t, dtype.F32, layout.Shape{2, 5}, 3, 1, 4, 1.1, 5, 2.1, 1, 7, 8, 2)
	row := b.Cycle(t, dtype.F32, layout.Shape{2, 3}, 0, 0, 0, 30, 10, 20)
	var err error
	row.Layout, err = row.Layout.Index(0, 1)
	require.NoError(t, err)
	for _, c := range []struct {
		number int
		x      *opstest.Value
		down   bool
		want   []float64
	}{
		{42, two, false, []float64{1, 3, 0, 2, 4, 1, 4, 0, 2, 3}},
		{42, two, true, []float64{4, 2, 0, 3, 1, 3, 2, 0, 4, 1}},
		{43, row, false, []float64{1, 2, 0}},
		{44, b.Cycle(t, dtype.F32, layout.Shape{2000}, down...), false, reversed},
	} {
		at := b.Result(t, dtype.U32, layout.Contiguous(c.x.Layout.Shape()))
		require.NoError(t, sort.Sort(b.Stream, ops.View{}, at.View, c.x.View, -1, c.down))
		for i, got := range b.Read(t, at) {
			require.Equal(t, c.want[i], got.Float(), "case %d, element %d", c.number, i)
		}
	}
	values := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{3}))
	require.NoError(t, sort.Sort(b.Stream, values.View, ops.View{}, row.View, 0, false))
	for i, got := range b.Read(t, values) {
		require.Equal(t, float64(i+1)*10, got.Float(), "case 43")
	}
	require.ErrorIs(t, sort.Sort(b.Stream, values.View, ops.View{}, two.View, 1, false), layout.ErrShape)
	require.ErrorIs(t, sort.Sort(b.Stream, ops.View{}, values.View, row.View, 0, false), ops.ErrDType)
	require.ErrorIs(t, sort.Sort(b.Stream, values.View, ops.View{}, row.View, 1, false), layout.ErrDim)
}
