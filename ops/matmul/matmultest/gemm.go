package matmultest

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
)

// matrices are the shapes of two to multiply: m, k, n with dimensions that count them.
type matrices struct {
	batchA, batchB layout.Shape
	m, k, n        int
}

var products = []matrices{
	{m: 1, k: 1, n: 1}, {m: 33, k: 17, n: 40}, {m: 128, k: 16, n: 128}, {m: 5, k: 300, n: 6}, {m: 64, k: 7, n: 130},
	{m: 1, k: 70, n: 50}, {m: 40, k: 200, n: 1}, {m: 2, k: 64, n: 96}, {m: 65, k: 40, n: 3}, {m: 1, k: 2500, n: 2}, {m: 30, k: 2048, n: 4}, {m: 1, k: 37, n: 2500}, {m: 3, k: 150, n: 1001},
	{m: 20, k: 4100, n: 24}, {m: 13, k: 4101, n: 48}, {m: 0, k: 3, n: 2}, {m: 3, k: 0, n: 4}, {m: 3, k: 4, n: 0},
	{layout.Shape{2, 3}, layout.Shape{2, 3}, 9, 8, 12}, {layout.Shape{3, 1}, layout.Shape{6}, 4, 5, 7}, {layout.Shape{4}, layout.Shape{}, 6, 20, 16},
	{layout.Shape{}, layout.Shape{2, 2}, 20, 12, 30}, {layout.Shape{5}, layout.Shape{1}, 1, 33, 8}, {layout.Shape{0}, layout.Shape{1}, 2, 3, 4},
	{layout.Shape{3}, layout.Shape{3}, 5, 1101, 2}, {layout.Shape{3}, layout.Shape{3}, 2, 40, 5}, {layout.Shape{2, 3}, layout.Shape{3}, 9, 21, 96},
}

// Matmul tests products of matrices.
func Matmul(t *testing.T, b *opstest.Bench) {
	for _, d := range dtype.All() {
		if !b.Has(d) {
			continue
		}
		for n, c := range products {
			if d == dtype.F32 || opstest.Choice(3, d, c) == 0 {
				b.Part(t, func(t *testing.T, b *opstest.Bench) { product(t, b, d, n, b.Kind(), "") }, "%v/%v", d, c)
			}
		}
		for _, way := range matmulops.MatmulStrategies() {
			if d.Compute().Size() <= 4 || !strings.Contains(way, "128") { // there is no room in shared memory
				b.Part(t, func(t *testing.T, b *opstest.Bench) { product(t, b, d, 1+b.Rand.IntN(4), b.Kind(), way) }, "%v/%s", d, way)
			}
		}
	}
	for kind := range 16 { // all pairs of layouts, of a tile and of a skinny one
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			product(t, b, dtype.F32, 1, kind*7, "")
			product(t, b, dtype.F32, 1, kind*7, "tiles of 32x32x16")
			product(t, b, dtype.F32, 7, kind*7, "")
			product(t, b, dtype.F32, 8, kind*7, "")
			product(t, b, dtype.BF16, []int{1, 4, 15, 16, 17}[kind%5], kind*7, "matrix tiles of padded factors")
		}, "Layouts/%d", kind)
	}
	for _, d := range dtype.All() {
		for n, c := range products {
			if b.Has(d) && min(c.m, c.n) <= 4 && len(c.batchA)+len(c.batchB) == 0 && opstest.Choice(2, d, c) == 0 {
				b.Part(t, func(t *testing.T, b *opstest.Bench) { product(t, b, d, n, 5*b.Rand.IntN(4), "skinny in vectors") }, "%v/%v in vectors", d, c)
			}
		}
	}
	for _, n := range []int{len(products) - 2, len(products) - 1} { // whose blocks may do several products
		b.Part(t, func(t *testing.T, b *opstest.Bench) { product(t, b, dtype.F32, n, 0, "skinny in vectors") }, "Batch/%d", n)
	}
	for _, r := range results {
		if !b.Has(r.factors) || !b.Has(r.out) {
			continue
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) {
			for range 3 {
				productAs(t, b, r.factors, r.out, b.Rand.IntN(len(products)), b.Kind(), "")
			}
			for _, way := range matmulops.MatmulStrategies() {
				if opstest.Choice(3, r, way) == 0 {
					productAs(t, b, r.factors, r.out, 1+b.Rand.IntN(4), b.Kind(), way)
				}
			}
		}, "Results/%v/%v", r.factors, r.out)
	}
	for i, way := range append([]string{""}, matmulops.MatmulStrategies()...) {
		if way == "" || strings.HasPrefix(way, "matrix") {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { lowPrecision(t, b, i, matmulops.High, way) }, "High/%s", way)
		}
	}
	for i, o := range []matmulops.Precision{matmulops.Split, matmulops.High, matmulops.Medium} {
		for j := range 4 {
			b.Part(t, func(t *testing.T, b *opstest.Bench) { lowPrecision(t, b, 5*i+j, o, "matrix tiles of bfloat16 parts") }, "Parts/%d/%d", o, j)
		}
	}
	epilogues(t, b)
	b.Part(t, func(t *testing.T, b *opstest.Bench) { matmulCases(t, b) }, "Cases")
	t.Run("Errors", func(t *testing.T) { matmulErrors(t, b) })
}

