package opstest

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
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/runtime"
)

// searching tests what counts and searches, and scatters that combine elements.
func searching(t *testing.T, b *bench) {
	for i, d := range dtype.All() {
		if !b.has(d) {
			continue
		}
		t.Run(d.String(), func(t *testing.T) {
			for n, s := range []layout.Shape{{7}, {3, 40}, {2, 3, 5}} {
				b.searchSorted(t, d, s, i+n, n%2 == 0)
			}
			b.reduces(t, d, i)
			if d.IsInt() {
				b.bincount(t, d, i)
			} else {
				b.histc(t, d, i)
			}
		})
	}
	t.Run("Long", func(t *testing.T) { b.longScatters(t) })
	t.Run("Errors", func(t *testing.T) { searchErrors(t, b) })
}

func (b *bench) searchSorted(t *testing.T, d dtype.DType, s layout.Shape, kind int, right bool) {
	t.Helper()
	x := b.value(t, d, layoutOf(t, kinds[kind%len(kinds)], s), func() dtype.Scalar { return b.number(d) })
	lines := layout.Shape{50}
	if right && len(s) > 1 {
		lines = append(slices.Clone(s[:len(s)-1]), 50)
	}
	list := make([]dtype.Scalar, lines.Count())
	for i := range list {
		list[i] = b.number(d)
		if i%3 == 0 { // equal ones
			list[i] = x.want[i%len(x.want)]
		}
	}
	for i := 0; i < len(list); i += 50 {
		slices.SortFunc(list[i:i+50], order)
	}
	i := -1
	sorted := b.value(t, d, layout.Contiguous(lines), func() dtype.Scalar { i++; return list[i] })
	out := b.room(t, dtype.U32, s, kind+1)
	require.NoError(t, indexops.SearchSorted(b.s, out.View, x.View, sorted.View, right))
	for k, got := range b.read(t, out) {
		line := list[:50]
		if len(lines) > 1 {
			from := k / s[len(s)-1] * 50
			line = list[from : from+50]
		}
		want := sort.Search(50, func(i int) bool {
			c := order(line[i], x.want[k])
			return c > 0 || !right && c == 0
		})
		require.Equal(t, int64(want), got.Int(), "%v in %v of %v, right %v, element %d", s, lines, d, right, k)
	}
}

// counters makes n of them, that begin with 1.
func (b *bench) counters(t *testing.T, n int) *value {
	return b.value(t, dtype.U32, layout.Contiguous(layout.Shape{n}), func() dtype.Scalar { return dtype.One(dtype.U32) })
}

func (b *bench) bincount(t *testing.T, d dtype.DType, kind int) {
	t.Helper()
	for _, n := range []int{1, 100, 5000} {
		ids := b.ids(t, d, layoutOf(t, kinds[kind%len(kinds)], layout.Shape{5, 700}), n)
		counts := b.counters(t, n)
		require.NoError(t, indexops.Bincount(b.s, counts.View, ids.View))
		want := make([]int64, n)
		for _, i := range ids.want {
			if i != none(d) {
				want[i.Int()]++
			}
		}
		for i, got := range b.read(t, counts) {
			require.Equal(t, want[i]+1, got.Int(), "%v: count %d of %d", d, i, n)
		}
	}
	wrong := b.of(t, d, layout.Shape{4}, 0, 1, 120, 1)
	require.NoError(t, indexops.Bincount(b.s, b.counters(t, 3).View, wrong.View))
	err := b.s.Sync()
	require.ErrorIs(t, err, runtime.ErrLaunch)
	require.ErrorContains(t, err, "bincount: index 120 at position 2 is out of range")
}

func (b *bench) histc(t *testing.T, d dtype.DType, kind int) {
	t.Helper()
	for _, n := range []int{1, 8, 5000} {
		x := b.value(t, d, layoutOf(t, kinds[kind%len(kinds)], layout.Shape{7, 300}), func() dtype.Scalar {
			if b.rng.IntN(10) == 0 {
				return dtype.FromFloat(d, []float64{-2, 2, math.NaN(), math.Inf(1), 5, -5}[b.rng.IntN(6)])
			}
			return dtype.FromFloat(d, b.rng.Float64()*6-3)
		})
		counts := b.counters(t, n)
		require.NoError(t, indexops.Histc(b.s, counts.View, x.View, -2, 2))
		want := make([]int64, n)
		for _, v := range x.want {
			if v := v.Float(); v >= -2 && v <= 2 {
				at := int((v + 2) * float64(n) / 4)
				if d != dtype.F64 {
					at = int(float32(float32(v)+2) * float32(n) / 4)
				}
				want[min(at, n-1)]++
			}
		}
		for i, got := range b.read(t, counts) {
			require.Equal(t, want[i]+1, got.Int(), "%v: bin %d of %d", d, i, n)
		}
	}
}

