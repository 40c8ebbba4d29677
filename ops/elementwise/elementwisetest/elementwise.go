package elementwisetest

import (
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	elementwiseops "github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// reference is what an operation computes: of floating-point numbers, within so many
// ulps of the result in F32 and F64, and of integers, of which the low bits count. Where
// terms can cancel, the ulps are those of the largest of them, which sizes has.
type reference struct {
	float func(x ...float64) float64
	ulps  float64
	int   func(x ...int64) int64
}

// sizes are the magnitudes of the intermediate results of an operation, in the type that it
// computes in: terms that are rounded and then cancel leave a result near 0 with the errors of the
// terms, and factors below the normal numbers of the type have fewer bits.
var sizes = map[string]func(d dtype.DType, x ...float64) float64{
	"affine 3": func(_ dtype.DType, x ...float64) float64 { return max(math.Abs(x[0]*x[1]), math.Abs(x[2])) },
	"logaddexp 2": func(_ dtype.DType, x ...float64) float64 {
		return max(math.Abs(max(x[0], x[1])), math.Exp(min(x[0]-x[1], x[1]-x[0])))
	},
	"digamma 1":  func(dtype.DType, ...float64) float64 { return 1 },
	"mish 1":     func(d dtype.DType, x ...float64) float64 { return math.Abs(x[0]) * leastNormal(d) },
	"round_to 3": nearTie,
	"sigmoid 1":  func(d dtype.DType, x ...float64) float64 { return lost(d, x[0]) },
	"silu 1":     func(d dtype.DType, x ...float64) float64 { return lost(d, x[0]) * math.Abs(x[0]) },
}

// lost is for where the exponential of -x overflows, and a quotient by it is 0.
func lost(d dtype.DType, x float64) float64 {
	if d != dtype.F64 && x < -88 {
		return math.Exp(x) * 0x1p23
	}
	return 0
}

// nearTie is for products that are about as far from two integers, either of which is right.
func nearTie(d dtype.DType, x ...float64) float64 {
	p := math.Abs(x[0] * x[1])
	if math.Abs(p-math.Trunc(p)-0.5) > opstest.ULP(d, p) {
		return 0
	}
	return 1 / math.Abs(x[1]) / opstest.ULP(d, 1)
}

func leastNormal(d dtype.DType) float64 {
	if d == dtype.F64 {
		return 0x1p-1022
	}
	return 0x1p-126
}

func one(f func(float64) float64) func(...float64) float64 {
	return func(x ...float64) float64 { return f(x[0]) }
}

func two(f func(a, b float64) float64) func(...float64) float64 {
	return func(x ...float64) float64 { return f(x[0], x[1]) }
}

func sign[T int64 | float64](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x
}

func identity(x ...int64) int64 { return x[0] }

func compared(f func(a, b float64) bool, g func(a, b int64) bool) reference {
	return reference{float: func(x ...float64) float64 { return opstest.Truth(f(x[0], x[1])) }, int: func(x ...int64) int64 { return int64(opstest.Truth(g(x[0], x[1]))) }}
}

// powInt is x to the y; all but the low bits of a product can be dropped at any time.
func powInt(x ...int64) int64 {
	a, n := x[0], x[1]
	if n < 0 {
		switch a {
		case 1, -1:
			n &= 1
		default:
			return 0
		}
	}
	r := int64(1)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			r *= a
		}
		a *= a
	}
	return r
}

func shift(x ...int64) (n uint64) { return uint64(x[1]) }

