package kernels_test

import (
	"math"
	"testing"

	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	"github.com/stretchr/testify/require"
)

// TestLogisticShort compares the functions for results of 16 bits with those they stand for: before they
// are rounded they are off by a fraction of the last place.
func TestLogisticShort(t *testing.T) {
	logistic := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	const c, d = 2 * 0.7978845608028654, 0.044715
	u := func(x float64) float64 { return c*x + c*d*x*x*x }
	slope := func(x, s, du float64) float64 { return s + x*s*(1-s)*du }
	one := func(f func(g, x float32) float32) func(float32) float32 {
		return func(x float32) float32 { return f(1, x) }
	}
	inf, nan := math.Inf(1), math.NaN()
	for _, f := range []struct {
		name             string
		short            func(float32) float32
		of               func(float64) float64
		ofInf, ofMinus   float64
		most, zero, sure float64 // the largest finite number, its negative; in which range zeros are none
	}{
		{"sigmoid", elementwisekernels.SigmoidShort, logistic, 1, 0, 1, 0, 20},
		{"silu", elementwisekernels.SiluShort, func(x float64) float64 { return x * logistic(x) }, inf, nan, math.MaxFloat32, 0, 20},
		{"gelu", elementwisekernels.GeluShort, func(x float64) float64 { return x * logistic(u(x)) }, inf, nan, math.MaxFloat32, 0, 20},
		{"slope of silu", one(elementwisekernels.SiluSlopeShort), func(x float64) float64 { return slope(x, logistic(x), 1) }, 1, 0, 1, 0, 1},
		{"slope of gelu", one(elementwisekernels.GeluSlopeShort), func(x float64) float64 { return slope(x, logistic(u(x)), c+3*c*d*x*x) }, 1, 0, 1, 0, 0.7},
	} {
		for _, r := range [][2]float64{{-f.sure, -1e-3}, {-1e-3, 1e-3}, {1e-3, 1}, {1, 20}, {20, 200}} {
			require.LessOrEqual(t, off(f.short, f.of, r[0], r[1], 8, -133), 0.02, "BF16, %s from %v to %v", f.name, r[0], r[1])
			require.LessOrEqual(t, off(f.short, f.of, r[0], r[1], 11, -24), 0.1, "F16, %s from %v to %v", f.name, r[0], r[1])
		}
		for i := range 4000 { // slopes have zeros
			x := float32(i)/20 - 200
			require.InDelta(t, f.of(float64(x)), f.short(x), 1e-4, "%s of %v", f.name, x)
		}
		same := func(want float64, x float32) {
			got := float64(f.short(x))
			require.True(t, math.IsNaN(want) && math.IsNaN(got) || got == want || math.Abs(got-want) <= 1e-5*math.Abs(want), "%s of %v is %v, want %v", f.name, x, got, want)
		}
		same(f.ofInf, float32(math.Inf(1)))
		same(f.ofMinus, float32(math.Inf(-1)))
		same(nan, float32(math.NaN()))
		same(f.most, math.MaxFloat32)
		same(f.zero, -math.MaxFloat32)
	}
}
