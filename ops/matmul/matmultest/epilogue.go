package matmultest

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	matmulops "github.com/gokiln/kiln/ops/matmul"
	"github.com/gokiln/kiln/ops/opstest"
)

// activation is one to test: its operation, nil for none, and the reference.
type activation struct {
	op *elementwise.Elementwise
	of func(x float64) float64
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// activations by their names.
var activations = map[string]activation{
	"none":     {nil, func(x float64) float64 { return x }},
	"relu":     {elementwise.Relu, func(x float64) float64 { return max(x, 0) }},
	"gelu":     {elementwise.Gelu, func(x float64) float64 { return x * sigmoid(2*math.Sqrt(2/math.Pi)*x*(1+0.044715*x*x)) }},
	"gelu_erf": {elementwise.GeluErf, func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }},
	"silu":     {elementwise.Silu, func(x float64) float64 { return x * sigmoid(x) }},
	"sigmoid":  {elementwise.Sigmoid, sigmoid},
	"tanh":     {elementwise.Tanh, math.Tanh},
}

// epilogue is a case: of a type, in some way, with what is added to sums.
type epilogue struct {
	d        dtype.DType
	n, kind  int    // product and layouts
	way, act string // strategy and activation
	bias     string // none, columns, rows or each
	scale    bool
	residual bool
	up       bool
}

// epilogues tests all combinations of what an epilogue has, of a type and a product each, and all
// strategies with all of it.
func epilogues(t *testing.T, b *opstest.Bench) {
	ways := append([]string{""}, matmulops.MatmulStrategies()...)
	if b.Some() && jit.MatrixShape(b.Device, dtype.BF16.Type(), dsl.MatrixM) == 0 { // whose large tiles are the same code
		ways = slices.DeleteFunc(ways, func(way string) bool { return strings.Contains(way, "128") })
	}
	add := func(c epilogue) {
		if !b.Has(c.d) || c.d.Compute().Size() > 4 && strings.Contains(c.way, "128") {
			return
		}
		b.Part(t, func(t *testing.T, b *opstest.Bench) { c.run(t, b) }, "Epilogue/%v/%s/%s bias/scale %t/residual %t/up %t/%s", c.d, c.act, c.bias, c.scale, c.residual, c.up, c.way)
	}
	for act := range activations {
		for _, bias := range []string{"none", "columns", "rows", "each"} {
			for i := range 8 {
				c := epilogue{act: act, bias: bias, scale: i&1 > 0, residual: i&2 > 0, up: i&4 > 0}
				types := dtype.All()
				if act != "none" && act != "relu" || c.scale {
					types = dtype.Floats()
				}
				c.d = types[opstest.Choice(len(types), "type", act, bias, i)]
				c.way = ways[opstest.Choice(len(ways), "way", act, bias, i)]
				c.n, c.kind = opstest.Choice(len(products), "shape", act, bias, i), opstest.Choice(100, "kind", act, bias, i)
				if opstest.Choice(4, act, bias, i) == 0 {
					add(c)
				}
			}
		}
	}
	for i, way := range ways {
		for _, d := range []dtype.DType{dtype.F32, dtype.BF16} {
			n := []int{1, 4, 3, 2, 15}[i%5]
			if strings.HasPrefix(way, "skinny") {
				n = 8
			}
			add(epilogue{d: d, n: n, kind: 7 * i, way: way, act: "silu", bias: []string{"columns", "rows"}[i%2], scale: true, residual: i%3 > 0, up: i%3 == 1})
		}
	}
	for _, way := range []string{"", "matrix tiles of 64x64 by 2x1 warps in 4 stages"} { // long sums, which are divided, and none
		for _, n := range []int{11, 13, 17} {
			add(epilogue{d: dtype.BF16, n: n, kind: n, way: way, act: "gelu_erf", bias: "columns", scale: true, residual: true})
		}
	}
	for i, n := range []int{1, 3, 4, 15, 16, 18} { // tiles of both factors of gated units
		for j, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.F64, dtype.I32} {
			if j == 0 || opstest.Choice(3, i, j) == 0 {
				c := epilogue{d: d, n: n, kind: []int{0, 5, 10, 16}[(i+j)%4], way: "matrix tiles of 64x64 by 2x1 warps in 4 stages", act: "silu", bias: "columns", up: true, residual: i%2 > 0}
				if d.IsInt() {
					c.act = "relu"
				}
				add(c)
			}
		}
	}
	for kind := range 16 {
		add(epilogue{d: dtype.F32, n: 1, kind: kind * 7, act: "relu", bias: "columns", residual: true, up: kind%2 > 0})
	}
	gaps(t, b)
	randomProducts(t, b)
	b.Part(t, epilogueCases, "Epilogue/Cases")
	t.Run("Epilogue/Errors", func(t *testing.T) { epilogueErrors(t, b) })
}