// references has a row for every operation of elementwise.Elementwises, by its name and the
// number of its operands and numbers.
var references = map[string]reference{
	"identity 1":    {one(func(x float64) float64 { return x }), 0, identity},
	"neg 1":         {one(func(x float64) float64 { return -x }), 0, func(x ...int64) int64 { return -x[0] }},
	"abs 1":         {one(math.Abs), 0, func(x ...int64) int64 { return max(x[0], -x[0]) }},
	"sign 1":        {one(sign[float64]), 0, func(x ...int64) int64 { return sign(x[0]) }},
	"sqr 1":         {one(func(x float64) float64 { return x * x }), 0.5, func(x ...int64) int64 { return x[0] * x[0] }},
	"relu 1":        {one(func(x float64) float64 { return max(x, 0) }), 0, func(x ...int64) int64 { return max(x[0], 0) }},
	"not 1":         {int: func(x ...int64) int64 { return ^x[0] }},
	"floor 1":       {one(math.Floor), 0, identity},
	"ceil 1":        {one(math.Ceil), 0, identity},
	"trunc 1":       {one(math.Trunc), 0, identity},
	"round 1":       {one(math.Round), 0, identity},
	"round_even 1":  {one(math.RoundToEven), 0, identity},
	"recip 1":       {one(func(x float64) float64 { return 1 / x }), 0.5, nil},
	"sqrt 1":        {one(math.Sqrt), 0.5, nil},
	"rsqrt 1":       {one(func(x float64) float64 { return 1 / math.Sqrt(x) }), 2, nil},
	"cbrt 1":        {one(math.Cbrt), 2, nil},
	"exp 1":         {one(math.Exp), 2, nil},
	"exp2 1":        {one(math.Exp2), 2, nil},
	"expm1 1":       {one(math.Expm1), 2, nil},
	"log 1":         {one(math.Log), 2, nil},
	"log2 1":        {one(log2), 3, nil},
	"log10 1":       {one(math.Log10), 2, nil},
	"log1p 1":       {one(math.Log1p), 2, nil},
	"sin 1":         {one(math.Sin), 16, nil},
	"cos 1":         {one(math.Cos), 16, nil},
	"tan 1":         {one(math.Tan), 32, nil}, // package math is not exact for large angles
	"asin 1":        {one(math.Asin), 2, nil},
	"acos 1":        {one(math.Acos), 8, nil}, // those of package math are not exact in F64
	"atan 1":        {one(math.Atan), 2, nil},
	"sinh 1":        {one(math.Sinh), 4, nil},
	"cosh 1":        {one(math.Cosh), 2, nil},
	"tanh 1":        {one(math.Tanh), 2, nil},
	"erf 1":         {one(math.Erf), 2, nil},
	"erfc 1":        {one(math.Erfc), 4, nil},
	"lgamma 1":      {one(func(x float64) float64 { y, _ := math.Lgamma(x); return y }), 1 << 12, nil}, // zeros make it relative to nothing
	"sigmoid 1":     {one(func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }), 3, nil},
	"silu 1":        {one(func(x float64) float64 { return x / (1 + math.Exp(-x)) }), 4, nil},
	"softplus 1":    {one(softplus), 4, nil},
	"mish 1":        {one(func(x float64) float64 { return x * math.Tanh(softplus(x)) }), 6, nil},
	"gelu 1":        {one(gelu), 256, nil},                                                                // exp of a rounded argument of up to 88
	"gelu_erf 1":    {one(func(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }), 512, nil}, // the same, squared,
	"isnan 1":       {float: one(func(x float64) float64 { return opstest.Truth(x != x) })},
	"isinf 1":       {float: one(func(x float64) float64 { return opstest.Truth(math.IsInf(x, 0)) })},
	"isfinite 1":    {float: one(func(x float64) float64 { return opstest.Truth(x-x == 0) })},
	"logical_not 1": {one(func(x float64) float64 { return opstest.Truth(x == 0) }), 0, func(x ...int64) int64 { return int64(opstest.Truth(x[0] == 0)) }},

	"add 2":         {two(func(a, b float64) float64 { return a + b }), 0.5, func(x ...int64) int64 { return x[0] + x[1] }},
	"sub 2":         {two(func(a, b float64) float64 { return a - b }), 0.5, func(x ...int64) int64 { return x[0] - x[1] }},
	"mul 2":         {two(func(a, b float64) float64 { return a * b }), 0.5, func(x ...int64) int64 { return x[0] * x[1] }},
	"div 2":         {two(func(a, b float64) float64 { return a / b }), 0.5, quotient},
	"mod 2":         {two(math.Mod), 0, remainder},
	"maximum 2":     {two(func(a, b float64) float64 { return max(a, b) }), 0, func(x ...int64) int64 { return max(x[0], x[1]) }},
	"minimum 2":     {two(func(a, b float64) float64 { return min(a, b) }), 0, func(x ...int64) int64 { return min(x[0], x[1]) }},
	"pow 2":         {two(pow), 2, powInt},
	"atan2 2":       {two(math.Atan2), 2, nil},
	"hypot 2":       {two(math.Hypot), 2, nil},
	"copysign 2":    {two(math.Copysign), 0, nil},
	"and 2":         {int: func(x ...int64) int64 { return x[0] & x[1] }},
	"or 2":          {int: func(x ...int64) int64 { return x[0] | x[1] }},
	"xor 2":         {int: func(x ...int64) int64 { return x[0] ^ x[1] }},
	"shl 2":         {int: func(x ...int64) int64 { return x[0] << shift(x...) }},
	"shr 2":         {int: func(x ...int64) int64 { return x[0] >> shift(x...) }},
	"eq 2":          compared(func(a, b float64) bool { return a == b }, func(a, b int64) bool { return a == b }),
	"ne 2":          compared(func(a, b float64) bool { return a != b }, func(a, b int64) bool { return a != b }),
	"lt 2":          compared(func(a, b float64) bool { return a < b }, func(a, b int64) bool { return a < b }),
	"le 2":          compared(func(a, b float64) bool { return a <= b }, func(a, b int64) bool { return a <= b }),
	"gt 2":          compared(func(a, b float64) bool { return a > b }, func(a, b int64) bool { return a > b }),
	"ge 2":          compared(func(a, b float64) bool { return a >= b }, func(a, b int64) bool { return a >= b }),
	"logical_and 2": compared(func(a, b float64) bool { return a != 0 && b != 0 }, func(a, b int64) bool { return a != 0 && b != 0 }),
	"logical_or 2":  compared(func(a, b float64) bool { return a != 0 || b != 0 }, func(a, b int64) bool { return a != 0 || b != 0 }),
	"logical_xor 2": compared(func(a, b float64) bool { return (a != 0) != (b != 0) }, func(a, b int64) bool { return (a != 0) != (b != 0) }),

	"affine 3":     {func(x ...float64) float64 { return x[0]*x[1] + x[2] }, 2, func(x ...int64) int64 { return x[0]*x[1] + x[2] }},
	"powf 3":       {two(pow), 2, nil},
	"elu 3":        {func(x ...float64) float64 { return choose(x[0] > 0, x[0], x[1]*math.Expm1(x[0])) }, 3, nil},
	"leaky_relu 3": {func(x ...float64) float64 { return choose(x[0] > 0, x[0], x[1]*x[0]) }, 0.5, nil},
	"clamp 3":      {func(x ...float64) float64 { return min(max(x[0], x[1]), x[2]) }, 0, func(x ...int64) int64 { return min(max(x[0], x[1]), x[2]) }},
	"round_to 3":   {two(func(x, a float64) float64 { return math.Round(x*a) / a }), 2, nil},
	"add 3":        {two(func(a, b float64) float64 { return a + b }), 0.5, func(x ...int64) int64 { return x[0] + x[1] }},
	"sub 3":        {two(func(a, b float64) float64 { return a - b }), 0.5, func(x ...int64) int64 { return x[0] - x[1] }},
	"mul 3":        {two(func(a, b float64) float64 { return a * b }), 0.5, func(x ...int64) int64 { return x[0] * x[1] }},
	"div 3":        {two(func(a, b float64) float64 { return a / b }), 0.5, quotient},
	"maximum 3":    {two(func(a, b float64) float64 { return max(a, b) }), 0, func(x ...int64) int64 { return max(x[0], x[1]) }},
	"minimum 3":    {two(func(a, b float64) float64 { return min(a, b) }), 0, func(x ...int64) int64 { return min(x[0], x[1]) }},
	"rsub 3":       {two(func(a, b float64) float64 { return b - a }), 0.5, func(x ...int64) int64 { return x[1] - x[0] }},
	"rdiv 3":       {two(func(a, b float64) float64 { return b / a }), 0.5, func(x ...int64) int64 { return quotient(x[1], x[0]) }},

	"eq 2 of": compared(func(a, b float64) bool { return a == b }, func(a, b int64) bool { return a == b }),
	"ne 2 of": compared(func(a, b float64) bool { return a != b }, func(a, b int64) bool { return a != b }),
	"lt 2 of": compared(func(a, b float64) bool { return a < b }, func(a, b int64) bool { return a < b }),
	"le 2 of": compared(func(a, b float64) bool { return a <= b }, func(a, b int64) bool { return a <= b }),
	"gt 2 of": compared(func(a, b float64) bool { return a > b }, func(a, b int64) bool { return a > b }),
	"ge 2 of": compared(func(a, b float64) bool { return a >= b }, func(a, b int64) bool { return a >= b }),
}

