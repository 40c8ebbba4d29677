package opstest

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
)

// folded is what a reduction gives for elements that are floating-point numbers, and how
// large what it adds on the way is, of which the error may be some ulps; and for those
// that are integers. For reductions without int, integers are numbers like others.
type folded struct {
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

func alone(f func([]float64) float64) func([]float64) (float64, float64) {
	return func(x []float64) (float64, float64) { w := f(x); return w, w }
}

func larger(a, b float64) bool { return a > b }
func less(a, b float64) bool   { return a < b }

var reduced = map[string]folded{
	"sum":    {sumOf, over(0, func(a, x int64) int64 { return a + x }), 24},
	"prod":   {alone(over(1, func(a, x float64) float64 { return a * x })), over(1, func(a, x int64) int64 { return a * x }), 40000},
	"max":    {alone(func(x []float64) float64 { return x[best(x, larger)] }), func(x []int64) int64 { return slices.Max(x) }, 0},
	"min":    {alone(func(x []float64) float64 { return x[best(x, less)] }), func(x []int64) int64 { return slices.Min(x) }, 0},
	"any":    {alone(over(0, func(a, x float64) float64 { return truth(a != 0 || x != 0) })), nil, 0},
	"all":    {alone(over(1, func(a, x float64) float64 { return truth(a != 0 && x != 0) })), nil, 0},
	"argmax": {alone(func(x []float64) float64 { return float64(best(x, larger)) }), func(x []int64) int64 { return int64(slices.Index(x, slices.Max(x))) }, 0},
	"argmin": {alone(func(x []float64) float64 { return float64(best(x, less)) }), func(x []int64) int64 { return int64(slices.Index(x, slices.Min(x))) }, 0},
	"mean": {func(x []float64) (float64, float64) {
		w, size := sumOf(x)
		return w / float64(len(x)), size / float64(len(x))
	}, nil, 24},
	"sumsqr": {alone(sqrOf), over(0, func(a, x int64) int64 { return a + x*x }), 24},
	"norm":   {alone(func(x []float64) float64 { return math.Sqrt(sqrOf(x)) }), nil, 24},
	"var": {func(x []float64) (float64, float64) { // the distance from a mean that is rounded
		v, mean := varOf(x)
		return v, v + mean*mean*0x1p-50
	}, nil, 64},
	"std": {func(x []float64) (float64, float64) {
		v, mean := varOf(x)
		return math.Sqrt(v), math.Sqrt(v) + math.Abs(mean)
	}, nil, 64},
	"log_sum_exp": {alone(logSumOf), nil, 16},
}

// fold is a reduction to test: of a shape, along dims.
type fold struct {
	shape layout.Shape
	dims  []int
}

// folds are small ones, and then those that are divided among blocks, threads across
// rows, and dimensions that cannot be joined.
var folds = []fold{
	{layout.Shape{}, nil}, {layout.Shape{}, []int{}}, {layout.Shape{1}, []int{0}}, {layout.Shape{7}, []int{-1}}, {layout.Shape{33, 5}, []int{1}},
	{layout.Shape{33, 5}, []int{0}}, {layout.Shape{2, 3, 4}, []int{0, 2}}, {layout.Shape{2, 3, 4}, []int{1}}, {layout.Shape{5, 70}, nil},
	{layout.Shape{3, 300}, []int{1}}, {layout.Shape{300, 40}, []int{0}}, {layout.Shape{0, 4}, []int{1}}, {layout.Shape{3, 5, 100}, []int{2, 0}},
	{layout.Shape{2, 9, 3, 33}, []int{0, 2}}, {layout.Shape{2, 9, 3, 33}, []int{1, 3}}, {layout.Shape{1001}, []int{0}},
}

var largeFolds = []fold{
	{layout.Shape{70001}, []int{0}}, {layout.Shape{3, 40000}, []int{1}}, {layout.Shape{9001, 17}, []int{0}}, {layout.Shape{33, 20, 130}, []int{0, 2}},
	{layout.Shape{5, 3000, 3}, []int{1}}, {layout.Shape{300, 257}, []int{1}}, {layout.Shape{257, 300}, []int{0}},
}

func reduce(t *testing.T, b *bench) {
	n := 0
	for _, r := range rowsops.Reductions() {
		form := r.Name()
		if wide(r) {
			form += " wide"
		}
		ref, ok := reduced[r.Name()]
		require.True(t, ok, "reduction %s has no reference", r.Name())
		for _, d := range dtype.All() {
			if !r.Takes(d) {
				require.ErrorIs(t, r.Check(d), ops.ErrDType)
				continue
			}
			n++
			k := n
			if b.has(d) {
				b.part(t, func(t *testing.T, b *bench) {
					b.reduce(t, r, ref, d, folds[k%len(folds)], k/3)
					b.reduce(t, r, ref, d, largeFolds[k%len(largeFolds)], k/2)
				}, "%s/%v", form, d)
			}
		}
	}
	for i, f := range append(slices.Clone(folds), largeFolds...) {
		b.part(t, func(t *testing.T, b *bench) {
			for k := range kinds {
				if f.shape.Count() < 5000 {
					b.reduce(t, rowsops.Sum, reduced["sum"], dtype.F32, f, k)
				}
			}
			b.reduce(t, rowsops.ArgMax, reduced["argmax"], dtype.F32, f, i)
		}, "Layouts/%v", f)
	}
	t.Run("Special", b.specialFolds)
	t.Run("Empty", b.emptyFolds)
	t.Run("Cases", b.foldCases)
}

// wide reports whether a reduction gives I64 of integers.
func wide(r *rowsops.Reduction) bool { return r.Takes(dtype.U8) && r.Result(dtype.U8) == dtype.I64 }

// along returns the shape of a result without dims, and for each of its elements the
// indices of those of the operand, in row-major order.
func along(s layout.Shape, dims []int) (out layout.Shape, rows [][]int) {
	resolved, _ := layout.Dims(dims, len(s))
	for d, n := range s {
		if !slices.Contains(resolved, d) {
			out = append(out, n)
		}
	}
	rows = make([][]int, out.Count())
	index := make([]int, len(s))
	for i := range s.Count() {
		at, rest := 0, i
		for d := len(s) - 1; d >= 0; d-- {
			index[d], rest = rest%s[d], rest/s[d]
		}
		for d, n := range s {
			if !slices.Contains(resolved, d) {
				at = at*n + index[d]
			}
		}
		rows[at] = append(rows[at], i)
	}
	return out, rows
}

// moderate draws a number of a type with which sums of many do not overflow: integers
// of all sizes, which wrap.
func (b *bench) moderate(d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		return dtype.FromBits(d, uint64(int64(b.rng.Uint64())>>(b.rng.IntN(8)*8)))
	}
	return dtype.FromFloat(d, b.rng.Float64()*4-2)
}

