package rowstest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	rowsops "github.com/gokiln/kiln/ops/rows"
)

// reference is what a reduction gives for elements that are floating-point numbers, and how
// large its intermediate sums are, of which the error may be some ulps; and for those
// that are integers. For reductions without int, integers are numbers like others.
type reference struct {
	float func(x []float64) (want, size float64)
	int   func(x []int64) int64
	ulps  float64
}

// sumOf adds with what rounding loses kept apart (Neumaier, "Rundungsfehleranalyse einiger
// Verfahren zur Summation endlicher Summen", 1974): it is the reference of F64 too.
func sumOf(x []float64) (sum, size float64) {
	lost := 0.0
	for _, v := range x {
		t := sum + v
		if math.Abs(sum) >= math.Abs(v) {
			lost += sum - t + v
		} else {
			lost += v - t + sum
		}
		sum = t
		size += math.Abs(v)
	}
	if math.IsInf(sum, 0) || sum != sum {
		return sum, size
	}
	return sum + lost, size
}

func best(x []float64, better func(a, b float64) bool) (at int) {
	for i, v := range x {
		if x[at] == x[at] && (v != v || better(v, x[at])) {
			at = i
		}
	}
	return at
}

// varOf also returns the mean.
func varOf(x []float64) (v, mean float64) {
	sum, _ := sumOf(x)
	mean = sum / float64(len(x))
	return sqrOf(eachOf(x, func(_ int, v float64) float64 { return v - mean })) / float64(len(x)-1), mean
}

func sqrOf(x []float64) float64 {
	sum, _ := sumOf(eachOf(x, func(_ int, v float64) float64 { return v * v }))
	return sum
}

func logSumOf(x []float64) float64 {
	m := x[best(x, func(a, b float64) bool { return a > b })]
	if math.IsInf(m, 0) {
		return m
	}
	sum, _ := sumOf(eachOf(x, func(_ int, v float64) float64 { return math.Exp(v - m) }))
	return m + math.Log(sum)
}

func over[T any](start T, f func(a, x T) T) func([]T) T {
	return func(x []T) T {
		a := start
		for _, v := range x {
			a = f(a, v)
		}
		return a
	}
}

func summed(f func([]float64) float64) func([]float64) (float64, float64) {
	return func(x []float64) (float64, float64) { w := f(x); return w, w }
}

func larger(a, b float64) bool { return a > b }
func less(a, b float64) bool   { return a < b }

// References is what reductions give, by their names.
var References = map[string]reference{
	"sum":    {sumOf, over(0, func(a, x int64) int64 { return a + x }), 24},
	"prod":   {summed(over(1, func(a, x float64) float64 { return a * x })), over(1, func(a, x int64) int64 { return a * x }), 40000},
	"max":    {summed(func(x []float64) float64 { return x[best(x, larger)] }), func(x []int64) int64 { return slices.Max(x) }, 0},
	"min":    {summed(func(x []float64) float64 { return x[best(x, less)] }), func(x []int64) int64 { return slices.Min(x) }, 0},
	"any":    {summed(over(0, func(a, x float64) float64 { return opstest.Truth(a != 0 || x != 0) })), nil, 0},
	"all":    {summed(over(1, func(a, x float64) float64 { return opstest.Truth(a != 0 && x != 0) })), nil, 0},
	"argmax": {summed(func(x []float64) float64 { return float64(best(x, larger)) }), func(x []int64) int64 { return int64(slices.Index(x, slices.Max(x))) }, 0},
	"argmin": {summed(func(x []float64) float64 { return float64(best(x, less)) }), func(x []int64) int64 { return int64(slices.Index(x, slices.Min(x))) }, 0},
	"mean": {func(x []float64) (float64, float64) {
		w, size := sumOf(x)
		return w / float64(len(x)), size / float64(len(x))
	}, nil, 24},
	"sumsqr": {summed(sqrOf), over(0, func(a, x int64) int64 { return a + x*x }), 24},
	"norm":   {summed(func(x []float64) float64 { return math.Sqrt(sqrOf(x)) }), nil, 24},
	"var": {func(x []float64) (float64, float64) { // the distance from a mean that is rounded
		v, mean := varOf(x)
		return v, v + mean*mean*0x1p-50
	}, nil, 64},
	"std": {func(x []float64) (float64, float64) {
		v, mean := varOf(x)
		return math.Sqrt(v), math.Sqrt(v) + math.Abs(mean)
	}, nil, 64},
	"log_sum_exp": {summed(logSumOf), nil, 16},
}