func choose(c bool, a, b float64) float64 {
	if c {
		return a
	}
	return b
}

func quotient(x ...int64) int64 {
	if x[1] == 0 {
		return 0
	}
	return x[0] / x[1]
}

func remainder(x ...int64) int64 {
	if x[1] == 0 {
		return x[0]
	}
	return x[0] % x[1]
}

func softplus(x float64) float64 {
	if x != x {
		return x
	}
	return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// log2 is more exact about 1 than math.Log2.
func log2(x float64) float64 {
	if math.Abs(x-1) < 0.25 {
		return math.Log1p(x-1) / math.Ln2
	}
	return math.Log2(x)
}

// gelu has an exponential that does not overflow.
func gelu(x float64) float64 {
	y := 2 * math.Sqrt(2/math.Pi) * x * (1 + 0.044715*x*x)
	e := math.Exp(-math.Abs(y))
	return x * choose(y < 0, e, 1) / (1 + e)
}

// inF64 are the ulps of references that are others in F64, where the argument of exp can
// be up to 745.
var inF64 = map[string]float64{"gelu 1": 2048, "gelu_erf 1": 4096}

// key is the name of an operation in references.
func key(e *elementwiseops.Elementwise) string {
	k := fmt.Sprintf("%s %d", e.Name(), e.Operands()+e.Params())
	if e.Params() == 1 {
		k += " of"
	}
	return k
}

// few elements say nothing of what an operation computes.
const few = 10

// Elementwise tests every elementwise operation, with every type.
func Elementwise(t *testing.T, b *opstest.Bench) {
	for _, e := range elementwiseops.Elementwises() {
		ref, ok := references[key(e)]
		require.True(t, ok, "operation %s has no reference", key(e))
		for _, d := range dtype.All() {
			if !e.Takes(d) {
				require.ErrorIs(t, e.Check(d), ops.ErrDType)
				continue
			}
			if b.Has(d) {
				// Every operation and type with some shape and layout, and with some elements.
				b.Part(t, func(t *testing.T, b *opstest.Bench) {
					s := opstest.Shapes[b.Rand.IntN(len(opstest.Shapes))]
					elementwise(t, b, e, ref, d, s, b.Kind())
					if s.Count() < few {
						elementwise(t, b, e, ref, d, layout.Shape{33, 5}, b.Kind())
					}
				}, "%s/%v", key(e), d)
			}
		}
	}
	for n, s := range opstest.Shapes {
		for k := range opstest.Kinds {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				elementwise(t, b, elementwiseops.Add, references["add 2"], dtype.F32, s, k)
				elementwise(t, b, elementwiseops.Eq, references["eq 2"], dtype.I64, s, k+n)
			}, "Layouts/%v/%s", s, opstest.Kinds[k])
		}
	}
}

