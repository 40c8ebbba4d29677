package rowstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
)

// rowOp is an operation that makes a row of a row, with its weights.
type rowOp struct {
	name    string
	weights int
	run     func(b *opstest.Bench, out, x ops.View, weights [2]ops.View, dim int) error
	want    func(x []float64, scale, shift func(i int) float64) []float64
	ulps    float64 // of the largest of a row, or of 1
}

const testEps = 1e-5

var rowOps = []rowOp{
	{"softmax", 0, func(b *opstest.Bench, out, x ops.View, _ [2]ops.View, dim int) error {
		return rows.Softmax(b.Stream, out, x, dim, false)
	},
		func(x []float64, _, _ func(int) float64) []float64 {
			l := logSumOf(x)
			return eachOf(x, func(_ int, v float64) float64 { return math.Exp(v - l) })
		}, 8},
	{"log_softmax", 0, func(b *opstest.Bench, out, x ops.View, _ [2]ops.View, dim int) error {
		return rows.Softmax(b.Stream, out, x, dim, true)
	},
		func(x []float64, _, _ func(int) float64) []float64 {
			l := logSumOf(x)
			return eachOf(x, func(_ int, v float64) float64 { return v - l })
		}, 16},
	{"rms_norm", 1, func(b *opstest.Bench, out, x ops.View, w [2]ops.View, dim int) error {
		return rows.RMSNorm(b.Stream, out, x, w[0], dim, testEps)
	}, func(x []float64, scale, shift func(int) float64) []float64 {
		f := 1 / math.Sqrt(sqrOf(x)/float64(len(x))+testEps)
		return eachOf(x, func(i int, v float64) float64 { return v * f * scale(i) })
	}, 16},
	{"layer_norm", 2, func(b *opstest.Bench, out, x ops.View, w [2]ops.View, dim int) error {
		return rows.LayerNorm(b.Stream, out, x, w[0], w[1], dim, testEps)
	}, func(x []float64, scale, shift func(int) float64) []float64 {
		n := float64(len(x))
		sum, _ := sumOf(x)
		sqr := sqrOf(eachOf(x, func(_ int, v float64) float64 { return v - sum/n }))
		f := 1 / math.Sqrt(sqr/n+testEps)
		return eachOf(x, func(i int, v float64) float64 { return (v-sum/n)*f*scale(i) + shift(i) })
	}, 32},
}

func eachOf(x []float64, f func(i int, v float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(i, v)
	}
	return out
}

var rowShapes = []opstest.ReductionCase{
	{Shape: layout.Shape{1}, Dims: []int{0}}, {Shape: layout.Shape{7}, Dims: []int{0}}, {Shape: layout.Shape{33, 5}, Dims: []int{1}}, {Shape: layout.Shape{33, 40}, Dims: []int{0}}, {Shape: layout.Shape{3, 64}, Dims: []int{-1}},
	{Shape: layout.Shape{2, 3, 256}, Dims: []int{2}}, {Shape: layout.Shape{4, 300}, Dims: []int{1}}, {Shape: layout.Shape{2, 5, 30}, Dims: []int{1}}, {Shape: layout.Shape{3, 0}, Dims: []int{1}}, {Shape: layout.Shape{0, 3}, Dims: []int{1}},
	{Shape: layout.Shape{3, 1000}, Dims: []int{1}}, {Shape: layout.Shape{2, 4096}, Dims: []int{1}}, {Shape: layout.Shape{2, 9000}, Dims: []int{1}}, {Shape: layout.Shape{1, 16384}, Dims: []int{1}}, {Shape: layout.Shape{1, 40000}, Dims: []int{1}},
}

// RowNorm tests softmax and norms.
func RowNorm(t *testing.T, b *opstest.Bench) {
	for _, op := range rowOps {
		for _, f := range rowShapes {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				checkRow(t, b, op, dtype.F32, f, b.Rand.IntN(3), op.weights)
				if d := dtype.Floats()[b.Rand.IntN(len(dtype.Floats()))]; b.Has(d) {
					checkRow(t, b, op, d, f, b.Kind(), b.Rand.IntN(op.weights+1))
				}
			}, "%s/%v", op.name, f)
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			checkRow(t, b, op, dtype.F32, opstest.ReductionCase{Shape: layout.Shape{1, 140001}, Dims: []int{1}}, 0, op.weights)
		}, "%s/Long", op.name)
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, n := range []int{1500, 2048, 4096, 20000} {
				checkRow(t, b, op, dtype.BF16, opstest.ReductionCase{Shape: layout.Shape{3, n}, Dims: []int{1}}, 0, op.weights)
			}
		}, "%s/Halves", op.name)
		b.Part(t, func(t *testing.T, b *opstest.Bench) { manyRows(t, b, op) }, "%s/Many", op.name)
	}
	residuals(t, b)
	for _, op := range rowOps[:2] {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for _, f := range []opstest.ReductionCase{{Shape: layout.Shape{100, 40}, Dims: []int{0}}, {Shape: layout.Shape{2, 201, 48}, Dims: []int{1}}, {Shape: layout.Shape{1500, 17}, Dims: []int{0}}} {
				for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
					x := b.Value(t, d, opstest.LayoutOf(t, "dense", f.Shape), func() dtype.Scalar { return dtype.FromFloat(d, b.Rand.Float64()*8-3) })
					out := b.Result(t, d, opstest.LayoutOf(t, "dense", f.Shape))
					require.NoError(t, op.run(b, out.View, x.View, [2]ops.View{}, f.Dims[0]))
					rowsAre(t, b, op, out, x, [2]*opstest.Value{}, f)
				}
			}
		}, "%s/Columns", op.name)
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) { specialRows(t, b) }, "Special")
	b.Part(t, func(t *testing.T, b *opstest.Bench) { rowCases(t, b) }, "Cases")
}

