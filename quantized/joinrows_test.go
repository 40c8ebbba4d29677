package quantized_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
)

// Rows that are joined with others are what they were, alone and as a part of the matrix of all.
func TestJoinRows(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	for _, f := range []format.Type{format.Q4_0, format.Q4_K, format.Q6_K, format.Q8_0} {
		for _, rows := range []int{1, 3, 20} { // of activations
			x := tensor.Randn(d, tensor.F32, 0, 1, rows, 512)
			ids := tensor.From(d, []int32{7, 0}, 2)
			var list []*quantized.Tensor
			var bytes [][]byte
			var tables, products [][]float32
			values := func(x *tensor.Tensor) []float32 {
				out, err := tensor.ToSlice[float32](x)
				require.NoError(t, err)
				return out
			}
			for _, n := range []int{24, 8, 16} {
				q := quantized.Quantize(tensor.Randn(d, tensor.F32, 0, 1, n, 512), f)
				b, err := q.Bytes()
				require.NoError(t, err)
				list, bytes = append(list, q), append(bytes, b)
				tables, products = append(tables, values(q.Embedding(ids, tensor.F32))), append(products, values(q.Linear(x)))
			}
			whole, parts := list[0].JoinRows(list[1], list[2])
			all := whole.(*quantized.Tensor)
			require.NoError(t, all.Err())
			require.Equal(t, tensor.Shape{48, 512}, all.Shape())
			y, at := all.Linear(x), 0
			for i, part := range parts {
				q := part.(*quantized.Tensor)
				require.NoError(t, q.Free()) // which others would miss
				n := q.Shape()[0]
				b, err := q.Bytes()
				require.NoError(t, err)
				require.Equal(t, bytes[i], b)
				require.Equal(t, len(b), q.Size())
				require.Equal(t, tables[i], values(q.Embedding(ids, tensor.F32)))
				require.Equal(t, values(all.Dequantize(tensor.F32).Narrow(0, at, n)), values(q.Dequantize(tensor.F32)))
				require.Equal(t, products[i], values(q.Linear(x)))
				require.InDeltaSlice(t, products[i], values(y.Narrow(1, at, n)), 1e-4)
				at += n
			}
		}
	}
	a, b := quantized.Quantize(tensor.Ones(d, tensor.F32, 4, 64), format.Q4_0), quantized.Quantize(tensor.Ones(d, tensor.F32, 4, 64), format.Q8_0)
	wide, odd := quantized.Quantize(tensor.Ones(d, tensor.F32, 4, 96), format.Q4_0), quantized.Quantize(tensor.Ones(d, tensor.F32, 1, 64), format.Q4_0)
	for _, other := range []any{b, wide, odd, quantized.FromBytes(d, format.Q4_0, nil, 1, 64), 7} {
		whole, parts := a.JoinRows(other)
		require.Nil(t, whole)
		require.Empty(t, parts)
		require.NoError(t, a.Dequantize(tensor.F32).Err()) // nothing was freed
	}
}
