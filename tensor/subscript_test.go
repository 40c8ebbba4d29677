package tensor_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

func TestIndex(t *testing.T) {
	d := open(t)
	x := count(d, 2, 3, 4) // element (i, j, k) is 12i + 4j + k
	rows := tensor.From(d, []int64{2, 0, 2})
	mask := tensor.New(d, [][]uint8{{0, 1, 0}, {1, 0, 0}})
	for _, c := range []struct {
		name  string
		items []any
		shape tensor.Shape
		want  []float32
	}{
		{"nothing", nil, tensor.Shape{2, 3, 4}, list[float32](t, x)},
		{"an index", []any{1, 2}, tensor.Shape{4}, []float32{20, 21, 22, 23}},
		{"indices from the end", []any{-2, -1, -3}, tensor.Shape{}, []float32{9}},
		{"a range", []any{1, tensor.Slice(1, 3), tensor.Slice(0, 2)}, tensor.Shape{2, 2}, []float32{16, 17, 20, 21}},
		{"ranges without an end", []any{tensor.SliceFrom(1), tensor.SliceTo(1), tensor.SliceFrom(-2)}, tensor.Shape{1, 1, 2}, []float32{14, 15}},
		{"a range from the end", []any{0, 0, tensor.Slice(-3, -1)}, tensor.Shape{2}, []float32{1, 2}},
		{"a turned range", []any{tensor.All, tensor.Slice(2, 1)}, tensor.Shape{2, 0, 4}, []float32{}},
		{"steps", []any{0, tensor.All.By(2), tensor.SliceFrom(1).By(2)}, tensor.Shape{2, 2}, []float32{1, 3, 9, 11}},
		{"steps backwards", []any{1, 1, tensor.All.By(-1)}, tensor.Shape{4}, []float32{19, 18, 17, 16}},
		{"long steps backwards", []any{1, 1, tensor.SliceTo(3).By(-2)}, tensor.Shape{2}, []float32{18, 16}},
		{"an ellipsis", []any{tensor.Ellipsis, 1}, tensor.Shape{2, 3}, []float32{1, 5, 9, 13, 17, 21}},
		{"an ellipsis for nothing", []any{0, 0, tensor.Ellipsis, 1}, tensor.Shape{}, []float32{1}},
		{"new dimensions", []any{0, tensor.NewAxis, 1, tensor.Slice(1, 2), tensor.NewAxis}, tensor.Shape{1, 1, 1}, []float32{5}},
		{"a list", []any{0, []int{2, -3}, 1}, tensor.Shape{2}, []float32{9, 1}},
		{"a tensor", []any{0, rows, 1}, tensor.Shape{3}, []float32{9, 1, 9}},
		{"a tensor of one index", []any{0, tensor.Item(d, int32(2)), 1}, tensor.Shape{}, []float32{9}},
		{"a tensor of two dimensions", []any{0, rows.Narrow(0, 0, 2).Reshape(2, 1), tensor.SliceTo(2)}, tensor.Shape{2, 1, 2}, []float32{8, 9, 0, 1}},
		{"lists by themselves", []any{0, []int{0, 2}, []int{3, 1, 1}}, tensor.Shape{2, 3}, []float32{3, 1, 1, 11, 9, 9}},
		{"a mask", []any{tensor.Mask(mask), 1}, tensor.Shape{2}, []float32{5, 13}},
		{"a mask of the last dimension", []any{1, 2, tensor.Mask(tensor.From(d, []int32{0, 7, 0, -1}))}, tensor.Shape{2}, []float32{21, 23}},
		{"a mask of everything", []any{tensor.Mask(x.GtScalar(20))}, tensor.Shape{3}, []float32{21, 22, 23}},
		{"a mask behind an ellipsis", []any{tensor.Ellipsis, tensor.Mask(mask.Get(0).Pad(0, 0, 1, tensor.PadConstant, 0)), tensor.NewAxis}, tensor.Shape{2, 3, 1, 1}, []float32{1, 5, 9, 13, 17, 21}},
	} {
		for _, kind := range []string{"dense", "transposed", "narrowed", "broadcast"} {
			got := laid(x, kind).Index(c.items...)
			require.NoError(t, got.Err(), c.name)
			require.Equal(t, c.shape.String(), got.Shape().String(), c.name)
			require.Equal(t, c.want, list[float32](t, got), "%s of a %s tensor", c.name, kind)
		}
	}
	// Views can be assigned to.
	require.NoError(t, x.Index(1, tensor.All.By(2), tensor.SliceFrom(3)).Assign(tensor.Item(d, float32(-1))))
	require.Equal(t, []float32{15, 19, 23}, list[float32](t, count(d, 2, 3, 4).Index(1, tensor.Ellipsis, 3)))
	require.Equal(t, []float32{-1, 19, -1}, list[float32](t, x.Index(1, tensor.Ellipsis, 3)))
}

