package kernels_test

import (
	"math"
	"testing"

	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	"github.com/stretchr/testify/require"
)

// geluErf is what GeluErf computes.
func geluErf(x float64) float64 { return x / 2 * math.Erfc(-x/math.Sqrt2) }

// off is the largest distance of f from of for numbers from low to high, in units in the
// last place of numbers with so many bits, the least of which is 2^least.
func off(f func(float32) float32, of func(float64) float64, low, high float64, bits, least int) (worst float64) {
	const n = 20000
	for i := range n {
		x := float32(low + (high-low)*float64(i)/n)
		want := of(float64(x))
		_, exp := math.Frexp(want)
		worst = max(worst, math.Abs(float64(f(x))-want)/math.Ldexp(1, max(exp-bits, least)))
	}
	return worst
}

func TestGeluErf(t *testing.T) {
	for _, r := range [][2]float64{{-20, -13}, {-13, -6}, {-6, -1}, {-1, -1e-3}, {1e-3, 1}, {1, 20}, {-1e-30, 1e-30}} {
		require.LessOrEqual(t, off(elementwisekernels.GeluErf[float32], geluErf, r[0], r[1], 24, -149), 11.0, "F32 from %v to %v", r[0], r[1])
		require.LessOrEqual(t, off(elementwisekernels.GeluErfShort, geluErf, r[0], r[1], 8, -133), 0.5, "BF16 from %v to %v", r[0], r[1])
		require.LessOrEqual(t, off(elementwisekernels.GeluErfShort, geluErf, r[0], r[1], 11, -24), 0.5, "F16 from %v to %v", r[0], r[1])
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, f := range []func(float32) float32{elementwisekernels.GeluErf[float32], elementwisekernels.GeluErfShort} {
		require.Equal(t, inf, f(inf))
		require.True(t, math.IsNaN(float64(f(nan))))
		require.True(t, math.IsNaN(float64(f(-inf))), "-Inf times 0")
		require.Equal(t, float32(3e38), f(3e38))
		require.Zero(t, f(-3e38))
	}
}