// elementwise tests an operation with operands of a shape, each laid out in one of the
// kinds.
func elementwise(t *testing.T, b *opstest.Bench, e *elementwiseops.Elementwise, ref reference, d dtype.DType, s layout.Shape, kind int) {
	t.Helper()
	if d == dtype.F64 {
		ref.ulps = max(ref.ulps, inF64[key(e)])
	}
	var in []*opstest.Value
	var views []ops.View
	for i := range e.Operands() {
		v := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+i)%len(opstest.Kinds)], s), func() dtype.Scalar { return operand(b, e, d) })
		in, views = append(in, v), append(views, v.View)
	}
	var params []dtype.Scalar
	for range e.Params() {
		params = append(params, param(b, e, d))
	}
	out := b.Result(t, e.Result(d), opstest.LayoutOf(t, opstest.Kinds[kind%4], s))
	require.NoError(t, e.Run(b.Stream, out.View, views, params...))
	got := b.Read(t, out)
	for i := range got {
		x := params
		if len(in) > 0 {
			x = nil
			for _, v := range in {
				x = append(x, v.Want[i])
			}
			x = append(x, params...)
		}
		want, ulps := ref.of(out.DType, d, x)
		if size := sizes[key(e)]; size != nil && math.Abs(got[i].Float()-want.Float()) <= ref.slack(d, want, size(d.Compute(), floatsOf(x)...)) {
			continue
		}
		require.NoError(t, opstest.Near(got[i], want, ulps), "%s of %v %v, element %d of %v", e.Name(), d, x, i, s)
	}
}

