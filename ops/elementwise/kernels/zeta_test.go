package kernels_test

import (
	"math"
	"testing"

	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
	"github.com/stretchr/testify/require"
)

// TestZeta compares with values in closed form, and with the recurrence
// ζ(s, x) = ζ(s, x+1) + x^-s.
func TestZeta(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const catalan = 0.915965594177219015054603514932384110774
	for _, c := range []struct{ x, s, f, want float64 }{
		{1, 2, 1, math.Pi * math.Pi / 6}, {0.5, 2, 1, math.Pi * math.Pi / 2}, {1, 4, 6, math.Pow(math.Pi, 4) / 15},
		{0.25, 2, 1, math.Pi*math.Pi + 8*catalan}, {1, 3, -2, -2 * 1.2020569031595942854},
		{-0.5, 2, 1, math.Pi*math.Pi/2 + 4}, {-1.5, 2, 1, math.Pi*math.Pi/2 + 4 + 4.0/9}, {-0.5, 3, 1, 7*1.2020569031595942854 - 8},
		{1e-200, 2, 1, inf}, {0, 2, 1, inf}, {-3, 2, 1, inf}, {-3, 3, 1, nan}, {0, 3, -2, -inf}, {inf, 2, 1, 0}, {-inf, 2, 1, nan},
		{nan, 2, 1, nan}, {2, 1, 1, inf}, {2, 1, -1, -inf}, {2, 0.5, 1, nan}, {-0.5, 2.5, 1, nan}, {1e300, 2, 1, 1e-300},
		{1, inf, 1, 1}, {2, inf, 1, 0}, {0.5, inf, 1, inf}, {1, 1e300, -3, -3}, {2, 1e17, 1, 0}, {-1.5, 1e17, 1, inf}, {nan, inf, 1, nan},
		{1e15, 31, 2.6525285981219103e32, 2.6525285981219103e32 / 30 * 1e-300 * 1e-150},
	} {
		switch got := elementwisekernels.Zeta(c.x, c.s, c.f); {
		case c.want != c.want:
			require.True(t, got != got, "%v: %v", c, got)
		case math.IsInf(c.want, 0):
			require.Equal(t, c.want, got, "%v", c)
		default:
			require.InDelta(t, c.want, got, 2e-14*math.Abs(c.want), "%v", c)
		}
	}
	require.Equal(t, float32(1), elementwisekernels.Zeta(float32(1), 5000, 1))
	for _, c := range []struct{ x, s, f, want float64 }{ // where large terms cancel
		{-0.5, 31, -2.6525285981219103e32, -9.222127250564682e26}, {-1.5, 31, -2.6525285981219103e32, -1.2232990448775332e20},
		{-0.5, 11, -3628800, -42108.8575855756}, {-1.5, 11, -3628800, -156.229599},
	} {
		require.InEpsilon(t, c.want, elementwisekernels.Zeta(c.x, c.s, c.f), 2e-7, "%v", c)
		require.InEpsilon(t, c.want, elementwisekernels.Zeta(float32(c.x), float32(c.s), float32(c.f)), 1e-5, "%v in F32", c)
	}
	for x := -40.25 + 1.0/64; x < 60; x += 13.0 / 32 { // numbers of F32
		for s := 2.0; s < 32; s++ {
			want := elementwisekernels.Zeta(x+1, s, 1) + math.Pow(x, -s)
			within := 1e-12 * (math.Abs(want) + math.Pow(math.Abs(x), -s))
			require.InDelta(t, want, elementwisekernels.Zeta(x, s, 1), within, "%v, %v", x, s)
			if want := float32(want); want > 1e-37 && want < 1e37 { // where it is no difference of large numbers
				near := 2e-5 * (math.Abs(float64(want)) + math.Pow(math.Abs(x-math.Round(x)), -s))
				require.InDelta(t, want, elementwisekernels.Zeta(float32(x), float32(s), 1), near, "%v, %v in F32", x, s)
			}
		}
	}
}