func TestIndexErrors(t *testing.T) {
	d := open(t)
	x := count(d, 2, 3)
	bad := x.Narrow(0, 2, 1)
	for _, c := range []struct {
		items []any
		kind  error
	}{
		{[]any{2}, tensor.ErrIndex},
		{[]any{0, -4}, tensor.ErrIndex},
		{[]any{[]int{0, 2}}, tensor.ErrIndex},
		{[]any{0, 0, 0}, tensor.ErrRank},
		{[]any{tensor.Slice(0, 3)}, tensor.ErrRange},
		{[]any{tensor.SliceFrom(-3)}, tensor.ErrRange},
		{[]any{tensor.All.By(0)}, tensor.ErrArgument},
		{[]any{"0:2"}, tensor.ErrArgument},
		{[]any{tensor.Ellipsis, 0, tensor.Ellipsis}, tensor.ErrArgument},
		{[]any{x}, tensor.ErrDType},
		{[]any{bad}, tensor.ErrRange},
		{[]any{(*tensor.Tensor)(nil)}, tensor.ErrArgument},
		{[]any{tensor.Mask(bad)}, tensor.ErrRange},
		{[]any{tensor.Mask(tensor.From(d, []uint8{1, 0, 1}))}, tensor.ErrShape},
	} {
		err := x.Index(c.items...).Err()
		require.ErrorIs(t, err, c.kind, "%v", c.items)
		if c.items[0] != any(bad) && c.items[0] != any(tensor.Mask(bad)) {
			require.ErrorContains(t, err, "index: ")
		}
	}
	require.ErrorIs(t, bad.Index(0).Err(), tensor.ErrRange)
	require.ErrorContains(t, x.Index(tensor.Slice(1, 5).By(-2)).Err(), "1:5:-2 of dimension 0, of size 2")
}

func TestDims(t *testing.T) {
	d := open(t)
	n, err := count(d, 5).Dims1()
	require.NoError(t, err)
	require.Equal(t, 5, n)
	a, b, err := count(d, 2, 3).Dims2()
	require.NoError(t, err)
	require.Equal(t, [2]int{2, 3}, [2]int{a, b})
	a, b, c, err := count(d, 2, 3, 4).Dims3()
	require.NoError(t, err)
	require.Equal(t, [3]int{2, 3, 4}, [3]int{a, b, c})
	a, b, c, e, err := count(d, 2, 3, 4, 1).Dims4()
	require.NoError(t, err)
	require.Equal(t, [4]int{2, 3, 4, 1}, [4]int{a, b, c, e})
	a, b, c, e, f, err := count(d, 2, 3, 4, 1, 2).Dims5()
	require.NoError(t, err)
	require.Equal(t, [5]int{2, 3, 4, 1, 2}, [5]int{a, b, c, e, f})
	_, _, err = count(d, 2).Dims2()
	require.ErrorIs(t, err, tensor.ErrRank)
	require.ErrorContains(t, err, "[2] has 1 dimensions, want 2")
	_, err = count(d, 2).Narrow(0, 3, 1).Dims1()
	require.ErrorIs(t, err, tensor.ErrRange)
}

func ExampleTensor_Index() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := tensor.Arange(dev, int32(0), 12).Reshape(3, 4)
	fmt.Println(x.Index(1))
	fmt.Println(x.Index(tensor.SliceFrom(1), tensor.All.By(2)))
	fmt.Println(x.Index(tensor.Ellipsis, []int{-1, 0}))
	fmt.Println(x.Index(tensor.Mask(x.GtScalar(8))))
	// Output:
	// [4, 5, 6, 7]
	// Tensor[[4], i32]
	// [[ 4,  6],
	//  [ 8, 10]]
	// Tensor[[2, 2], i32]
	// [[ 3,  0],
	//  [ 7,  4],
	//  [11,  8]]
	// Tensor[[3, 2], i32]
	// [ 9, 10, 11]
	// Tensor[[3], i32]
}