// operand draws an element of an operand. A division of integers by zero has a defined result,
// but is an error in checked mode.
func operand(b *opstest.Bench, e *elementwiseops.Elementwise, d dtype.DType) dtype.Scalar {
	for {
		x := b.Number(d)
		if !d.IsInt() || x.Int() != 0 || os.Getenv("KILN_CHECK") != "1" || !divisions[e.Name()] {
			return x
		}
	}
}

// divisions are the operations that divide by an operand or a parameter.
var divisions = map[string]bool{"div": true, "rdiv": true, "mod": true, "remainder": true}

// param draws a number that all elements share: one with which no product of a type
// of fewer than 32 bits is out of the range of F32.
func param(b *opstest.Bench, e *elementwiseops.Elementwise, d dtype.DType) dtype.Scalar {
	for {
		if x := operand(b, e, d); d.IsInt() || math.Abs(x.Float()) < 100 {
			return x
		}
	}
}

// of returns what is wanted, and within how many ulps of its type.
func (r reference) of(out, d dtype.DType, x []dtype.Scalar) (dtype.Scalar, float64) {
	if d.IsInt() {
		words := make([]int64, len(x))
		for i := range x {
			words[i] = x[i].Int()
		}
		return dtype.FromBits(out, uint64(r.int(words...))), 0
	}
	ulps := r.ulps
	if d.Bits() < 32 && ulps > 0 {
		ulps = 1 // computed with more bits, and rounded twice
	}
	return dtype.FromFloat(out, r.float(floatsOf(x)...)), ulps
}

// slack is how far from what is wanted a result may be that is a sum of terms of some size.
func (r reference) slack(d dtype.DType, want dtype.Scalar, size float64) float64 {
	if !d.IsFloat() || size-size != 0 {
		return 0
	}
	s := r.ulps * opstest.ULP(d.Compute(), size)
	if d.Bits() < 32 {
		s += opstest.ULP(d, want.Float())
	}
	return s
}

func floatsOf(x []dtype.Scalar) (list []float64) {
	for _, v := range x {
		list = append(list, v.Float())
	}
	return list
}
