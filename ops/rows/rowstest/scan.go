package rowstest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise/elementwisetest"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/ops/rows"
)

// scanned is what a scan computes, and how many ulps of the intermediate sums it may
// be off.
type scanned struct {
	float func(a, b float64) float64
	int   func(a, b int64) int64
	ulps  float64
}

// Scans is what scans give, by their names.
var Scans = map[string]scanned{
	"cumsum":  {func(a, b float64) float64 { return a + b }, func(a, b int64) int64 { return a + b }, 8},
	"cumprod": {func(a, b float64) float64 { return a * b }, func(a, b int64) int64 { return a * b }, 40000},
	"cummax":  {func(a, b float64) float64 { return max(a, b) }, func(a, b int64) int64 { return max(a, b) }, 0},
	"cummin":  {func(a, b float64) float64 { return min(a, b) }, func(a, b int64) int64 { return min(a, b) }, 0},

	"logcumsumexp": {float: elementwisetest.LogAddExp, ulps: 8},
}

var scanShapes = []opstest.ReductionCase{
	{Shape: layout.Shape{1}, Dims: []int{0}}, {Shape: layout.Shape{7}, Dims: []int{0}}, {Shape: layout.Shape{33, 5}, Dims: []int{1}}, {Shape: layout.Shape{33, 5}, Dims: []int{0}}, {Shape: layout.Shape{3, 300}, Dims: []int{1}},
	{Shape: layout.Shape{300, 40}, Dims: []int{0}}, {Shape: layout.Shape{2, 30, 5}, Dims: []int{1}}, {Shape: layout.Shape{3, 0}, Dims: []int{1}}, {Shape: layout.Shape{5, 1, 3}, Dims: []int{1}},
	{Shape: layout.Shape{2, 20001}, Dims: []int{1}}, {Shape: layout.Shape{9001, 17}, Dims: []int{0}}, {Shape: layout.Shape{70, 257}, Dims: []int{-1}}, {Shape: layout.Shape{33001}, Dims: []int{0}},
}

// scanColumns go down columns that are contiguous, more of them than blocks have at once.
var scanColumns = []opstest.ReductionCase{{Shape: layout.Shape{1100, 40}, Dims: []int{0}}, {Shape: layout.Shape{2, 601, 50}, Dims: []int{1}}, {Shape: layout.Shape{3000, 16}, Dims: []int{0}}, {Shape: layout.Shape{512, 80}, Dims: []int{0}}}

// Scan tests scans.
func Scan(t *testing.T, b *opstest.Bench) {
	for _, c := range rows.Scans() {
		ref, ok := Scans[c.Name()]
		require.True(t, ok, "scan %s has no reference", c.Name())
		for _, f := range scanShapes {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { scan(t, b, c, ref, dtype.F32, f, b.Kind()) }, "%s/%v", c.Name(), f)
		}
		for _, d := range dtype.All() {
			if !c.Takes(d) {
				require.ErrorIs(t, c.Run(b.Stream, ops.View{DType: d}, ops.View{DType: d}, 0), ops.ErrDType)
			} else if b.Has(d) {
				b.Part(t, func(t *testing.T, b *opstest.Bench) {
					for range 2 {
						scan(t, b, c, ref, d, scanShapes[b.Rand.IntN(len(scanShapes))], b.Kind())
					}
				}, "%s/%v", c.Name(), d)
			}
		}
	}
	for _, c := range rows.Scans() {
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for i, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.U8} {
				if c.Takes(d) {
					CheckScan(t, b, c, Scans[c.Name()], d, scanColumns[i], "dense", "dense")
				}
			}
			if c.Takes(dtype.BF16) { // halves, of which threads have two columns, and blocks several rows
				CheckScan(t, b, c, Scans[c.Name()], dtype.BF16, opstest.ReductionCase{Shape: layout.Shape{700, 72}, Dims: []int{0}}, "dense", "dense")
				CheckScan(t, b, c, Scans[c.Name()], dtype.BF16, opstest.ReductionCase{Shape: layout.Shape{150, 512}, Dims: []int{1}}, "dense", "dense")
			}
			CheckScan(t, b, c, Scans[c.Name()], dtype.F32, scanColumns[1], "narrowed", "dense")
			CheckScan(t, b, c, Scans[c.Name()], dtype.F32, scanColumns[3], "dense", "narrowed")
		}, "%s/Columns", c.Name())
	}
	b.Part(t, func(t *testing.T, b *opstest.Bench) {
		x := b.Cycle(t, dtype.F32, layout.Shape{5}, 3, 1, 4, 1, 5)
		out := b.Result(t, dtype.F32, layout.Contiguous(layout.Shape{5}))
		require.NoError(t, rows.CumSum.Run(b.Stream, out.View, x.View, 0))
		for i, want := range []float64{3, 4, 8, 9, 14} {
			require.Equal(t, want, b.Read(t, out)[i].Float(), "case 39")
		}
		nan := b.Cycle(t, dtype.F32, layout.Shape{5}, 3, 4, math.NaN(), 1, 9)
		for _, c := range rows.Scans() {
			require.NoError(t, c.Run(b.Stream, out.View, nan.View, 0))
			for i, got := range b.Read(t, out) {
				require.Equal(t, i >= 2, math.IsNaN(got.Float()), "%s, element %d", c.Name(), i)
			}
		}
		require.ErrorIs(t, rows.CumSum.Run(b.Stream, out.View, x.View, 1), layout.ErrDim)
		require.ErrorIs(t, rows.CumSum.Run(b.Stream, ops.View{DType: dtype.F16, Layout: out.Layout}, x.View, 0), ops.ErrDType)
	}, "Cases")
}