// smallReductions are small ones, and then those that are divided among blocks, threads across
// rows, and dimensions that cannot be joined.
var smallReductions = []opstest.ReductionCase{
	{Shape: layout.Shape{}, Dims: nil}, {Shape: layout.Shape{}, Dims: []int{}}, {Shape: layout.Shape{1}, Dims: []int{0}}, {Shape: layout.Shape{7}, Dims: []int{-1}}, {Shape: layout.Shape{33, 5}, Dims: []int{1}},
	{Shape: layout.Shape{33, 5}, Dims: []int{0}}, {Shape: layout.Shape{2, 3, 4}, Dims: []int{0, 2}}, {Shape: layout.Shape{2, 3, 4}, Dims: []int{1}}, {Shape: layout.Shape{5, 70}, Dims: nil},
	{Shape: layout.Shape{3, 300}, Dims: []int{1}}, {Shape: layout.Shape{300, 40}, Dims: []int{0}}, {Shape: layout.Shape{0, 4}, Dims: []int{1}}, {Shape: layout.Shape{3, 5, 100}, Dims: []int{2, 0}},
	{Shape: layout.Shape{2, 9, 3, 33}, Dims: []int{0, 2}}, {Shape: layout.Shape{2, 9, 3, 33}, Dims: []int{1, 3}}, {Shape: layout.Shape{1001}, Dims: []int{0}},
}

var largeReductions = []opstest.ReductionCase{
	{Shape: layout.Shape{70001}, Dims: []int{0}}, {Shape: layout.Shape{3, 40000}, Dims: []int{1}}, {Shape: layout.Shape{9001, 17}, Dims: []int{0}}, {Shape: layout.Shape{33, 20, 130}, Dims: []int{0, 2}},
	{Shape: layout.Shape{5, 3000, 3}, Dims: []int{1}}, {Shape: layout.Shape{300, 257}, Dims: []int{1}}, {Shape: layout.Shape{257, 300}, Dims: []int{0}},
}

// Reduce tests reductions.
func Reduce(t *testing.T, b *opstest.Bench) {
	for _, r := range rowsops.Reductions() {
		form := r.Name()
		if wide(r) {
			form += " wide"
		}
		ref, ok := References[r.Name()]
		require.True(t, ok, "reduction %s has no reference", r.Name())
		for _, d := range dtype.All() {
			if !r.Takes(d) {
				require.ErrorIs(t, r.Check(d), ops.ErrDType)
				continue
			}
			if b.Has(d) {
				b.Part(t, func(t *testing.T, b *opstest.Bench) {
					CheckReduction(t, b, r, ref, d, smallReductions[b.Rand.IntN(len(smallReductions))], b.Kind())
					CheckReduction(t, b, r, ref, d, largeReductions[b.Rand.IntN(len(largeReductions))], b.Kind())
				}, "%s/%v", form, d)
			}
		}
	}
	for _, f := range append(slices.Clone(smallReductions), largeReductions...) {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for k := range opstest.Kinds {
				if f.Shape.Count() < 5000 {
					CheckReduction(t, b, rowsops.Sum, References["sum"], dtype.F32, f, k)
				}
			}
			CheckReduction(t, b, rowsops.ArgMax, References["argmax"], dtype.F32, f, b.Kind())
		}, "Layouts/%v", f)
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { specialReductions(t, b) }, "Special")
	b.Part(t, func(t *testing.T, b *opstest.Bench) { emptyReductions(t, b) }, "Empty")
	b.Part(t, func(t *testing.T, b *opstest.Bench) { reductionCases(t, b) }, "Cases")
}

