package indextest

import (
	"math"
	"slices"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/ops/scatter/scattertest"
	"github.com/gokiln/kiln/runtime"
)

// Search tests what counts and searches, and scatters that combine elements.
func Search(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for n, s := range []layout.Shape{{7}, {3, 40}, {2, 3, 5}} {
				searchSorted(t, b, d, s, b.Kind(), n%2 == 0)
			}
			reduces(t, b, d, b.Kind())
			if d.IsInt() {
				bincount(t, b, d, b.Kind())
			} else {
				histc(t, b, d, b.Kind())
			}
		}, "%v", d)
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { scattertest.LongScatters(t, b) }, "Long")
	t.Run("Errors", func(t *testing.T) { searchErrors(t, b) })
}

func searchSorted(t *testing.T, b *opstest.Bench, d dtype.DType, s layout.Shape, kind int, right bool) {
	t.Helper()
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], s), func() dtype.Scalar { return b.Number(d) })
	lines := layout.Shape{50}
	if right && len(s) > 1 {
		lines = append(slices.Clone(s[:len(s)-1]), 50)
	}
	list := make([]dtype.Scalar, lines.Count())
	for i := range list {
		list[i] = b.Number(d)
		if i%3 == 0 { // equal ones
			list[i] = x.Want[i%len(x.Want)]
		}
	}
	for i := 0; i < len(list); i += 50 {
		slices.SortFunc(list[i:i+50], opstest.Order)
	}
	i := -1
	sorted := b.Value(t, d, layout.Contiguous(lines), func() dtype.Scalar { i++; return list[i] })
	out := b.Output(t, dtype.U32, s, kind+1)
	require.NoError(t, indexops.SearchSorted(b.Stream, out.View, x.View, sorted.View, right))
	for k, got := range b.Read(t, out) {
		line := list[:50]
		if len(lines) > 1 {
			from := k / s[len(s)-1] * 50
			line = list[from : from+50]
		}
		want := sort.Search(50, func(i int) bool {
			c := opstest.Order(line[i], x.Want[k])
			return c > 0 || !right && c == 0
		})
		require.Equal(t, int64(want), got.Int(), "%v in %v of %v, right %v, element %d", s, lines, d, right, k)
	}
}

// counters makes n of them, that begin with 1.
func counters(t *testing.T, b *opstest.Bench, n int) *opstest.Value {
	return b.Value(t, dtype.U32, layout.Contiguous(layout.Shape{n}), func() dtype.Scalar { return dtype.One(dtype.U32) })
}

func bincount(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for _, n := range []int{1, 100, 5000} {
		ids := indices(t, b, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], layout.Shape{5, 700}), n)
		counts := counters(t, b, n)
		require.NoError(t, indexops.Bincount(b.Stream, counts.View, ids.View))
		want := make([]int64, n)
		for _, i := range ids.Want {
			if i != opstest.NoIndex(d) {
				want[i.Int()]++
			}
		}
		for i, got := range b.Read(t, counts) {
			require.Equal(t, want[i]+1, got.Int(), "%v: count %d of %d", d, i, n)
		}
	}
	wrong := b.Of(t, d, layout.Shape{4}, 0, 1, 120, 1)
	counts := counters(t, b, 3)
	require.NoError(t, indexops.Bincount(b.Stream, counts.View, wrong.View))
	_ = b.Stream.Sync() // may report the error to another test that waits for the same stream
	err := counts.Buf.Err()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	require.ErrorContains(t, err, "bincount: index 120 at position 2 is out of range")
}