// checkRow tests an operation with so many weights, of an operand in one of the kinds of
// layouts.
func checkRow(t *testing.T, b *opstest.Bench, op rowOp, d dtype.DType, f opstest.ReductionCase, kind, weights int) {
	t.Helper()
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], f.Shape), func() dtype.Scalar { return dtype.FromFloat(d, b.Rand.Float64()*8-3) })
	dim, err := layout.Dim(f.Dims[0], len(f.Shape))
	require.NoError(t, err)
	w := [2]*opstest.Value{}
	views := [2]ops.View{}
	for i := range weights {
		w[i] = b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+i)%4], layout.Shape{f.Shape[dim]}), func() dtype.Scalar { return b.Moderate(d) })
		views[i] = w[i].View
	}
	out := b.Result(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+1)%4], f.Shape))
	require.NoError(t, op.run(b, out.View, x.View, views, f.Dims[0]))
	rowsAre(t, b, op, out, x, w, f)
}

// rowsAre compares the result of an operation.
func rowsAre(t *testing.T, b *opstest.Bench, op rowOp, out, x *opstest.Value, w [2]*opstest.Value, f opstest.ReductionCase) {
	t.Helper()
	got := b.Read(t, out)
	at := func(k int, none float64) func(int) float64 {
		return func(i int) float64 {
			if w[k] == nil {
				return none
			}
			return w[k].Want[i].Float()
		}
	}
	d := out.DType
	_, rows := opstest.Along(f.Shape, f.Dims)
	for r, row := range rows {
		if len(row) == 0 {
			continue
		}
		in := make([]float64, len(row))
		for k, i := range row {
			in[k] = x.Want[i].Float()
		}
		want := op.want(in, at(0, 1), at(1, 0))
		scale := max(1, math.Abs(logSumOf(in)))
		for k, i := range row {
			slack := op.ulps * opstest.ULP(d.Compute(), max(1, math.Abs(want[k])))
			if op.name == "softmax" {
				slack = op.ulps * opstest.ULP(d.Compute(), want[k]) * scale
			}
			s := dtype.FromFloat(d, want[k])
			if d.Bits() < 32 {
				slack += opstest.ULP(d, s.Float())
			}
			if math.Abs(got[i].Float()-s.Float()) <= slack {
				continue
			}
			require.NoError(t, opstest.Near(got[i], s, 0), "%s of %v %v, row %d, element %d, slack %g", op.name, d, f, r, k, slack)
		}
	}
}

// specialRows tests rows with infinities and NaN, and numbers far from 0.
func specialRows(t *testing.T, b *opstest.Bench) {
	inf := math.Inf(1)
	x := b.Cycle(t, dtype.F32, layout.Shape{4, 3}, -inf, -inf, -inf, 1, math.NaN(), 2, inf, 1, 2, -inf, 0, 0)
	for dim, v := range map[int]*opstest.Value{1: x, 0: b.Cycle(t, dtype.F32, layout.Shape{3, 4}, -inf, 1, inf, -inf, -inf, math.NaN(), 1, 0, -inf, 2, 2, 0)} {
		out := b.Result(t, dtype.F32, layout.Contiguous(v.Layout.Shape()))
		require.NoError(t, rows.Softmax(b.Stream, out.View, v.View, dim, false))
		got := b.Read(t, out)
		_, rows := opstest.Along(v.Layout.Shape(), []int{dim})
		for r := range 3 {
			require.True(t, math.IsNaN(got[rows[r][0]].Float()), "row %d", r)
		}
		for k, want := range []float64{0, 0.5, 0.5} {
			require.Equal(t, want, got[rows[3][k]].Float())
		}
	}
	// Numbers far from 0 that differ little: their variance is not lost.
	n := 600
	far := make([]float64, n)
	for i := range far {
		far[i] = 1e6 + float64(i%2)
	}
	for dim, shape := range []layout.Shape{{n, 1}, {1, n}} {
		v := b.Cycle(t, dtype.F32, shape, far...)
		out := b.Result(t, dtype.F32, layout.Contiguous(shape))
		require.NoError(t, rows.LayerNorm(b.Stream, out.View, v.View, ops.View{}, ops.View{}, dim, 0))
		for i, got := range b.Read(t, out) {
			require.InDelta(t, float64(i%2*2-1), got.Float(), 0.2)
		}
	}
	f := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{4, 3}))
	w := b.Cycle(t, dtype.F32, layout.Shape{4}, 1)
	require.ErrorIs(t, rows.RMSNorm(b.Stream, f.View, x.View, w.View, 1, 0), layout.ErrShape)
	require.ErrorIs(t, rows.Softmax(b.Stream, f.View, x.View, 2, false), layout.ErrDim)
	i := b.Cycle(t, dtype.I32, layout.Shape{4, 3}, 1)
	require.ErrorIs(t, rows.Softmax(b.Stream, i.View, i.View, 1, false), ops.ErrDType)
}