// results are types of products that are not those of the factors.
var results = []struct{ factors, out dtype.DType }{
	{dtype.I8, dtype.I32}, {dtype.U8, dtype.U32}, {dtype.U8, dtype.I32}, {dtype.F8E4M3, dtype.BF16}, {dtype.F8E4M3, dtype.F16},
	{dtype.F8E5M2, dtype.F32}, {dtype.BF16, dtype.F32}, {dtype.F16, dtype.F32},
}

func join(a layout.Shape, b ...int) layout.Shape { return append(append(layout.Shape{}, a...), b...) }

// product tests one product in some way, with operands that lie as kind says.
func product(t *testing.T, b *opstest.Bench, d dtype.DType, n, kind int, way string) {
	t.Helper()
	productAs(t, b, d, d, n, kind, way)
}

// productAs is product with results of another type.
func productAs(t *testing.T, b *opstest.Bench, d, o dtype.DType, n, kind int, way string) {
	t.Helper()
	c := products[n]
	draw := func() dtype.Scalar { return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/8) }
	if d.IsInt() {
		draw = func() dtype.Scalar { return b.Number(d) }
	}
	x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], join(c.batchA, c.m, c.k)), draw)
	y := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind/len(opstest.Kinds)%len(opstest.Kinds)], join(c.batchB, c.k, c.n)), draw)
	batch, err := layout.Broadcast(c.batchA, c.batchB)
	require.NoError(t, err)
	out := b.Output(t, o, join(batch, c.m, c.n), kind/2)
	switch {
	case way == "":
		require.NoError(t, matmulops.Matmul(b.Stream, out.View, x.View, y.View))
	case strings.HasPrefix(way, "skinny") && min(c.m, c.n) > 4:
		return
	default:
		err := matmulops.MatmulBy(b.Stream, way, out.View, x.View, y.View)
		if errors.Is(err, jit.ErrUnsupported) {
			shape := func(f dsl.MatrixFact) int { return jit.MatrixShape(b.Device, d.Type(), f) }
			if way != "packed in blocks" { // which is not for all types
				require.Zero(t, shape(dsl.MatrixWarpgroup)*shape(dsl.MatrixTransposes), way)
			}
			return
		}
		if err != nil && b.Device.Info().SharedPerBlock < 80<<10 { // strategies that are not taken by themselves there
			require.ErrorContains(t, err, "bytes of shared memory", way)
			return
		}
		require.NoError(t, err, way)
	}
	got, i := b.Read(t, out), 0
	opstest.EachIndex(out.Layout.Shape(), func(at []int) {
		lead, row, col := at[:len(at)-2], at[len(at)-2], at[len(at)-1]
		want, size := SumOfProducts(o, c.k, func(k int) (dtype.Scalar, dtype.Scalar) {
			return x.Want[(aligned(lead, c.batchA)*c.m+row)*c.k+k], y.Want[(aligned(lead, c.batchB)*c.k+k)*c.n+col]
		})
		require.NoError(t, Within(got[i], want, size), "%v by %v of %v, element %v", x.Layout, y.Layout, d, at)
		i++
	})
}

// precisions are the errors of products, as powers of two of the sum of their magnitudes: TF32 cuts
// factors off, by less than 2⁻¹⁰ of them, and BF16 rounds them to 8 bits.
var precisions = map[matmulops.Precision]int{matmulops.Split: -18, matmulops.High: -9, matmulops.Medium: -7}

// lowPrecision tests products of float32 of which fewer bits count, if the device has instructions
// for it.
func lowPrecision(t *testing.T, b *opstest.Bench, i int, o matmulops.Precision, way string) {
	const m, k, n = 70, 129, 68
	draw := func() dtype.Scalar { return b.Moderate(dtype.F32) }
	x := b.Value(t, dtype.F32, opstest.LayoutOf(t, opstest.Kinds[i%4], layout.Shape{m, k}), draw)
	y := b.Value(t, dtype.F32, opstest.LayoutOf(t, opstest.Kinds[i/2%4], layout.Shape{k, n}), draw)
	out := b.Output(t, dtype.F32, layout.Shape{m, n}, 0)
	err := matmulops.MatmulWith(b.Stream, matmulops.Options{Precision: o, Strategy: way}, out.View, x.View, y.View)
	if way != "" && errors.Is(err, jit.ErrUnsupported) {
		return
	}
	if way != "" && err != nil && b.Device.Info().SharedPerBlock < 80<<10 {
		require.ErrorContains(t, err, "bytes of shared memory", way)
		return
	}
	require.NoError(t, err)
	tf32 := jit.MatrixShape(b.Device, reflect.TypeFor[dsl.TF32](), dsl.MatrixM) > 0
	worst := 0.0
	for at, got := range b.Read(t, out) {
		want, size := SumOfProducts(dtype.F32, k, func(i int) (dtype.Scalar, dtype.Scalar) { return x.Want[at/n*k+i], y.Want[i*n+at%n] })
		if tf32 || strings.HasSuffix(way, "parts") {
			require.InDelta(t, want.Float(), got.Float(), size*math.Ldexp(1, precisions[o]), "element %d", at)
			worst = max(worst, math.Abs(want.Float()-got.Float())/size)
			continue
		}
		require.NoError(t, Within(got, want, size), "element %d", at)
	}
	if o == matmulops.Medium {
		require.Greater(t, worst, math.Ldexp(1, -16), "no bits were left out")
	}
}