func histc(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	for _, n := range []int{1, 8, 5000} {
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], layout.Shape{7, 300}), func() dtype.Scalar {
			if b.Rand.IntN(10) == 0 {
				return dtype.FromFloat(d, []float64{-2, 2, math.NaN(), math.Inf(1), 5, -5}[b.Rand.IntN(6)])
			}
			return dtype.FromFloat(d, b.Rand.Float64()*6-3)
		})
		counts := counters(t, b, n)
		require.NoError(t, indexops.Histc(b.Stream, counts.View, x.View, -2, 2))
		want := make([]int64, n)
		for _, v := range x.Want {
			if v := v.Float(); v >= -2 && v <= 2 {
				at := int((v + 2) * float64(n) / 4)
				if d != dtype.F64 {
					at = int(float32(float32(v)+2) * float32(n) / 4)
				}
				want[min(at, n-1)]++
			}
		}
		for i, got := range b.Read(t, counts) {
			require.Equal(t, want[i]+1, got.Int(), "%v: bin %d of %d", d, i, n)
		}
	}
}

// reduces tests scatters that combine elements by every operation.
func reduces(t *testing.T, b *opstest.Bench, d dtype.DType, kind int) {
	t.Helper()
	small := func() dtype.Scalar { return dtype.FromInt(d, int64(1+b.Rand.IntN(2))) } // products are exact
	for n, c := range indexed {
		from := slices.Clone(c.shape)
		from[c.dim] = min(c.ids, 20)
		for k, by := range []*scatter.ScatterBy{scatter.ScatterSum, scatter.ScatterProd, scatter.ScatterMax, scatter.ScatterMin, scatter.ScatterMean} {
			self := (k+n+kind)%2 == 0
			src := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], from), small)
			ids := indices(t, b, dtype.Ints()[(kind+k)%5], opstest.LayoutOf(t, opstest.Kinds[(kind+n+k)%len(opstest.Kinds)], from), c.shape[c.dim])
			out := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%4], c.shape), small)
			at := make([][]float64, len(out.Want))
			opstest.EachIndex(from, func(p []int) {
				id := ids.Want[opstest.FlatIndex(from, p)]
				if id == opstest.NoIndex(id.DType()) {
					return
				}
				to := slices.Clone(p)
				to[c.dim] = int(id.Int())
				i := opstest.FlatIndex(c.shape, to)
				at[i] = append(at[i], src.Want[opstest.FlatIndex(from, p)].Float())
			})
			require.NoError(t, scatter.ScatterReduce(b.Stream, by, out.View, ids.View, src.View, c.dim, self))
			for i, got := range b.Read(t, out) {
				want := scattertest.Combined(by, at[i], out.Want[i].Float(), self)
				if d.IsInt() {
					want = math.Trunc(want)
					require.Equal(t, dtype.FromBits(d, uint64(int64(want))).Int(), got.Int(), "%s of %v, %v, self %v", by.Name(), d, c, self)
				} else {
					require.NoError(t, opstest.Near(got, dtype.FromFloat(d, want), 2), "%s of %v, %v, self %v", by.Name(), d, c, self)
				}
			}
		}
	}
}

// searchErrors are operands that do not fit.
func searchErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	x, out := view(dtype.F32, 4, 8), view(dtype.U32, 4, 8)
	require.ErrorIs(t, indexops.SearchSorted(b.Stream, out, x, view(dtype.F32, 3, 8), false), layout.ErrShape)
	require.ErrorIs(t, indexops.SearchSorted(b.Stream, out, x, view(dtype.I32, 8), false), ops.ErrDType)
	require.ErrorIs(t, indexops.SearchSorted(b.Stream, x, x, view(dtype.F32, 8), false), ops.ErrDType)
	require.ErrorIs(t, indexops.Bincount(b.Stream, view(dtype.U32, 8), x), ops.ErrDType)
	require.ErrorIs(t, indexops.Bincount(b.Stream, out, view(dtype.I32, 8)), layout.ErrShape)
	require.ErrorIs(t, indexops.Histc(b.Stream, view(dtype.U32, 8), view(dtype.I32, 8), 0, 1), ops.ErrDType)
	require.ErrorContains(t, indexops.Histc(b.Stream, view(dtype.U32, 8), x, 1, 1), "want two numbers")
	require.ErrorIs(t, scatter.ScatterReduce(b.Stream, scatter.ScatterMax, x, view(dtype.F32, 4, 8), x, 0, true), ops.ErrDType)
}
