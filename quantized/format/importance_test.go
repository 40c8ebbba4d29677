package format

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// Importance that is 0 for a group, or for all elements, leaves finite values near the elements.
func TestImportanceOfNothing(t *testing.T) {
	x := make([]float32, 512)
	for i := range x {
		x[i] = float32(math.Sin(float64(i*i%977))) * float32(1+i/256)
	}
	for _, of := range quantizedTypes() {
		if !of.Quantizes(true) {
			continue
		}
		for name, zeros := range map[string]int{"group": 32, "all": len(x)} {
			w := make([]float32, len(x))
			for i := range w {
				if w[i] = 1; i < zeros {
					w[i] = 0
				}
			}
			n, err := of.RowBytes(int64(len(x)))
			require.NoError(t, err)
			b, y := make([]byte, n), make([]float32, len(x))
			require.NoError(t, Quantize(b, x, len(x), of, w))
			require.NoError(t, Dequantize(y, b, of))
			for i := range y {
				require.LessOrEqual(t, abs(y[i]), float32(8), "%v, %s: element %d", of, name, i)
				if of == IQ4_NL || of == IQ4_XS {
					require.InDelta(t, x[i], y[i], 0.35, "%v, %s: element %d", of, name, i)
				}
			}
		}
	}
}