// aligned is the number of a matrix in a batch that is broadcast.
func aligned(at []int, s layout.Shape) int {
	at = at[len(at)-len(s):]
	n := 0
	for d := range s {
		n *= s[d]
		if s[d] > 1 {
			n += at[d]
		}
	}
	return n
}

// SumOfProducts adds n products, and their magnitudes.
func SumOfProducts(d dtype.DType, n int, of func(i int) (x, y dtype.Scalar)) (sum dtype.Scalar, size float64) {
	var floats float64
	var ints int64
	for i := range n {
		x, y := of(i)
		if d.IsInt() {
			ints += x.Int() * y.Int()
			continue
		}
		p := x.Float() * y.Float()
		floats += p
		size += math.Abs(p)
	}
	if d.IsInt() {
		return dtype.FromBits(d, uint64(ints)), 0
	}
	return dtype.FromFloat(d, floats), size
}

// Within compares a sum of products of some size: errors are those of sums in F32, or F64,
// and of rounding the result once.
func Within(got, want dtype.Scalar, size float64) error {
	d := got.DType()
	if d.IsInt() {
		return opstest.Near(got, want, 0)
	}
	if math.Abs(got.Float()-want.Float()) <= size*math.Ldexp(1, -18) {
		return nil
	}
	return opstest.Near(got, want, 1)
}

// matmulCases are examples with known results.
func matmulCases(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
		x := b.Of(t, d, layout.Shape{2, 2}, 1, 2, 3, 4)
		out := b.Output(t, d, layout.Shape{2, 2}, 0)
		require.NoError(t, matmulops.Matmul(b.Stream, out.View, x.View, x.View))
		b.WantNumbers(t, out, 7, 10, 15, 22)
	}
	x := b.Of(t, dtype.F32, layout.Shape{2, 2, 3}, opstest.Sequence(0, 12)...)
	y := b.Of(t, dtype.F32, layout.Shape{2, 3, 2}, opstest.Sequence(2, 12)...)
	out := b.Output(t, dtype.F32, layout.Shape{2, 2, 2}, 0)
	require.NoError(t, matmulops.Matmul(b.Stream, out.View, x.View, y.View))
	b.WantNumbers(t, out, 16, 19, 52, 64, 214, 235, 304, 334)
}

// matmulErrors are operands that do not fit.
func matmulErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	require.ErrorContains(t, matmulops.Matmul(b.Stream, view(f, 0, 4), view(f, 0, 2), view(f, 3, 4)), "shape mismatch in matmul, lhs: [0, 2] rhs: [3, 4]")
	require.ErrorIs(t, matmulops.Matmul(b.Stream, view(f, 0, 3), view(f, 0, 2), view(dtype.F16, 2, 3)), ops.ErrDType)
	for _, r := range [][2]dtype.DType{{f, dtype.F16}, {f, dtype.F64}, {dtype.I8, dtype.I16}, {dtype.I8, dtype.U32}, {dtype.I16, dtype.I32}, {dtype.BF16, dtype.F16}, {dtype.F16, f + 1}} {
		require.ErrorIs(t, matmulops.Matmul(b.Stream, view(r[1], 2, 2), view(r[0], 2, 2), view(r[0], 2, 2)), ops.ErrDType, "%v", r)
	}
	require.ErrorIs(t, matmulops.Matmul(b.Stream, view(f, 3), view(f, 3), view(f, 3, 3)), layout.ErrRank)
	require.ErrorIs(t, matmulops.Matmul(b.Stream, view(f, 2, 3, 3), view(f, 3, 3, 3), view(f, 3, 3)), layout.ErrBroadcast)
	require.ErrorContains(t, matmulops.MatmulBy(b.Stream, "magic", view(f, 2, 2), view(f, 2, 2), view(f, 2, 2)), `no strategy "magic"`)
	require.ErrorIs(t, matmulops.MatmulBy(b.Stream, "skinny", view(f, 9, 9), view(f, 9, 9), view(f, 9, 9)), layout.ErrShape)
}
