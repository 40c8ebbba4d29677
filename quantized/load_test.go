package quantized_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Blocks of a file are those of a tensor, also of some rows.
func TestLoad(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	x := tensor.Randn(d, tensor.F32, 0, 1, 6, 64)
	want := quantized.Quantize(x, format.Q5_1)
	b, err := want.Bytes()
	require.NoError(t, err)
	entry := func(enc file.Encoding, shape layout.Shape) *file.Entry {
		blob, err := file.FromBytes("f", b).Section(0, int64(len(b)))
		require.NoError(t, err)
		e, err := file.New(file.Spec{Name: "w", Encoding: enc, Shape: shape, Blob: blob, Path: "f"})
		require.NoError(t, err)
		return e
	}
	e := entry(file.Blocks("Q5_1", 32, 24), layout.Shape{6, 64})
	rows, err := e.Narrow(0, 2, 3)
	require.NoError(t, err)
	for _, c := range []struct {
		e       *file.Entry
		from, n int
	}{{e, 0, 6}, {rows, 2, 3}} {
		q := quantized.Load(d, c.e)
		require.NoError(t, q.Err())
		require.Equal(t, format.Q5_1, q.Format())
		require.Equal(t, tensor.Shape{c.n, 64}, q.Shape())
		got, err := tensor.ToSlice[float32](q.Dequantize(tensor.F32))
		require.NoError(t, err)
		all, err := tensor.ToSlice[float32](want.Dequantize(tensor.F32).Narrow(0, c.from, c.n))
		require.NoError(t, err)
		require.Equal(t, all, got)
	}
	plain := quantized.Load(d, entry(file.As("F32", dtype.F32), layout.Shape{4})).Err()
	require.ErrorIs(t, plain, format.ErrType)
	require.ErrorContains(t, plain, `f: unknown quantized type: F32 has no blocks of several elements: tensor.Load is for`)
	require.ErrorIs(t, quantized.Load(d, entry(file.Blocks("Q9", 32, 24), layout.Shape{6, 64})).Err(), format.ErrType)
	require.ErrorIs(t, quantized.Load(d, entry(file.Blocks("Q4_0", 32, 24), layout.Shape{6, 64})).Err(), format.ErrSize)
	big := file.Blocks("Q5_1", 32, 24)
	big.Big = true
	require.ErrorIs(t, quantized.Load(d, entry(big, layout.Shape{6, 64})).Err(), file.ErrUnsupported)
	require.ErrorIs(t, quantized.Load(d, nil).Err(), tensor.ErrArgument)
	require.ErrorIs(t, quantized.Load(nil, e).Err(), tensor.ErrArgument)
}