// operand draws numbers of which sums of products are small.
func operand(t *testing.T, b *opstest.Bench, d dtype.DType, s layout.Shape, kind int) *opstest.Value {
	return b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[kind%len(opstest.Kinds)], s), func() dtype.Scalar {
		if d.IsInt() {
			return b.Number(d)
		}
		return dtype.FromFloat(d, float64(b.Rand.IntN(33)-16)/16)
	})
}

func (c *epilogue) run(t *testing.T, b *opstest.Bench) {
	s, d := products[c.n], c.d
	if strings.HasPrefix(c.way, "skinny") && min(s.m, s.n) > 4 {
		return
	}
	batch, err := layout.Broadcast(s.batchA, s.batchB)
	require.NoError(t, err)
	x, y := operand(t, b, d, join(s.batchA, s.m, s.k), c.kind), operand(t, b, d, join(s.batchB, s.k, s.n), c.kind/5)
	out := b.Output(t, d, join(batch, s.m, s.n), c.kind/2)
	o := matmulops.Options{Strategy: c.way, Epilogue: matmulops.Epilogue{Act: activations[c.act].op}}
	var bias, up, residual *opstest.Value
	scale := 1.0
	if c.scale {
		scale = 0.375
		o.Scale = dtype.FromFloat(dtype.F64, scale)
	}
	biasShape := map[string]layout.Shape{"columns": {s.n}, "rows": {s.m, 1}, "each": join(batch, s.m, s.n)}[c.bias]
	if c.bias != "none" {
		bias = operand(t, b, d, biasShape, c.kind/3)
		o.Bias = bias.View
	}
	if c.up {
		kind := c.kind / 5 // as y, so that a tile may have columns of both
		if c.kind%4 == 3 {
			kind++
		}
		up = operand(t, b, d, join(s.batchB, s.k, s.n), kind)
		o.Up = up.View
	}
	if c.residual {
		residual = operand(t, b, d, join(batch, s.m, s.n), c.kind)
		o.Residual = residual.View
	}
	err = matmulops.MatmulWith(b.Stream, o, out.View, x.View, y.View)
	if errors.Is(err, jit.ErrUnsupported) || err != nil && c.way != "" && b.Device.Info().SharedPerBlock < 80<<10 {
		return // a strategy that is not taken by itself there
	}
	if strings.HasPrefix(c.way, "skinny") && errors.Is(err, layout.ErrShape) {
		return // rows of several products are those of one, which has too many
	}
	require.NoError(t, err, c.way)
	got, i := b.Read(t, out), 0
	opstest.EachIndex(out.Layout.Shape(), func(at []int) {
		lead, row, col := at[:len(at)-2], at[len(at)-2], at[len(at)-1]
		sum := func(y *opstest.Value) (dtype.Scalar, float64) {
			return SumOfProducts(d.Compute(), s.k, func(k int) (dtype.Scalar, dtype.Scalar) {
				return x.Want[(aligned(lead, s.batchA)*s.m+row)*s.k+k], y.Want[(aligned(lead, s.batchB)*s.k+k)*s.n+col]
			})
		}
		of := func(v *opstest.Value, shape layout.Shape) dtype.Scalar {
			if v == nil {
				return dtype.Zero(d)
			}
			return v.Want[aligned(at, shape)]
		}
		v, size := sum(y)
		r := result{d: d, act: c.act, scale: scale, sum: v, size: size, factor: dtype.One(d.Compute()), lost: math.Ldexp(1, -18), unit: math.Ldexp(1, -19)}
		if d.Bits() < 32 {
			r.unit = math.Ldexp(1, -12)
		}
		r.bias, r.residual = of(bias, biasShape), of(residual, join(batch, s.m, s.n))
		if up != nil {
			r.factor, r.more = sum(up)
		}
		require.NoError(t, r.check(got[i]), "%+v of %+v, element %v", c, s, at)
		i++
	})
}

// result is what an element is made of.
type result struct {
	d                           dtype.DType
	act                         string
	scale                       float64
	sum, bias, factor, residual dtype.Scalar
	size, more                  float64 // magnitudes of the sums of products, of the first and the second
	lost, unit                  float64 // errors, as parts of the magnitude of a sum and of a result
}

// check compares an element with what it has to be: the sums have errors, which activations make at
// most an eighth larger; these have some of their own, and the result is rounded once.
func (r *result) check(got dtype.Scalar) error {
	if r.d.IsInt() {
		want := r.sum.Int() + r.bias.Int()
		if w := dtype.FromBits(r.d, uint64(want)); r.act == "relu" && w.Int() < 0 {
			want = 0
		}
		return opstest.Near(got, dtype.FromBits(r.d, uint64(want*r.factor.Int()+r.residual.Int())), 0)
	}
	act := activations[r.act].of(r.scale*r.sum.Float() + r.bias.Float())
	want := act*r.factor.Float() + r.residual.Float()
	sums := 1.2*(math.Abs(r.scale)*r.size+math.Abs(r.bias.Float()))*math.Abs(r.factor.Float()) + math.Abs(act)*r.more
	allowed := r.lost*sums + r.unit*(math.Abs(want-r.residual.Float())+math.Abs(r.residual.Float()))
	if math.Abs(got.Float()-want) <= allowed {
		return nil
	}
	low, high := opstest.Near(got, dtype.FromFloat(r.d, want-allowed), 1), opstest.Near(got, dtype.FromFloat(r.d, want+allowed), 1)
	if low == nil || high == nil {
		return nil
	}
	return errors.Join(low, high)
}

