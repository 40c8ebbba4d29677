package quantized_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/internal/golden"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tests/sim/devices"
)

// TestLinearStrategies multiplies many rows in all ways that a device has, and compares with products
// in float64 of the values in the type of x. Weights end in a tile, with an odd number of rows, and have
// one block along k and several; parts of k are added where tiles are few.
func TestLinearStrategies(t *testing.T) {
	set := golden.Read(t, goldenPath)
	devices.OnEach(t, func(t *testing.T, d *tensor.Device) {
		tiles := 0
		for i, of := range formats(d) {
			if d.Kind() == "cpu" && i > 0 {
				break // it has no tiles
			}
			name := of.String() + "/dequant/valid"
			raw, shape := set.Bytes(t, name+"/bytes"), shapeOf(t, set, of, name+"/bytes")
			row := len(raw) / shape[0]
			for j, m := range []int{9, 17, 64, 130} {
				if d.Kind() != "cpu" && j != i%4 { // simulated
					continue
				}
				n, blocks := 129+2*j, []int{1, 3, 2, 5}[(i+j)%4]
				k := blocks * shape[1]
				var bytes []byte
				for len(bytes) < n*blocks*row {
					bytes = append(bytes, raw...)
				}
				w := quantized.FromBytes(d, of, bytes[:n*blocks*row], n, k)
				for _, dt := range some(d, tensor.BF16, tensor.F16) {
					x := tensor.Randn(d, tensor.F32, 0, 1, m, k).Cast(dt)
					want, most := inDoubles(t, x, w.Dequantize(dt))
					strategies := append(quantized.LinearStrategies(9), "")
					if d.Kind() != "cpu" && i != 0 {
						strategies = strategies[len(strategies)-1:]
					}
					for _, by := range strategies {
						if d.Kind() == "cpu" && by != "dequantized weight" {
							continue // of bytes: see TestLinearBytes
						}
						got, err := w.LinearBy(by, x).Float64s()
						if by != "" && by != "dequantized weight" && err != nil {
							require.ErrorIs(t, err, jit.ErrUnsupported)
							continue
						}
						require.NoError(t, err)
						if strings.Contains(by, "tiles") {
							tiles++
						}
						for i := range want {
							allowed := roundings[dt]/3*math.Abs(want[i]) + 2e-6*most[i] + 0x1p-25
							if !(math.Abs(got[i]-want[i]) <= allowed) {
								t.Fatalf("%v by %q, %d×%d×%d in %v: element %d is %v, not %v", of, by, m, n, k, dt, i, got[i], want[i])
							}
						}
					}
				}
			}
		}
		require.Equal(t, d.Kind() != "cpu", tiles > 0, "tiles were multiplied")
	})
}

// inDoubles returns x·wᵀ in float64 and the sums of magnitudes.
func inDoubles(t *testing.T, x, w *tensor.Tensor) (sums, most []float64) {
	t.Helper()
	m, n, k := x.Size(0), w.Size(0), x.Size(1)
	a, b := products(t, x), products(t, w)
	for i := range m {
		for j := range n {
			var sum, all float64
			for e := range k {
				p := a[i*k+e] * b[j*k+e]
				sum += p
				all += math.Abs(p)
			}
			sums, most = append(sums, sum), append(most, all)
		}
	}
	return sums, most
}

// Strategies that cannot multiply say so.
func TestLinearStrategyErrors(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	w := quantized.Quantize(tensor.Randn(d, tensor.F32, 0, 1, 4, 64), format.Q8_0)
	x := tensor.Randn(d, tensor.F32, 0, 1, 9, 64)
	require.ErrorIs(t, w.LinearBy(quantized.LinearStrategies(9)[0], x).Err(), jit.ErrUnsupported)
	require.ErrorContains(t, w.LinearBy(quantized.LinearStrategies(9)[0], x).Err(), "no such matrix instruction")
	end := quantized.SetMostBytes(4*68 - 1)
	err = w.LinearBy(quantized.LinearStrategies(9)[0], x).Err()
	end()
	require.ErrorIs(t, err, jit.ErrUnsupported)
	require.ErrorContains(t, err, "blocks of 272 bytes, tiles are for at most 271")
	require.ErrorContains(t, w.LinearBy("fast", x).Err(), `there is no strategy "fast"`)
	require.NoError(t, w.LinearBy("dequantized weight", x).Err())
}