// scan tests a scan of an operand in one of the kinds of layouts.
func scan(t *testing.T, b *opstest.Bench, c *rows.Scan, ref scanned, d dtype.DType, f opstest.ReductionCase, kind int) {
	t.Helper()
	CheckScan(t, b, c, ref, d, f, opstest.Kinds[kind%len(opstest.Kinds)], opstest.Kinds[(kind+1)%4])
}

// CheckScan tests a scan of an operand of one layout, to a result of another.
func CheckScan(t *testing.T, b *opstest.Bench, c *rows.Scan, ref scanned, d dtype.DType, f opstest.ReductionCase, from, to string) {
	t.Helper()
	draw := b.Moderate
	if c.Name() == "cumprod" {
		draw = func(d dtype.DType) dtype.Scalar {
			if d.IsInt() {
				return positive(b, d)
			}
			return dtype.FromFloat(d, 0.999+b.Rand.Float64()*0.002) // products of many are finite
		}
	}
	x := b.Value(t, d, opstest.LayoutOf(t, from, f.Shape), func() dtype.Scalar { return draw(d) })
	out := b.Result(t, d, opstest.LayoutOf(t, to, f.Shape))
	require.NoError(t, c.Run(b.Stream, out.View, x.View, f.Dims[0]))
	got := b.Read(t, out)
	_, rows := opstest.Along(f.Shape, f.Dims)
	for _, row := range rows {
		var a, size float64
		var w int64
		for k, i := range row {
			v := x.Want[i]
			if k == 0 {
				a, size, w = v.Float(), math.Abs(v.Float()), v.Int()
			} else if size = max(size+math.Abs(v.Float()), math.Abs(a)); d.IsInt() {
				w = dtype.FromBits(d, uint64(ref.int(w, v.Int()))).Int()
			} else {
				a = ref.float(a, v.Float())
			}
			want, slack := dtype.FromFloat(d, a), 0.0
			if d.IsInt() {
				want = dtype.FromBits(d, uint64(w))
			} else if ref.ulps > 0 {
				slack = ref.ulps * opstest.ULP(d.Compute(), size)
				if d == dtype.F64 { // the reference rounds as often
					slack += float64(k) * opstest.ULP(d, size)
				}
			}
			if d.IsFloat() && d.Bits() < 32 {
				slack += opstest.ULP(d, want.Float())
			}
			if d.IsInt() || math.Abs(got[i].Float()-want.Float()) > slack {
				require.NoError(t, opstest.Near(got[i], want, 0), "%s of %v %v, element %d, slack %g", c.Name(), d, f, k, slack)
			}
		}
	}
}
