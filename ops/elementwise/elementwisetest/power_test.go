package elementwisetest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Powers that are exact, or known to all bits, and those at the ends of the range.
func TestPow(t *testing.T) {
	for _, c := range []struct{ x, y, want float64 }{
		{2, 0.5, math.Sqrt2}, {2, 1.5, 2 * math.Sqrt2}, {9, 0.5, 3}, {10, 22, 1e22}, {-3, 3, -27}, {2, -1074, 0x1p-1074}, {2, 1023, 0x1p1023},
		{math.E, 1, math.E}, {3, -1, 1.0 / 3}, {0, 2, 0}, {2, 5000, math.Inf(1)}, {1e-300, 2, 0}, {5, 0, 1},
	} {
		require.Equal(t, c.want, pow(c.x, c.y), "%v to the %v", c.x, c.y)
	}
	require.True(t, math.IsNaN(pow(-2, 0.5)))
	x := 3e38 // a square root that is rounded once, and its powers
	require.InEpsilon(t, x*x*math.Sqrt(x), pow(x, 2.5), 0x1p-51)
}