// wide reports whether a reduction gives I64 of integers.
func wide(r *rowsops.Reduction) bool { return r.Takes(dtype.U8) && r.Result(dtype.U8) == dtype.I64 }

// positive draws one about 1.
func positive(b *opstest.Bench, d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		return dtype.FromInt(d, int64(2*b.Rand.IntN(50)+1))
	}
	return dtype.FromFloat(d, 0.99+b.Rand.Float64()*0.02)
}

// CheckReduction tests a reduction of an operand in one of the kinds of layouts.
func CheckReduction(t *testing.T, b *opstest.Bench, r *rowsops.Reduction, ref reference, d dtype.DType, f opstest.ReductionCase, kind int) {
	t.Helper()
	draw := b.Moderate
	if r.Name() == "prod" {
		draw = func(d dtype.DType) dtype.Scalar { return positive(b, d) }
	}
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], f.Shape), func() dtype.Scalar { return draw(d) })
	shape, rows := opstest.Along(f.Shape, f.Dims)
	out := b.Result(t, r.Result(d), opstest.LayoutOf(t, opstest.Kinds[kind%4], shape))
	require.NoError(t, r.Run(b.Stream, out.View, x.View, f.Dims))
	checkReduced(t, b, r, ref, out, x, rows)
}

// checkReduced compares the result of a reduction.
func checkReduced(t *testing.T, b *opstest.Bench, r *rowsops.Reduction, ref reference, out, x *opstest.Value, rows [][]int) {
	t.Helper()
	for i, got := range b.Read(t, out) {
		row := make([]dtype.Scalar, len(rows[i]))
		for k, at := range rows[i] {
			row[k] = x.Want[at]
		}
		want, slack := ref.of(out.DType, row)
		if slack > 0 && math.Abs(got.Float()-want.Float()) <= slack {
			continue
		}
		require.NoError(t, opstest.Near(got, want, 0), "%s of %d %v, element %d of %v, slack %g", r.Name(), len(row), x.DType, i, out.Layout.Shape(), slack)
	}
}

// of returns what is wanted, and how far from it a result may be.
func (f reference) of(out dtype.DType, row []dtype.Scalar) (dtype.Scalar, float64) {
	if row[0].DType().IsInt() && f.int != nil {
		words := make([]int64, len(row))
		for i := range row {
			words[i] = row[i].Int()
		}
		return dtype.FromBits(out, uint64(f.int(words))), 0
	}
	floats := make([]float64, len(row))
	for i := range row {
		floats[i] = row[i].Float()
	}
	want, size := f.float(floats)
	s := dtype.FromFloat(out, want)
	if f.ulps == 0 || math.IsInf(want, 0) || want != want {
		return s, 0
	}
	slack := f.ulps * opstest.ULP(out.Compute(), size)
	if out.Bits() < 32 {
		slack += opstest.ULP(out, s.Float())
	}
	return s, slack
}

// specialReductions tests NaN, infinities, ties and numbers that are far from 0.
func specialReductions(t *testing.T, b *opstest.Bench) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range [][]float64{
		{nan}, {1, nan, 3, nan, 2}, {2, 3, 3, 1, 3}, {-inf, -inf, -inf}, {inf, 1, inf}, {-inf, 5, -inf}, {inf, -inf}, {0, math.Copysign(0, -1)}, {3, 3, 3, 3},
		append(make([]float64, 500), nan), append(append(make([]float64, 70), inf), make([]float64, 900)...),
	} {
		v := b.Cycle(t, dtype.F32, layout.Shape{len(x)}, x...)
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		for _, name := range []string{"sum", "max", "min", "argmax", "argmin", "any", "all", "log_sum_exp"} {
			r := Reduction(t, b, name)
			out := b.Result(t, r.Result(dtype.F32), layout.Contiguous(layout.Shape{}))
			require.NoError(t, r.Run(b.Stream, out.View, v.View, []int{0}))
			checkReduced(t, b, r, References[name], out, v, [][]int{all})
		}
	}
	// The variance of numbers far from 0 is not lost: that of n neighbours from m on is
	// (n+1)·n/12.
	n := 1024
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i) + 4e6
	}
	v := b.Cycle(t, dtype.F32, layout.Shape{n}, x...)
	out := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{}))
	require.NoError(t, rowsops.Var.Run(b.Stream, out.View, v.View, []int{0}))
	require.InEpsilon(t, float64(n)*float64(n+1)/12, b.Read(t, out)[0].Float(), 1e-4)
	require.NoError(t, rowsops.Var.RunCorrected(b.Stream, out.View, v.View, []int{0}, 0))
	require.InEpsilon(t, float64(n-1)*float64(n+1)/12, b.Read(t, out)[0].Float(), 1e-4)
}

