package fast_test

import (
	"io/fs"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/dsl/fast"
)

var unary = []struct {
	name     string
	fast     func(float32) float32
	op       ir.Op // for those that are instructions
	exact    func(float64) float64
	lo, hi   float64
	rel, abs float64 // of plain Go
}{
	{"Exp2", fast.Exp2, ir.OpApproxExp2, math.Exp2, -149, 127, 0x1p-24, 0x1p-149},
	{"Log2", fast.Log2, ir.OpApproxLog2, math.Log2, 0x1p-149, 1e6, 0x1p-24, 0},
	{"Sin", fast.Sin, ir.OpApproxSin, math.Sin, -1e6, 1e6, 0x1p-24, 0},
	{"Cos", fast.Cos, ir.OpApproxCos, math.Cos, -1e6, 1e6, 0x1p-24, 0},
	{"Tanh", fast.Tanh, ir.OpApproxTanh, math.Tanh, -20, 20, 0x1p-24, 0},
	{"Rsqrt", fast.Rsqrt, ir.OpApproxRsqrt, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1e-30, 1e30, 0x1p-24, 0},
	{"Sqrt", fast.Sqrt, ir.OpApproxSqrt, math.Sqrt, 0, 1e30, 0x1p-24, 0},
	{"Recip", fast.Recip, ir.OpApproxRecip, func(x float64) float64 { return 1 / x }, 1e-30, 1e30, 0x1p-24, 0x1p-149},
	{"Exp", fast.Exp, 0, math.Exp, -80, 80, 80 * 1.2 * 0x1p-23, 0},
	{"Log", fast.Log, 0, math.Log, 2, 1e30, 3 * 0x1p-24, 0},
	{"Log10", fast.Log10, 0, math.Log10, 2, 1e30, 3 * 0x1p-24, 0},
	{"Tan", fast.Tan, 0, math.Tan, -1.5, 1.5, 4 * 0x1p-24, 0},
	{"Sigmoid", fast.Sigmoid, 0, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, -80, 80, 80 * 1.2 * 0x1p-23, 0},
}

// As plain Go the functions keep to what they state, with room to spare.
func TestAccuracy(t *testing.T) {
	for _, f := range unary {
		for i := range 20001 {
			x := float32(f.lo + (f.hi-f.lo)*float64(i)/20000)
			want := f.exact(float64(x))
			got := float64(f.fast(x))
			if !(math.Abs(got-want) <= f.abs+f.rel*math.Abs(want)) {
				t.Fatalf("%s(%g) = %g, want %g", f.name, x, got, want)
			}
		}
	}
	for _, x := range []float32{0.1, 1, 7.5, 1e3} {
		for _, y := range []float32{-4, 0, 0.5, 9} {
			want := math.Pow(float64(x), float64(y))
			assert.InEpsilon(t, want, float64(fast.Pow(x, y)), 1e-5, "%g^%g", x, y)
			assert.InEpsilon(t, 1+float64(x)/(1+float64(y*y)), 1+float64(fast.Div(x, 1+y*y)), 0x1p-23)
		}
	}
}

// The Go bodies of the instructions are the reference of the compiler, to the
// bit, so that plain Go and the interpreter agree.
func TestBodiesAreTheReference(t *testing.T) {
	n := 0
	for _, f := range unary {
		if f.op == 0 {
			continue
		}
		n++
		for i := uint64(0); i < 1<<32; i += 1<<16 - 1 {
			x := math.Float32frombits(uint32(i))
			got, want := f.fast(x), ir.Approx(f.op, x, 0)
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				t.Fatalf("%s(%g) = %g as Go, %g in the compiler", f.name, x, got, want)
			}
			y := math.Float32frombits(uint32(i * 0x9E3779B1))
			got, want = fast.Div(x, y), ir.Approx(ir.OpApproxDiv, x, y)
			if math.Float32bits(got) != math.Float32bits(want) && (got == got || want == want) {
				t.Fatalf("Div(%g, %g) = %g as Go, %g in the compiler", x, y, got, want)
			}
		}
	}
	assert.Equal(t, 8, n)
}

func TestSourceHasNoTests(t *testing.T) {
	names, err := fs.Glob(fast.API(), "*.go")
	require.NoError(t, err)
	assert.Equal(t, []string{"derived.go", "doc.go", "instr.go", "source.go"}, names)
}
