package tensor_test

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

const none = math.MaxUint32 // the index of nothing

func (c *caseTest) ids(shape []int, list ...uint32) *tensor.Tensor {
	return tensor.From(c.d, list, shape...)
}

// The cases of sorting and of indices.
var _ = register(map[int]func(c *caseTest){
	42: func(c *caseTest) {
		x := c.f32([]int{2, 5}, 3, 1, 4, 1.1, 5, 2.1, 1, 7, 8, 2)
		for _, x := range layouts(x) {
			c.is(x.ArgSort(-1, false), tensor.Shape{2, 5}, 1, 3, 0, 2, 4, 1, 4, 0, 2, 3)
			c.is(x.ArgSort(-1, true), tensor.Shape{2, 5}, 4, 2, 0, 3, 1, 3, 2, 0, 4, 1)
		}
	},
	43: func(c *caseTest) {
		values, places := c.f32([]int{2, 3}, 9, 9, 9, 30, 10, 20).Get(1).Sort(-1, false)
		c.is(places, tensor.Shape{3}, 1, 2, 0)
		c.is(values, tensor.Shape{3}, 10, 20, 30)
	},
	44: func(c *caseTest) {
		places := tensor.ArangeStep(c.d, float32(2000), 0, -1).ArgSort(0, false)
		require.Equal(c, list[uint32](c.T, tensor.Arange(c.d, uint32(0), 2000).Flip(0)), list[uint32](c.T, places))
	},
	45: func(c *caseTest) {
		c.is(c.upTo(3, 2).IndexSelect(c.ids(nil, none, 2, none), 0), tensor.Shape{3, 2}, 0, 0, 4, 5, 0, 0)
	},
	46: func(c *caseTest) {
		sum := tensor.Ones(c.d, tensor.F32, 4, 2).IndexAdd(c.ids(nil, 0, 1, 1), c.upTo(4, 3), 1)
		c.is(sum, tensor.Shape{4, 2}, 1, 4, 4, 10, 7, 16, 10, 22)
	},
	47: func(c *caseTest) {
		ids := c.ids([]int{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4)
		c.is(tensor.Ones(c.d, tensor.F32, 4, 5).ScatterAdd(ids, c.upTo(4, 3), 1), tensor.Shape{4, 5},
			1, 2, 3, 1, 1, 6, 1, 1, 4, 5, 1, 9, 1, 14, 1, 11, 1, 10, 1, 12)
	},
	48: func(c *caseTest) {
		ids := c.ids([]int{4, 3}, 0, 1, 2, 3, 4, 0, 3, 3, 1, 2, 0, 4)
		c.is(tensor.Ones(c.d, tensor.F32, 4, 5).Scatter(ids, c.upTo(4, 3), 1), tensor.Shape{4, 5},
			0, 1, 2, 1, 1, 5, 1, 1, 3, 4, 1, 8, 1, 7, 1, 10, 1, 9, 1, 11)
	},
	49: func(c *caseTest) {
		ids := c.ids([]int{4, 3}, 0, none, 2, 3, 4, none, 3, 3, 1, none, none, 4)
		c.is(tensor.Ones(c.d, tensor.F32, 6, 3).Scatter(ids, c.upTo(4, 3), 0), tensor.Shape{6, 3},
			0, 1, 1, 1, 1, 8, 1, 1, 2, 6, 7, 1, 1, 4, 11, 1, 1, 1)
	},
	50: func(c *caseTest) {
		c.is(c.upTo(4, 3).Gather(c.ids([]int{4, 1}, 0, 2, 1, 0), 1), tensor.Shape{4, 1}, 0, 5, 7, 9)
		c.is(c.upTo(4, 3).Gather(c.ids([]int{4, 1}, none, 2, none, 0), 1), tensor.Shape{4, 1}, 0, 5, 0, 9)
	},
	51: func(c *caseTest) {
		src := c.upTo(2, 3).AddScalar(100)
		c.is(c.upTo(4, 3).SliceScatter(src, 0, 1), tensor.Shape{4, 3}, 0, 1, 2, 100, 101, 102, 103, 104, 105, 9, 10, 11)
	},
	52: func(c *caseTest) {
		x := c.upTo(4, 3)
		require.ErrorIs(c, x.SliceSet(x, 0, 0), tensor.ErrArgument)
		require.ErrorIs(c, x.SliceSet(x.Narrow(0, 0, 2), 0, 2), tensor.ErrArgument)
	},
	103: func(c *caseTest) {
		ids := tensor.New(c.d, [][]int64{{0, 2}, {1, -1}})
		c.is(ids.OneHot(4, tensor.F32, 1, 0), tensor.Shape{2, 2, 4}, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0)
		cold := ids.OneHot(4, tensor.U8, 0, 1)
		require.Equal(c, tensor.U8, cold.DType())
		c.is(cold, tensor.Shape{2, 2, 4}, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1)
	},
})
