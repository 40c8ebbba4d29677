package format

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFloorLog2 compares numbers around each power of two with the logarithm rounded to float32.
func TestFloorLog2(t *testing.T) {
	for e := -149; e <= 128; e++ {
		power := uint32(0)
		switch {
		case e < -126:
			power = 1 << (e + 149)
		default:
			power = uint32(e+127) << 23
		}
		for d := -200; d <= 3; d++ {
			b := int64(power) + int64(d)
			if b <= 0 || b >= 0x7F800000 {
				continue
			}
			x := math.Float32frombits(uint32(b))
			want := int32(math.Floor(float64(float32(math.Log2(float64(x))))))
			require.Equal(t, want, floorLog2(x), "%v: %d below 2^%d", x, -d, e)
		}
	}
}

func TestRounding(t *testing.T) {
	for _, c := range []struct {
		x          float32
		even, away int32
	}{{0.5, 0, 1}, {1.5, 2, 2}, {2.5, 2, 3}, {-0.5, 0, -1}, {-1.5, -2, -2}, {-2.5, -2, -3}, {0.49999997, 0, 0}, {127, 127, 127}, {-0.25, 0, 0}} {
		require.Equal(t, c.even, nearest(c.x), "%v", c.x)
		require.Equal(t, c.away, awayInt(c.x), "%v", c.x)
	}
}

// Groups in which all elements are the same have no scale, and those that are nearly zeros are zeros.
func TestSearchOfNothing(t *testing.T) {
	w := []float32{1, 2, 3, 4}
	q, aux := []uint8{9, 9, 9, 9}, make([]uint8, 4)
	scale, less := searchAffine(15, []float32{-3, -3, -3, -3}, w, q, aux, search{steps: 3, each: 0.1})
	require.Zero(t, scale)
	require.EqualValues(t, 3, less)
	require.Equal(t, make([]uint8, 4), q)

	q = []uint8{9, 9, 9, 9}
	require.Zero(t, searchPositive(15, []float32{1e-16, 0, 1e-17, 0}, q, w))
	require.Equal(t, make([]uint8, 4), q)
	q = []uint8{9, 9, 9, 9}
	require.Zero(t, searchSymmetric(8, []float32{1e-16, 0, -1e-17, 0}, q, w))
	require.Equal(t, make([]uint8, 4), q)
}