// positive draws one about 1.
func (b *bench) positive(d dtype.DType) dtype.Scalar {
	if d.IsInt() {
		return dtype.FromInt(d, int64(2*b.rng.IntN(50)+1))
	}
	return dtype.FromFloat(d, 0.99+b.rng.Float64()*0.02)
}

// reduce tests a reduction of an operand in one of the kinds of layouts.
func (b *bench) reduce(t *testing.T, r *rowsops.Reduction, ref folded, d dtype.DType, f fold, kind int) {
	t.Helper()
	draw := b.moderate
	if r.Name() == "prod" {
		draw = b.positive
	}
	x := b.value(t, d, layoutOf(t, kinds[kind%len(kinds)], f.shape), func() dtype.Scalar { return draw(d) })
	shape, rows := along(f.shape, f.dims)
	out := b.result(t, r.Result(d), layoutOf(t, kinds[kind%4], shape))
	require.NoError(t, r.Run(b.s, out.View, x.View, f.dims))
	b.folded(t, r, ref, out, x, rows)
}

// folded compares the result of a reduction.
func (b *bench) folded(t *testing.T, r *rowsops.Reduction, ref folded, out, x *value, rows [][]int) {
	t.Helper()
	for i, got := range b.read(t, out) {
		row := make([]dtype.Scalar, len(rows[i]))
		for k, at := range rows[i] {
			row[k] = x.want[at]
		}
		want, slack := ref.of(out.DType, row)
		if slack > 0 && math.Abs(got.Float()-want.Float()) <= slack {
			continue
		}
		require.NoError(t, near(got, want, 0), "%s of %d %v, element %d of %v, slack %g", r.Name(), len(row), x.DType, i, out.Layout.Shape(), slack)
	}
}