// reduces tests scatters that combine elements in all ways.
func (b *bench) reduces(t *testing.T, d dtype.DType, kind int) {
	t.Helper()
	small := func() dtype.Scalar { return dtype.FromInt(d, int64(1+b.rng.IntN(2))) } // products are exact
	for n, c := range indexed {
		from := slices.Clone(c.shape)
		from[c.dim] = min(c.ids, 20)
		for k, by := range []*scatter.ScatterBy{scatter.ScatterSum, scatter.ScatterProd, scatter.ScatterMax, scatter.ScatterMin, scatter.ScatterMean} {
			self := (k+n+kind)%2 == 0
			src := b.value(t, d, layoutOf(t, kinds[(kind+n)%len(kinds)], from), small)
			ids := b.ids(t, dtype.Ints()[(kind+k)%5], layoutOf(t, kinds[(kind+n+k)%len(kinds)], from), c.shape[c.dim])
			out := b.value(t, d, layoutOf(t, kinds[(kind+n)%4], c.shape), small)
			at := make([][]float64, len(out.want))
			space(from, func(p []int) {
				id := ids.want[flatIndex(from, p)]
				if id == none(id.DType()) {
					return
				}
				to := slices.Clone(p)
				to[c.dim] = int(id.Int())
				i := flatIndex(c.shape, to)
				at[i] = append(at[i], src.want[flatIndex(from, p)].Float())
			})
			require.NoError(t, scatter.ScatterReduce(b.s, by, out.View, ids.View, src.View, c.dim, self))
			for i, got := range b.read(t, out) {
				want := combined(by, at[i], out.want[i].Float(), self)
				if d.IsInt() {
					want = math.Trunc(want)
					require.Equal(t, dtype.FromBits(d, uint64(int64(want))).Int(), got.Int(), "%s of %v, %v, self %v", by.Name(), d, c, self)
				} else {
					require.NoError(t, near(got, dtype.FromFloat(d, want), 2), "%s of %v, %v, self %v", by.Name(), d, c, self)
				}
			}
		}
	}
}

func combined(by *scatter.ScatterBy, list []float64, was float64, self bool) float64 {
	if len(list) == 0 {
		return was
	}
	if self {
		list = append([]float64{was}, list...)
	}
	x := list[0]
	for _, y := range list[1:] {
		switch by {
		case scatter.ScatterProd:
			x *= y
		case scatter.ScatterMax:
			x = max(x, y)
		case scatter.ScatterMin:
			x = min(x, y)
		default:
			x += y
		}
	}
	if by == scatter.ScatterMean {
		x /= float64(len(list))
	}
	return x
}

// longScatters are of more indices than a block sorts, of few and of many places, and with
// rows that are moved in vectors.
func (b *bench) longScatters(t *testing.T) {
	d := dtype.F32
	for _, c := range []struct{ ids, places, wide int }{{700, 3, 1}, {3000, 2500, 4}, {600, 40, 64}, {20000, 7, 1}} {
		shape := layout.Shape{c.ids, c.wide}
		src := b.value(t, d, layout.Contiguous(shape), func() dtype.Scalar { return dtype.FromInt(d, int64(b.rng.IntN(9))) })
		out := b.value(t, d, layout.Contiguous(layout.Shape{c.places, c.wide}), func() dtype.Scalar { return dtype.FromInt(d, int64(b.rng.IntN(9))) })
		ids := b.value(t, dtype.I32, layout.Contiguous(layout.Shape{c.ids}), func() dtype.Scalar {
			return dtype.FromInt(dtype.I32, int64(min(b.rng.IntN(c.places), b.rng.IntN(c.places))))
		})
		want := slices.Clone(out.want)
		for i, id := range ids.want {
			for k := range c.wide {
				at := int(id.Int())*c.wide + k
				want[at] = dtype.FromFloat(d, want[at].Float()+src.want[i*c.wide+k].Float())
			}
		}
		require.NoError(t, scatter.IndexAdd(b.s, out.View, ids.View, src.View, 0))
		require.NoError(t, compare(b.read(t, out), want, 0), "%+v", c)
		wide := ids.View
		var err error
		wide.Layout, err = ids.Layout.Insert(1)
		require.NoError(t, err)
		wide.Layout, err = wide.Layout.BroadcastTo(shape)
		require.NoError(t, err)
		for i, id := range ids.want {
			copy(want[int(id.Int())*c.wide:][:c.wide], src.want[i*c.wide:][:c.wide])
		}
		require.NoError(t, scatter.Scatter(b.s, out.View, wide, src.View, 0))
		require.NoError(t, compare(b.read(t, out), want, 0), "%+v", c)
	}
}

// searchErrors are operands that do not fit.
func searchErrors(t *testing.T, b *bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.any(t, d, s, 0).View }
	x, out := view(dtype.F32, 4, 8), view(dtype.U32, 4, 8)
	require.ErrorIs(t, indexops.SearchSorted(b.s, out, x, view(dtype.F32, 3, 8), false), layout.ErrShape)
	require.ErrorIs(t, indexops.SearchSorted(b.s, out, x, view(dtype.I32, 8), false), ops.ErrDType)
	require.ErrorIs(t, indexops.SearchSorted(b.s, x, x, view(dtype.F32, 8), false), ops.ErrDType)
	require.ErrorIs(t, indexops.Bincount(b.s, view(dtype.U32, 8), x), ops.ErrDType)
	require.ErrorIs(t, indexops.Bincount(b.s, out, view(dtype.I32, 8)), layout.ErrShape)
	require.ErrorIs(t, indexops.Histc(b.s, view(dtype.U32, 8), view(dtype.I32, 8), 0, 1), ops.ErrDType)
	require.ErrorContains(t, indexops.Histc(b.s, view(dtype.U32, 8), x, 1, 1), "want two numbers")
	require.ErrorIs(t, scatter.ScatterReduce(b.s, scatter.ScatterMax, x, view(dtype.F32, 4, 8), x, 0, true), ops.ErrDType)
}
