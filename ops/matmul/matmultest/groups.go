package matmultest

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// groupCase is a grouped product: its other sizes, and where groups of total rows, columns or
// places end. Behind the last end there may be more.
type groupCase struct {
	m, n, total int
	ends        []int
}

var groupCases = []groupCase{
	{17, 40, 33, []int{5, 5, 21, 33}},
	{3, 1, 20, []int{0, 0, 20, 20}},
	{64, 96, 150, []int{70, 71, 140}},
	{1, 70, 40, []int{40}},
	{130, 33, 129, []int{0, 128, 129, 129, 129}},
	{16, 24, 10, []int{0, 0, 0}},
	{24, 64, 300, []int{64, 128, 299}},
	{5, 8, 0, []int{0, 0}},
	{0, 8, 6, []int{2, 6}},
	{5, 7, 6, nil},
	{40, 16, 60, []int{30, 10, 50, 45, 60}}, // not in order
	{8, 72, 50, []int{-7, 20, 1 << 30, 30, -1, 90}},
}

// forms are which dimension the groups divide.
const (
	groupedRows = iota
	groupedK
	groupedColumns
	groupedForms
)

// Grouped tests products of groups of matrices.
func Grouped(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		for n := range groupCases {
			for form := range groupedForms {
				if d == dtype.F32 || opstest.Choice(4, d, n, form) == 0 {
					b.Part(t, func(t *testing.T, b *opstest.Bench) { grouped(t, b, d, d, n, form, b.Kind(), "") }, "%v/%d/%d", d, n, form)
				}
			}
		}
		for i, way := range matmulops.GroupedStrategies() {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				grouped(t, b, d, d, []int{0, 2, 4, 6, 11}[b.Rand.IntN(5)], groupedRows, 5*b.Rand.IntN(2), way)
				grouped(t, b, d, d, []int{0, 2, 4, 6, 10}[b.Rand.IntN(5)], groupedK, i%4, way)
			}, "%v/%s", d, way)
		}
	}
	for kind := range 16 {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for form := range groupedForms {
				grouped(t, b, dtype.F32, dtype.F32, 0, form, kind, "")
				grouped(t, b, dtype.BF16, dtype.BF16, 6, form, kind, "")
			}
		}, "Layouts/%d", kind)
	}
	for i, r := range results {
		if b.Has(r.factors) && b.Has(r.out) {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				grouped(t, b, r.factors, r.out, 2, i%groupedForms, b.Kind(), "")
			}, "Results/%v/%v", r.factors, r.out)
		}
	}
	randomGroups(t, b)
	b.Part(t, groupedGraph, "Graph")
	t.Run("Errors", func(t *testing.T) { groupedErrors(t, b) })
}

// grouped tests one product of a type in some form and way, stored as type o, with operands that
// lie as kind says.
func grouped(t *testing.T, b *opstest.Bench, d, o dtype.DType, n, form, kind int, way string) {
	t.Helper()
	groupCases[n].check(t, b, d, o, form, kind, way)
}

// check is grouped of any case. It reports whether the device has that way.
func (c *groupCase) check(t *testing.T, b *opstest.Bench, d, o dtype.DType, form, kind int, way string) (has bool) {
	t.Helper()
	e := len(c.ends)
	shapes := map[int][3]layout.Shape{
		groupedRows:    {{c.total, c.n}, {c.total, c.m}, {e, c.m, c.n}},
		groupedK:       {{e, c.m, c.n}, {c.m, c.total}, {c.total, c.n}},
		groupedColumns: {{c.m, c.total}, {e, c.m, c.n}, {c.n, c.total}},
	}[form]
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	if d.IsInt() {
		draw = func() dtype.Scalar { return b.Number(d) }
	}
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], shapes[1]), draw)
	y := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind/len(opstest.Kinds)%len(opstest.Kinds)], shapes[2]), draw)
	out := b.Output(t, o, shapes[0], kind/2)
	ints, next := b.Ints(), 0
	ends := b.Value(t, ints, opstest.LayoutOf(t, opstest.Kinds[kind%4], layout.Shape{e}), func() dtype.Scalar {
		next++
		return dtype.FromInt(ints, int64(c.ends[next-1]))
	})
	err := matmulops.Grouped(b.Stream, out.View, x.View, y.View, ends.View, matmulops.Options{Strategy: way})
	if way != "" && errors.Is(err, jit.ErrUnsupported) {
		return false
	}
	if way != "" && err != nil && b.Device.Info().SharedPerBlock < 80<<10 {
		require.ErrorContains(t, err, "bytes of shared memory", way)
		return false
	}
	require.NoError(t, err, way)
	groups := groupBounds(ends, c.total)
	got, i := b.Read(t, out), 0
	opstest.EachIndex(shapes[0], func(at []int) {
		terms, of := groupTerms(c, form, at, groups)
		want, size := SumOfProducts(o, terms, func(k int) (dtype.Scalar, dtype.Scalar) {
			xi, yi := of(k)
			return x.Want[xi], y.Want[yi]
		})
		require.NoError(t, Within(got[i], want, size), "form %d, %v by %v of %v with ends %v in %v, %q: element %v", form, x.Layout, y.Layout, d, ends.Want, o, way, at)
		i++
	})
	return true
}