// of returns what is wanted, and how far from it a result may be.
func (f folded) of(out dtype.DType, row []dtype.Scalar) (dtype.Scalar, float64) {
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
	slack := f.ulps * ulp(out.Compute(), size)
	if out.Bits() < 32 {
		slack += ulp(out, s.Float())
	}
	return s, slack
}

// specialFolds tests NaN, infinities, ties and numbers that are far from 0.
func (b *bench) specialFolds(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range [][]float64{
		{nan}, {1, nan, 3, nan, 2}, {2, 3, 3, 1, 3}, {-inf, -inf, -inf}, {inf, 1, inf}, {-inf, 5, -inf}, {inf, -inf}, {0, math.Copysign(0, -1)}, {3, 3, 3, 3},
		append(make([]float64, 500), nan), append(append(make([]float64, 70), inf), make([]float64, 900)...),
	} {
		v := b.numbers(t, dtype.F32, layout.Shape{len(x)}, x...)
		all := make([]int, len(x))
		for i := range all {
			all[i] = i
		}
		for _, name := range []string{"sum", "max", "min", "argmax", "argmin", "any", "all", "log_sum_exp"} {
			r := b.reduction(t, name)
			out := b.result(t, r.Result(dtype.F32), layout.Contiguous(layout.Shape{}))
			require.NoError(t, r.Run(b.s, out.View, v.View, []int{0}))
			b.folded(t, r, reduced[name], out, v, [][]int{all})
		}
	}
	// The variance of numbers far from 0 is not lost: that of n neighbours from m on is
	// (n+1)·n/12.
	n := 1024
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i) + 4e6
	}
	v := b.numbers(t, dtype.F32, layout.Shape{n}, x...)
	out := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{}))
	require.NoError(t, rowsops.Var.Run(b.s, out.View, v.View, []int{0}))
	require.InEpsilon(t, float64(n)*float64(n+1)/12, b.read(t, out)[0].Float(), 1e-4)
	require.NoError(t, rowsops.Var.RunCorrected(b.s, out.View, v.View, []int{0}, 0))
	require.InEpsilon(t, float64(n-1)*float64(n+1)/12, b.read(t, out)[0].Float(), 1e-4)
}

func (b *bench) reduction(t *testing.T, name string) *rowsops.Reduction {
	t.Helper()
	for _, r := range rowsops.Reductions() {
		if r.Name() == name {
			return r
		}
	}
	require.Fail(t, "no reduction", name)
	return nil
}

// numbers puts numbers of a type on the device, in row-major order.
func (b *bench) numbers(t *testing.T, d dtype.DType, s layout.Shape, x ...float64) *value {
	t.Helper()
	i := -1
	return b.value(t, d, layout.Contiguous(s), func() dtype.Scalar { i++; return dtype.FromFloat(d, x[i%len(x)]) })
}