// rowCases are those that tensor libraries are compared by.
func rowCases(t *testing.T, b *opstest.Bench) {
	cube := []float64{3, 1, 4, 1, 5, 9, 2, 1, 7, 8, 2, 8}
	logs := eachOf(cube, func(_ int, v float64) float64 { return math.Log(v) })
	x := b.Cycle(t, dtype.F32, layout.Shape{2, 2, 3}, cube...)
	l := b.Cycle(t, dtype.F32, layout.Shape{2, 2, 3}, logs...)
	pair := b.Cycle(t, dtype.F32, layout.Shape{2}, 1234, 0)
	scale := b.Cycle(t, dtype.F32, layout.Shape{3}, 1, 2, 3)
	shift := b.Cycle(t, dtype.F32, layout.Shape{3}, 0.5, 0, -0.2)
	soft := func(dim int) func(out, x ops.View) error {
		return func(out, x ops.View) error { return rows.Softmax(b.Stream, out, x, dim, false) }
	}
	for _, c := range []struct {
		number int
		x      *opstest.Value
		run    func(out, x ops.View) error
		want   []float64
		within float64
	}{
		{89, l, soft(0), []float64{0.6, 0.5, 0.3636, 0.1111, 0.7143, 0.5294, 0.4, 0.5, 0.6364, 0.8889, 0.2857, 0.4706}, 1e-4},
		{89, l, soft(1), []float64{0.75, 0.1667, 0.3077, 0.25, 0.8333, 0.6923, 0.2, 0.3333, 0.4667, 0.8, 0.6667, 0.5333}, 1e-4},
		{89, l, soft(2), []float64{0.375, 0.125, 0.5, 0.0667, 0.3333, 0.6, 0.2, 0.1, 0.7, 0.4444, 0.1111, 0.4444}, 1e-4},
		{90, pair, soft(0), []float64{1, 0}, 0},
		{91, x, func(out, x ops.View) error { return rows.RMSNorm(b.Stream, out, x, scale.View, -1, 1e-5) },
			[]float64{1.019, 0.6794, 4.0762, 0.1674, 1.6744, 4.521, 0.4714, 0.4714, 4.9497, 1.206, 0.603, 3.6181}, 1e-4},
		{93, x, func(out, x ops.View) error { return rows.LayerNorm(b.Stream, out, x, scale.View, shift.View, -1, 1e-5) },
			[]float64{0.7673, -2.6726, 3.0071, -0.7247, 0, 3.4742, -0.008, -1.778, 3.991, 1.2071, -2.8284, 1.9213}, 1e-4},
	} {
		out := b.Result(t, dtype.F32, layout.Contiguous(c.x.Layout.Shape()))
		require.NoError(t, c.run(out.View, c.x.View))
		for i, got := range b.Read(t, out) {
			require.InDelta(t, c.want[i], got.Float(), c.within, "case %d, element %d", c.number, i)
		}
	}
	huge := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{4, 6912}), func() dtype.Scalar { return dtype.FromFloat(dtype.F32, (b.Rand.Float64()*2-1)*7e9) })
	out := b.Result(t, dtype.F32, layout.Contiguous(huge.Layout.Shape()))
	require.NoError(t, rows.RMSNorm(b.Stream, out.View, huge.View, ops.View{}, 1, 1e-5), "case 92")
	rowsAre(t, b, rowOps[2], out, huge, [2]*opstest.Value{}, opstest.ReductionCase{Shape: huge.Layout.Shape(), Dims: []int{1}})
}

// manyRows are rows that persistent blocks stage in shared memory, where that is large enough.
func manyRows(t *testing.T, b *opstest.Bench, op rowOp) {
	rows := 2
	if info := b.Device.Info(); info.SharedPerBlock > 64<<10 && info.Cooperative {
		rows = 2*info.Units + 1
	}
	checkRow(t, b, op, dtype.F32, opstest.ReductionCase{Shape: layout.Shape{rows, 8200}, Dims: []int{1}}, 0, op.weights)
	checkRow(t, b, op, dtype.F32, opstest.ReductionCase{Shape: layout.Shape{rows, 8203}, Dims: []int{1}}, 0, 0)
	checkRow(t, b, op, dtype.BF16, opstest.ReductionCase{Shape: layout.Shape{rows, 8200}, Dims: []int{1}}, 0, op.weights)
}
