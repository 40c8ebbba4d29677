package format

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/internal/golden"
)

const goldenPath = "../testdata/quants.safetensors.gz"

// quantizedTypes are the types with blocks.
func quantizedTypes() (list []Type) {
	for _, t := range Types() {
		if t.IsQuantized() {
			list = append(list, t)
		}
	}
	return list
}

func TestDequantize(t *testing.T) {
	set := golden.Read(t, goldenPath)
	for _, of := range quantizedTypes() {
		for _, kind := range []string{"valid", "random"} {
			name := of.String() + "/dequant/" + kind
			t.Run(name, func(t *testing.T) {
				want := set.F32(t, name+"/f32")
				got := make([]float32, len(want))
				require.NoError(t, Dequantize(got, set.Bytes(t, name+"/bytes"), of))
				sameBits(t, of, want, got)
				odd := append([]byte{0}, set.Bytes(t, name+"/bytes")...)[1:]
				clear(got)
				require.NoError(t, Dequantize(got, odd, of))
				sameBits(t, of, want, got)
			})
		}
	}
}

func sameBits(t *testing.T, of Type, want, got []float32) {
	t.Helper()
	n := byType[of].Elems
	for i := range want {
		if math.Float32bits(want[i]) != math.Float32bits(got[i]) {
			t.Fatalf("element %d of block %d is %v (%#x), not %v (%#x)", i%n, i/n,
				got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

func TestBlocksAgreeWithTable(t *testing.T) {
	for _, of := range quantizedTypes() {
		f, err := of.Block()
		require.NoError(t, err)
		require.Equal(t, byType[of].Elems, f.Elems(), "%v", of)
		require.Equal(t, byType[of].Bytes, f.Bytes(), "%v", of)
		require.Zero(t, f.Elems()%RunLen)
	}
	_, err := F16.Block()
	require.ErrorIs(t, err, ErrType)
	require.ErrorIs(t, Dequantize(make([]float32, 32), make([]byte, 17), Q4_0), ErrSize)
	require.ErrorIs(t, Dequantize(make([]float32, 31), make([]byte, 18), Q4_0), ErrSize)
	require.ErrorIs(t, Dequantize(make([]float32, 1), make([]byte, 4), F32), ErrType)
}