// epilogueCases have known results, which others would be of a bias along the wrong dimension, or
// where results are stored transposed.
func epilogueCases(t *testing.T, b *opstest.Bench) {
	for _, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I32} {
		x, eye := b.Of(t, d, layout.Shape{2, 2}, 1, 2, 3, 4), b.Of(t, d, layout.Shape{2, 2}, 1, 0, 0, 1)
		bias, down := b.Of(t, d, layout.Shape{2}, 10, 20), b.Of(t, d, layout.Shape{2, 1}, 10, 20)
		for kind := range 2 { // dense and transposed
			for _, way := range []string{"", "matrix tiles of 64x64 by 2x1 warps in 4 stages"} {
				if way != "" && (d != dtype.F32 || kind > 0 || b.Device.Info().SharedPerBlock < 80<<10) {
					continue
				}
				check := func(e matmulops.Epilogue, want ...float64) {
					out := b.Output(t, d, layout.Shape{2, 2}, kind)
					require.NoError(t, matmulops.MatmulWith(b.Stream, matmulops.Options{Strategy: way, Epilogue: e}, out.View, x.View, eye.View))
					b.WantNumbers(t, out, want...)
				}
				check(matmulops.Epilogue{Bias: bias.View}, 11, 22, 13, 24)
				check(matmulops.Epilogue{Bias: down.View}, 11, 12, 23, 24)
				check(matmulops.Epilogue{Residual: down.View, Bias: bias.View}, 21, 32, 33, 44)
				check(matmulops.Epilogue{Up: x.View, Bias: bias.View}, 77, 220, 195, 528)
			}
		}
	}
	// 1 + 2⁻⁸ of a sum is 1 in BF16, and 2⁻⁸ once 1 is taken away, if it is rounded once.
	d := dtype.BF16
	x, y := b.Of(t, d, layout.Shape{1, 2}, 1, math.Ldexp(1, -8)), b.Of(t, d, layout.Shape{2, 1}, 1, 1)
	less := b.Of(t, d, layout.Shape{1, 1}, -1)
	for _, e := range []matmulops.Epilogue{{Bias: less.View}, {Residual: less.View}} {
		out := b.Output(t, d, layout.Shape{1, 1}, 0)
		require.NoError(t, matmulops.MatmulWith(b.Stream, matmulops.Options{Epilogue: e}, out.View, x.View, y.View))
		b.WantNumbers(t, out, math.Ldexp(1, -8))
	}
}

// epilogueErrors are operands that do not fit.
func epilogueErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f, i := dtype.F32, dtype.I32
	run := func(d dtype.DType, e matmulops.Epilogue) error {
		return matmulops.MatmulWith(b.Stream, matmulops.Options{Epilogue: e}, view(d, 3, 4), view(d, 3, 2), view(d, 2, 4))
	}
	require.ErrorContains(t, run(f, matmulops.Epilogue{Bias: view(f, 3)}), "matmul with a bias: incompatible shapes for broadcasting: [3] to [3, 4]")
	require.ErrorContains(t, run(f, matmulops.Epilogue{Residual: view(f, 4, 3)}), "matmul with a residual: incompatible shapes for broadcasting: [4, 3] to [3, 4]")
	require.ErrorContains(t, run(f, matmulops.Epilogue{Bias: view(dtype.F16, 4)}), "unsupported element type: matmul of f32 with a bias of f16")
	require.ErrorContains(t, run(f, matmulops.Epilogue{Up: view(f, 4, 2)}), "shape mismatch: matmul by [2, 4] gated by [4, 2]")
	require.ErrorIs(t, run(f, matmulops.Epilogue{Up: view(dtype.F16, 2, 4)}), ops.ErrDType)
	require.ErrorContains(t, run(i, matmulops.Epilogue{Act: elementwise.Gelu}), "matmul with an activation: unsupported element type: gelu of i32: it is for")
	require.ErrorContains(t, run(i, matmulops.Epilogue{Scale: dtype.FromFloat(f, 2)}), "unsupported element type: matmul with a scale of i32: it is for")
	for _, act := range []*elementwise.Elementwise{elementwise.Add, elementwise.LeakyRelu, elementwise.IsNaN} {
		require.ErrorContains(t, run(f, matmulops.Epilogue{Act: act}), act.Name()+" is no activation")
	}
}
