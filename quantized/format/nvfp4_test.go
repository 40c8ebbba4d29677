package format

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// NVFP4 has no scale above 448: elements beyond 6 times that saturate, as in the reference, but for
// those beside which float32 does not tell values of E2M1 apart, of which the first one is 0; and
// groups whose scale would be below half the smallest one are zeros.
func TestNVFP4Range(t *testing.T) {
	for _, c := range []struct{ x, want float32 }{
		{2688, 2688}, {2689, 2688}, {-1e6, -2688}, {6e10, 2688}, {7e10, 0},
		{1487, 1440}, {1488, 1344}, {6 * 0x1p-9, 6 * 0x1p-9}, {5.9 * 0x1p-10, 0},
		{-6 * 0x1p-10, -6 * 0x1p-10},
	} {
		x := make([]float32, 64)
		x[17] = c.x
		b, y := make([]byte, 36), make([]float32, 64)
		require.NoError(t, Quantize(b, x, 64, NVFP4, nil))
		require.NoError(t, Dequantize(y, b, NVFP4))
		require.Equal(t, c.want, y[17], c.x)
	}
}