// emptyFolds tests reductions of no elements, and what is wrong.
func (b *bench) emptyFolds(t *testing.T) {
	x := b.value(t, dtype.F32, layout.Contiguous(layout.Shape{3, 0}), nil)
	out := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{3}))
	for name, want := range map[string]float64{"sum": 0, "prod": 1, "mean": math.NaN(), "var": math.NaN(), "norm": 0, "log_sum_exp": math.Inf(-1)} {
		require.NoError(t, b.reduction(t, name).Run(b.s, out.View, x.View, []int{1}))
		for _, got := range b.read(t, out) {
			require.NoError(t, near(got, dtype.FromFloat(dtype.F32, want), 0), name)
		}
	}
	require.ErrorIs(t, rowsops.Max.Run(b.s, out.View, x.View, []int{1}), ops.ErrEmpty)
	none := b.result(t, dtype.F32, layout.Contiguous(layout.Shape{0}))
	require.NoError(t, rowsops.Max.Run(b.s, none.View, x.View, []int{0}))
	require.ErrorIs(t, rowsops.Sum.Run(b.s, out.View, x.View, []int{2}), layout.ErrDim)
	require.ErrorIs(t, rowsops.Sum.Run(b.s, out.View, x.View, []int{1, -1}), layout.ErrDuplicate)
	require.ErrorIs(t, rowsops.Sum.Run(b.s, out.View, x.View, []int{0}), layout.ErrShape)
	require.ErrorIs(t, rowsops.ArgMax.Run(b.s, out.View, x.View, []int{1}), ops.ErrDType)
	// Many dimensions are fine as long as they can be joined.
	twos := layout.Shape{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}
	deep := b.numbers(t, dtype.F32, twos, 1)
	sums := b.result(t, dtype.F32, layout.Contiguous(twos[1:]))
	require.NoError(t, rowsops.Sum.Run(b.s, sums.View, deep.View, []int{0}))
	require.Equal(t, 2.0, b.read(t, sums)[77].Float())
	sums = b.result(t, dtype.F32, layout.Contiguous(twos[9:]))
	require.ErrorIs(t, rowsops.Sum.Run(b.s, sums.View, deep.View, []int{0, 2, 4, 6, 8, 10, 12, 14, 16}), layout.ErrRank)
	one := b.numbers(t, dtype.F32, layout.Shape{3, 1}, 1, 2, 3)
	require.NoError(t, rowsops.Var.Run(b.s, out.View, one.View, []int{1}))
	require.True(t, math.IsNaN(b.read(t, out)[0].Float()), "variance of one element")
}

// foldCases are those that tensor libraries are compared by.
func (b *bench) foldCases(t *testing.T) {
	cube := b.numbers(t, dtype.F32, layout.Shape{2, 2, 3}, 3, 1, 4, 1, 5, 9, 2, 1, 7, 8, 2, 8)
	square := b.numbers(t, dtype.F32, layout.Shape{4, 4}, 0.2035, 1.2959, 1.8101, -0.4644, 1.5027, -0.3270, 0.5905, 0.6538, -1.5745, 1.3330, -0.5596, -0.6548, 0.1264, -0.5080, 1.6420, 0.1992)
	logs := b.numbers(t, dtype.F32, layout.Shape{2, 2, 3}, 1, 2, 3, 4, 5, 6, -1000, -999, -1001, 1000, 999, 1001)
	pair := b.numbers(t, dtype.F32, layout.Shape{2, 2}, 3, 4, 0, 0)
	for _, c := range []struct {
		number int // of the case
		r      *rowsops.Reduction
		x      *value
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
		shape, _ := along(c.x.Layout.Shape(), c.dims)
		out := b.result(t, c.r.Result(dtype.F32), layout.Contiguous(shape))
		require.NoError(t, c.r.Run(b.s, out.View, c.x.View, c.dims))
		for i, got := range b.read(t, out) {
			require.InDelta(t, c.want[i], got.Float(), c.within, "case %d, element %d", c.number, i)
		}
	}
	i := int64(-1)
	many := b.value(t, dtype.U32, layout.Contiguous(layout.Shape{2000, 2}), func() dtype.Scalar { i++; return dtype.FromInt(dtype.U32, i) })
	out := b.result(t, dtype.U32, layout.Contiguous(layout.Shape{1, 2})) // with the dimension kept
	require.NoError(t, rowsops.Sum.Run(b.s, out.View, many.View, []int{0}))
	got := b.read(t, out)
	require.Equal(t, []int64{3998000, 4000000}, []int64{got[0].Int(), got[1].Int()}, "case 34")
	b.longRows(t)
}

// longRows tests more rows than a small device has blocks, each so long that a block shares it:
// a block does several.
func (b *bench) longRows(t *testing.T) {
	const rows, n = 70, 4100
	i := int64(-1)
	x := b.value(t, dtype.U32, layout.Contiguous(layout.Shape{rows, n}), func() dtype.Scalar { i++; return dtype.FromInt(dtype.U32, i/n+1) })
	out := b.result(t, dtype.U32, layout.Contiguous(layout.Shape{rows}))
	require.NoError(t, rowsops.Sum.Run(b.s, out.View, x.View, []int{1}))
	for r, got := range b.read(t, out) {
		require.EqualValues(t, n*(r+1), got.Int(), "row %d", r)
	}
}