// Reduction returns a reduction by its name.
func Reduction(t *testing.T, b *opstest.Bench, name string) *rowsops.Reduction {
	t.Helper()
	for _, r := range rowsops.Reductions() {
		if r.Name() == name {
			return r
		}
	}
	require.Fail(t, "no reduction", name)
	return nil
}

// emptyReductions tests reductions of no elements, and what is wrong.
func emptyReductions(t *testing.T, b *opstest.Bench) {
	x := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{3, 0}), nil)
	out := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{3}))
	for name, want := range map[string]float64{"sum": 0, "prod": 1, "mean": math.NaN(), "var": math.NaN(), "norm": 0, "log_sum_exp": math.Inf(-1)} {
		require.NoError(t, Reduction(t, b, name).Run(b.Stream, out.View, x.View, []int{1}))
		for _, got := range b.Read(t, out) {
			require.NoError(t, opstest.Near(got, dtype.FromFloat(dtype.F32, want), 0), name)
		}
	}
	require.ErrorIs(t, rowsops.Max.Run(b.Stream, out.View, x.View, []int{1}), ops.ErrEmpty)
	none := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{0}))
	require.NoError(t, rowsops.Max.Run(b.Stream, none.View, x.View, []int{0}))
	require.ErrorIs(t, rowsops.Sum.Run(b.Stream, out.View, x.View, []int{2}), layout.ErrDim)
	require.ErrorIs(t, rowsops.Sum.Run(b.Stream, out.View, x.View, []int{1, -1}), layout.ErrDuplicate)
	require.ErrorIs(t, rowsops.Sum.Run(b.Stream, out.View, x.View, []int{0}), layout.ErrShape)
	require.ErrorIs(t, rowsops.ArgMax.Run(b.Stream, out.View, x.View, []int{1}), ops.ErrDType)
	// Many dimensions are fine as long as they can be joined.
	twos := layout.Shape{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}
	deep := b.Cycle(t, dtype.F32, twos, 1)
	sums := b.Result(t, dtype.F32, layout.Contiguous(twos[1:]))
	require.NoError(t, rowsops.Sum.Run(b.Stream, sums.View, deep.View, []int{0}))
	require.Equal(t, 2.0, b.Read(t, sums)[77].Float())
	sums = b.Result(t, dtype.F32, layout.Contiguous(twos[9:]))
	require.ErrorIs(t, rowsops.Sum.Run(b.Stream, sums.View, deep.View, []int{0, 2, 4, 6, 8, 10, 12, 14, 16}), layout.ErrRank)
	one := b.Cycle(t, dtype.F32, layout.Shape{3, 1}, 1, 2, 3)
	require.NoError(t, rowsops.Var.Run(b.Stream, out.View, one.View, []int{1}))
	require.True(t, math.IsNaN(b.Read(t, out)[0].Float()), "variance of one element")
}

