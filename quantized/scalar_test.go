package quantized_test

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/internal/golden"
	"github.com/gokiln/kiln/tensor"
)

// Conversions of single numbers on a device have the bits of the reference: ties, subnormal
// results, overflow, signalling NaN that becomes quiet. Of a NaN that is rounded the payload is
// nobody's promise.
func TestNumbersOfHalfPrecision(t *testing.T) {
	d, err := tensor.Open("auto")
	require.NoError(t, err)
	defer d.Close()
	set := golden.Read(t, "testdata/quants.safetensors.gz")
	for name, dt := range map[string]tensor.DType{"F16": tensor.F16, "BF16": tensor.BF16} {
		raw := set.Bytes(t, name+"/dequant/bytes")
		wide := tensor.FromBytes(d, dt, raw, len(raw)/2).Cast(tensor.F32)
		got, err := tensor.ToSlice[float32](wide)
		require.NoError(t, err)
		want := set.F32(t, name+"/dequant/f32")
		require.Len(t, got, len(want))
		for i := range want {
			if want[i] != want[i] && d.Kind() != "cpu" { // GPUs have one NaN
				require.True(t, got[i] != got[i], "%s %#x", name, raw[2*i:][:2])
				continue
			}
			require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got[i]), "%s %#x", name,
				raw[2*i:][:2])
		}
		numbers, halves := set.F32(t, "scalar/x"), set.Bytes(t, name+"/quantize/bytes")
		b, err := tensor.From(d, numbers).Cast(dt).Bytes()
		require.NoError(t, err)
		require.Len(t, b, len(halves))
		inf := map[tensor.DType]uint16{tensor.F16: 0x7c00, tensor.BF16: 0x7f80}[dt]
		for i, x := range numbers {
			h := binary.LittleEndian.Uint16(b[2*i:])
			if x != x {
				require.Greater(t, h&0x7fff, inf, "NaN as %s", name)
				continue
			}
			require.Equal(t, binary.LittleEndian.Uint16(halves[2*i:]), h, "%v as %s", x, name)
		}
	}
}