// groupBounds are where groups begin and end, of numbers below total.
func groupBounds(ends *opstest.Value, total int) (list [][2]int) {
	begin := 0
	for _, x := range ends.Want {
		end := max(begin, min(int(x.Int()), total))
		list, begin = append(list, [2]int{begin, end}), end
	}
	return list
}

// groupTerms is how many products an element of the result is the sum of, and the indices of their
// factors.
func groupTerms(c *groupCase, form int, at []int, groups [][2]int) (n int, of func(k int) (x, y int)) {
	if form == groupedK {
		begin, end := groups[at[0]][0], groups[at[0]][1]
		return end - begin, func(k int) (x, y int) { return at[1]*c.total + begin + k, (begin+k)*c.n + at[2] }
	}
	across := at[form/groupedColumns] // the index of rows or columns
	for g, group := range groups {
		switch {
		case across < group[0] || across >= group[1]:
		case form == groupedRows:
			return c.m, func(k int) (x, y int) { return at[0]*c.m + k, (g*c.m+k)*c.n + at[1] }
		default:
			return c.n, func(k int) (x, y int) { return (g*c.m+at[0])*c.n + k, k*c.total + at[1] }
		}
	}
	return 0, nil
}

// groupedGraph captures a product, and launches it with other groups: nothing of them is known to
// the host.
func groupedGraph(t *testing.T, b *opstest.Bench) {
	f := dtype.F32
	x, y := b.Of(t, f, layout.Shape{4, 1}, 1, 2, 3, 4), b.Of(t, f, layout.Shape{2, 1, 2}, 1, 10, 100, 1000)
	ends, out := b.Of(t, dtype.I32, layout.Shape{2}, 1, 3), b.Output(t, f, layout.Shape{4, 2}, 0)
	g, err := b.Device.Capture(func(s *runtime.Stream) error {
		return matmulops.Grouped(s, out.View, x.View, y.View, ends.View, matmulops.Options{})
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, g.Close()) }()
	require.NoError(t, g.Launch(b.Stream))
	b.WantNumbers(t, out, 1, 10, 200, 2000, 300, 3000, 0, 0)
	ends.All[opstest.Guard] = dtype.FromInt(dtype.I32, 4)
	b.Store(t, ends)
	require.NoError(t, g.Launch(b.Stream))
	b.WantNumbers(t, out, 1, 10, 2, 20, 3, 30, 4, 40)
}

// groupedErrors are operands that do not fit.
func groupedErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	run := func(out, x, y, ends ops.View, way string) error {
		return matmulops.Grouped(b.Stream, out, x, y, ends, matmulops.Options{Strategy: way})
	}
	ends := view(dtype.I32, 2)
	require.ErrorContains(t, run(view(f, 4, 3), view(f, 4, 5), view(f, 3, 5, 3), ends, ""), "shape mismatch in grouped product, lhs: [4, 5] rhs: [3, 5, 3], in [4, 3], with 2 ends")
	require.ErrorIs(t, run(view(f, 4, 3), view(f, 4, 6), view(f, 2, 5, 3), ends, ""), layout.ErrShape)
	require.ErrorIs(t, run(view(f, 2, 4, 3), view(f, 4, 5), view(f, 2, 5, 3), ends, ""), layout.ErrRank)
	require.ErrorIs(t, run(view(f, 4, 3), view(f, 4, 5), view(f, 2, 5, 3), view(dtype.I32, 2, 1), ""), layout.ErrRank)
	require.ErrorIs(t, run(view(f, 4, 3), view(f, 4, 5), view(f, 2, 5, 3), view(f, 2), ""), ops.ErrDType)
	require.ErrorIs(t, run(view(f, 4, 3), view(f, 4, 5), view(dtype.F16, 2, 5, 3), ends, ""), ops.ErrDType)
	bias := matmulops.Options{Epilogue: matmulops.Epilogue{Bias: view(f, 3)}}
	require.ErrorIs(t, matmulops.Grouped(b.Stream, view(f, 4, 3), view(f, 4, 5), view(f, 2, 5, 3), ends, bias), jit.ErrUnsupported)
	require.ErrorContains(t, run(view(f, 4, 3), view(f, 4, 5), view(f, 2, 5, 3), ends, "magic"), `no strategy "magic"`)
}