// reductionCases are those that tensor libraries are compared by.
func reductionCases(t *testing.T, b *opstest.Bench) {
	cube := b.Cycle(t, dtype.F32, layout.Shape{2, 2, 3}, 3, 1, 4, 1, 5, 9, 2, 1, 7, 8, 2, 8)
	square := b.Cycle(t, dtype.F32, layout.Shape{4, 4}, 0.2035, 1.2959, 1.8101, -0.4644, 1.5027, -0.3270, 0.5905, 0.6538, -1.5745, 1.3330, -0.5596, -0.6548, 0.1264, -0.5080, 1.6420, 0.1992)
	logs := b.Cycle(t, dtype.F32, layout.Shape{2, 2, 3}, 1, 2, 3, 4, 5, 6, -1000, -999, -1001, 1000, 999, 1001)
	pair := b.Cycle(t, dtype.F32, layout.Shape{2, 2}, 3, 4, 0, 0)
	for _, c := range []struct {
		number int // of the case
		r      *rowsops.Reduction
		x      *opstest.Value
		dims   []int
		want   []float64
		within float64
	}{
		{33, rowsops.Sum, cube, []int{2}, []float64{8, 15, 10, 18}, 0},
		{33, rowsops.Sum, cube, []int{0}, []float64{5, 2, 11, 9, 7, 17}, 0},
		{33, rowsops.Sum, cube, []int{0, 1, 2}, []float64{51}, 0},
		{35, rowsops.Min, cube, []int{2}, []float64{1, 1, 1, 2}, 0},
		{35, rowsops.Max, cube, []int{2}, []float64{4, 9, 7, 8}, 0},
		{36, rowsops.ArgMin, cube, []int{2}, []float64{1, 0, 1, 1}, 0},
		{36, rowsops.ArgMin, cube, []int{0}, []float64{1, 0, 0, 0, 1, 1}, 0},
		{37, rowsops.ArgMax, cube, []int{2}, []float64{2, 2, 2, 0}, 0},
		{37, rowsops.ArgMax, cube, []int{0}, []float64{0, 0, 1, 1, 0, 0}, 0},
		{38, rowsops.Var, square, []int{1}, []float64{1.0631, 0.559, 1.4893, 0.8258}, 1e-4},
		{40, rowsops.LogSumExp, logs, []int{-1}, []float64{3.4076, 6.4076, -998.5924, 1001.4076}, 1e-4},
		{40, rowsops.LogSumExp, logs, nil, []float64{1, 2, 3, 4, 5, 6, -1000, -999, -1001, 1000, 999, 1001}, 0},
		{41, rowsops.Norm2, pair, []int{0, 1}, []float64{5}, 0},
	} {
		shape, _ := opstest.Along(c.x.Layout.Shape(), c.dims)
		out := b.Result(t, c.r.Result(dtype.F32), layout.Contiguous(shape))
		require.NoError(t, c.r.Run(b.Stream, out.View, c.x.View, c.dims))
		for i, got := range b.Read(t, out) {
			require.InDelta(t, c.want[i], got.Float(), c.within, "case %d, element %d", c.number, i)
		}
	}
	i := int64(-1)
	many := b.Value(t, dtype.U32, layout.Contiguous(layout.Shape{2000, 2}), func() dtype.Scalar { i++; return dtype.FromInt(dtype.U32, i) })
	out := b.Result(t, dtype.U32, layout.Contiguous(layout.Shape{1, 2})) // with the dimension kept
	require.NoError(t, rowsops.Sum.Run(b.Stream, out.View, many.View, []int{0}))
	got := b.Read(t, out)
	require.Equal(t, []int64{3998000, 4000000}, []int64{got[0].Int(), got[1].Int()}, "case 34")
	longRows(t, b)
}

// longRows tests more rows than a small device has blocks, each so long that a block shares it:
// a block does several.
func longRows(t *testing.T, b *opstest.Bench) {
	const rows, n = 70, 4100
	i := int64(-1)
	x := b.Value(t, dtype.U32, layout.Contiguous(layout.Shape{rows, n}), func() dtype.Scalar { i++; return dtype.FromInt(dtype.U32, i/n+1) })
	out := b.Result(t, dtype.U32, layout.Contiguous(layout.Shape{rows}))
	require.NoError(t, rowsops.Sum.Run(b.Stream, out.View, x.View, []int{1}))
	for r, got := range b.Read(t, out) {
		require.EqualValues(t, n*(r+1), got.Int(), "row %d", r)
	}
}
