package checkpoint_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// bytesOf is a tensor of bytes.
func bytesOf(t *testing.T, b []byte, shape ...int) *file.Entry {
	e, err := file.FromMemory("e", tensor.U8, shape, b)
	require.NoError(t, err)
	return e
}

// TestMXFP4Blocks compares elements with the definition: codes in the order of the inputs, two in a
// byte, and a power of two for 32 of them.
func TestMXFP4Blocks(t *testing.T) {
	const experts, n, k = 3, 6, 96
	value := []float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}
	codes, scales := make([]byte, experts*n*k/2), make([]byte, experts*n*k/32)
	for i := range codes {
		codes[i] = byte(i*37 + i/256)
	}
	for i := range scales {
		scales[i] = byte(120 + i*5%16)
	}
	scales[1], scales[2] = 0, 1 // of denormal numbers
	want := make([]float64, experts*n*k)
	for i := range want {
		c := codes[i/2] >> (i % 2 * 4)
		want[i] = math.Ldexp(value[c&7], int(scales[i/32])-127)
		if c&8 != 0 {
			want[i] = -want[i]
		}
	}
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for _, at := range [][2]int{{0, 1}, {0, 2}, {1, 2}, {2, 3}} {
		e, err := checkpoint.MXFP4Blocks("w", bytesOf(t, codes, experts, n, k/32, 16),
			bytesOf(t, scales, experts, n, k/32), at[0], at[1])
		require.NoError(t, err)
		q := quantized.Load(d, e)
		require.Equal(t, tensor.Shape{experts, n / at[1], k}, q.Shape())
		got, some := values(t, q.Dequantize(tensor.F32)), []float64(nil)
		for r := at[0]; r < experts*n; r += at[1] {
			some = append(some, want[r*k:(r+1)*k]...)
		}
		require.Equal(t, some, got, at)
	}
}

func TestMXFP4BlocksMistakes(t *testing.T) {
	codes := bytesOf(t, make([]byte, 2*4*32), 2, 4, 2, 16)
	scales := bytesOf(t, make([]byte, 2*4*2), 2, 4, 2)
	wide, err := file.FromMemory("e", tensor.I32, tensor.Shape{2, 4, 2}, make([]byte, 64))
	require.NoError(t, err)
	for _, c := range []struct {
		blocks, scales *file.Entry
		first, step    int
		kind           error
	}{
		{nil, scales, 0, 1, tensor.ErrArgument}, {codes, nil, 0, 1, tensor.ErrArgument},
		{codes, scales, 2, 2, tensor.ErrArgument}, {codes, scales, -1, 2, tensor.ErrArgument},
		{codes, scales, 0, 0, tensor.ErrArgument}, {codes, scales, 0, 3, checkpoint.ErrFormat},
		{codes, wide, 0, 1, checkpoint.ErrFormat}, {codes, codes, 0, 1, checkpoint.ErrFormat},
		{scales, scales, 0, 1, checkpoint.ErrFormat},
		{codes, bytesOf(t, make([]byte, 16), 2, 2, 4), 0, 1, checkpoint.ErrFormat},
	} {
		_, err := checkpoint.MXFP4Blocks("w", c.blocks, c.scales, c.first, c.step)
		require.ErrorIs(t, err, c.kind)
		require.ErrorContains(t, err, `"w"`)
	}
}
