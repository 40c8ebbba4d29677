package tensor_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestWindows(t *testing.T) {
	d := open(t)
	w := tensor.Windows{Kernel: []int{2, 2}, Stride: []int{1, 2}, Padding: []int{0, 1}}
	x := count(d, 2, 3, 4)
	for _, x := range layouts(x) {
		columns := x.Im2Col(w)
		require.Equal(t, tensor.Shape{8, 6}, columns.Shape())
		require.Equal(t, []float32{0, 1, 3, 0, 5, 7}, list[float32](t, columns.Get(0)))
		require.Equal(t, []float32{16, 18, 0, 20, 22, 0}, list[float32](t, columns.Get(7)))
		// Each element comes back as often as windows have it.
		often := x.OnesLike().Im2Col(w).Col2Im(w, 3, 4)
		require.Equal(t, list[float32](t, x.Mul(often)), list[float32](t, columns.Col2Im(w, 3, 4)))
	}
	// A convolution is a product of its weights and the columns.
	image, weights := count(d, 2, 3, 6, 5).DivScalar(8), count(d, 4, 3, 3, 2).SubScalar(30)
	v := tensor.Windows{Kernel: []int{3, 2}, Stride: []int{2, 1}, Padding: []int{1, 2}, Dilation: []int{1, 2}}
	y := image.Conv(weights, tensor.Convolution{Stride: v.Stride, Padding: v.Padding, Dilation: v.Dilation})
	require.Equal(t, list[float32](t, y), list[float32](t, weights.Flatten(1, -1).MatMul(image.Im2Col(v))))
	// Dimensions in front are as many inputs, also those that no view joins.
	five := count(d, 3, 2, 2, 4, 5).Transpose(0, 1)
	flat := five.Contiguous().Reshape(6, 2, 4, 5)
	require.Equal(t, tensor.Shape{2, 3, 8, 12}, five.Im2Col(tensor.Windows{Kernel: []int{2, 2}}).Shape())
	require.Equal(t, list[float32](t, flat.Im2Col(v)), list[float32](t, five.Im2Col(v)))
	require.Equal(t, list[float32](t, flat.Im2Col(v).Col2Im(v, 4, 5)), list[float32](t, five.Im2Col(v).Col2Im(v, 4, 5)))
	line := tensor.Windows{Kernel: []int{3}}
	require.Equal(t, []float32{0, 1, 1, 2, 2, 3}, list[float32](t, count(d, 1, 4).Im2Col(line)))
	require.Equal(t, tensor.Shape{0, 3, 2}, count(d, 0, 1, 4).Im2Col(line).Shape())

	require.ErrorIs(t, x.Im2Col(tensor.Windows{}).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Get(0).Get(0).Im2Col(line).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Im2Col(tensor.Windows{Kernel: []int{4, 4}}).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.Col2Im(w, 3).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Get(0).Get(0).Col2Im(line, 4).Err(), tensor.ErrRank)
	require.ErrorIs(t, x.Col2Im(w, 3, 4).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.Im2Col(w).Col2Im(w, 4, 4).Err(), tensor.ErrShape)
	require.ErrorIs(t, x.Im2Col(w).Col2Im(w, 0, 4).Err(), tensor.ErrShape)
	const most = math.MaxInt // numbers whose sums and products wrap
	for _, w := range []tensor.Windows{
		{Kernel: []int{most, most}}, {Kernel: []int{2, 2}, Padding: []int{most, most}}, {Kernel: []int{2, 2}, Dilation: []int{most, most}}, {Kernel: []int{2, 2}, Stride: []int{most, 1}},
		{Kernel: []int{1 << 35, 1 << 35}, Padding: []int{1 << 35, 1 << 35}},
	} {
		require.ErrorIs(t, x.Im2Col(w).Err(), tensor.ErrTooLarge, "%+v", w)
		require.ErrorIs(t, x.Col2Im(w, 3, 4).Err(), tensor.ErrTooLarge, "%+v", w)
	}
	require.ErrorIs(t, x.Col2Im(w, most, 4).Err(), tensor.ErrTooLarge)
	packed := tensor.FromBytes(d, tensor.F4, []byte{1, 2}, 1, 4)
	require.ErrorIs(t, packed.Im2Col(line).Err(), tensor.ErrDType)
	require.ErrorIs(t, tensor.FromBytes(d, tensor.F4, []byte{1, 2, 3}, 3, 2).Col2Im(line, 4).Err(), tensor.ErrDType)
}
