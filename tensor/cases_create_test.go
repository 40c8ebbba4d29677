package tensor_test

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// The cases of creation and layout, and of printing.
var _ = register(map[int]func(c *caseTest){
	1: func(c *caseTest) {
		require.Equal(c, []int64{5, 4, 3, 2, 1}, list[int64](c.T, tensor.ArangeStep(c.d, int64(5), 0, -1)))
	},
	2: func(c *caseTest) {
		require.Equal(c, []uint8{0, 2, 4}, list[uint8](c.T, tensor.ArangeStep(c.d, uint8(0), 5, 2)))
		require.Equal(c, []uint8{0, 3}, list[uint8](c.T, tensor.ArangeStep(c.d, uint8(0), 5, 3)))
	},
	3: func(c *caseTest) {
		x := tensor.Zeros(c.d, tensor.U32, 3, 4)
		set := func(t *tensor.Tensor, v float64) { require.NoError(c, t.Assign(t.Get(0).FullLike(v))) }
		set(x, 42)
		c.is(x.Get(0), tensor.Shape{4}, 42, 42, 42, 42)
		set(x.Narrow(1, 2, 1), 1337)
		require.NoError(c, x.Get(2).OneSet())
		c.is(x, tensor.Shape{3, 4}, 42, 42, 1337, 42, 42, 42, 1337, 42, 1, 1, 1, 1)
	},
	4: func(c *caseTest) {
		c.is(tensor.Tril2(c.d, tensor.F32, 4), tensor.Shape{4, 4}, 1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1)
		c.is(tensor.Triu2(c.d, tensor.U8, 4), tensor.Shape{4, 4}, 1, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 1)
		c.is(tensor.Eye(c.d, tensor.I64, 4), tensor.Shape{4, 4}, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1)
	},
	5: func(c *caseTest) {
		x := c.upTo(2, 3, 4).T().Contiguous()
		require.True(c, x.IsContiguous())
		c.is(x.Get(0), tensor.Shape{4, 3}, 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)
	},
	6: func(c *caseTest) { c.is(c.upTo(4, 3).Index(tensor.Slice(1, 0)), tensor.Shape{0, 3}) },
	7: func(c *caseTest) {
		c.is(c.upTo(2, 3).Index(1), tensor.Shape{3}, 3, 4, 5)
		c.is(c.upTo(2, 3).Index(tensor.Ellipsis, 2), tensor.Shape{2}, 2, 5)
	},
	8: func(c *caseTest) {
		x := c.upTo(4, 5)
		require.NoError(c, x.Index(tensor.Slice(1, 4), tensor.Slice(3, 5)).Assign(c.upTo(3, 2)))
		c.is(x, tensor.Shape{4, 5}, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 10, 11, 12, 2, 3, 15, 16, 17, 4, 5)
	},
	9: func(c *caseTest) {
		c.is(c.upTo(2, 2).Repeat(0, 2), tensor.Shape{0, 4})
		c.is(c.upTo(2, 2).Repeat(2, 0), tensor.Shape{4, 0})
	},
	10: func(c *caseTest) {
		grids := tensor.Meshgrid(false, c.upTo(0), c.upTo(3))
		require.Len(c, grids, 2)
		c.is(grids[0], tensor.Shape{0, 3})
		c.is(grids[1], tensor.Shape{0, 3})
	},
	11: func(c *caseTest) {
		x := c.f32([]int{2, 2}, 1, 2, 3, 4)
		c.is(x.Pad(0, 1, 2, tensor.PadEdge, 0), tensor.Shape{5, 2}, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4)
	},
	12: func(c *caseTest) {
		c.is(c.upTo(5).Flip(0), tensor.Shape{5}, 4, 3, 2, 1, 0)
		c.is(c.upTo(2, 3).Flip(0, 1), tensor.Shape{2, 3}, 5, 4, 3, 2, 1, 0)
	},
	13: func(c *caseTest) {
		four := []float32{1, 2, 3, 4}
		require.ErrorIs(c, tensor.From(c.d, four, 2, 2, 2).Err(), tensor.ErrShape)
		require.ErrorIs(c, tensor.From(c.d, four, 2, 1).Err(), tensor.ErrShape)
		c.is(tensor.From(c.d, four, tensor.Inferred, 2), tensor.Shape{2, 2}, 1, 2, 3, 4)
	},
	14: func(c *caseTest) {
		t, u := tensor.Zeros(c.d, tensor.F32, 4, 0, 1), tensor.Zeros(c.d, tensor.F32, 4, 3, 1)
		c.is(u.MatMul(t.T()), tensor.Shape{4, 3, 0})
		c.is(t.MatMul(u.T()), tensor.Shape{4, 0, 3})
		c.is(t.T().MatMul(t), tensor.Shape{4, 1, 1}, 0, 0, 0, 0)
	},
	109: func(c *caseTest) { c.prints(tensor.Item(c.d, uint32(1234)), "[1234]", "[], u32") },
	110: func(c *caseTest) {
		c.prints(tensor.Item(c.d, float32(-123.4)), "[-123.4000]", "[], f32")
		c.prints(tensor.Item(c.d, float32(-1.234e-5)), "[-1.2340e-5]", "[], f32")
		c.prints(tensor.Item(c.d, float32(-1.234e11)), "[-1.2340e11]", "[], f32")
		c.prints(tensor.Item(c.d, float32(0)), "[0.]", "[], f32")
	},
	111: func(c *caseTest) {
		c.prints(tensor.From(c.d, []float64{0.1234567, 1, -1.2, 4.1, math.NaN()}), "[ 0.1235,  1.0000, -1.2000,  4.1000,     NaN]", "[5], f64")
	},
	112: func(c *caseTest) {
		c.prints(tensor.Ones(c.d, tensor.F32, 50).MulScalar(42), `[42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42.,
 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42.,
 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42., 42.,
 42., 42.]`, "[50], f32")
	},
	113: func(c *caseTest) {
		c.prints(tensor.Ones(c.d, tensor.F32, 11000).MulScalar(42), "[42., 42., 42., ..., 42., 42., 42.]", "[11000], f32")
	},
	114: func(c *caseTest) { c.prints(tensor.Zeros(c.d, tensor.U32, 0), "[]", "[0], u32") },
})

// prints checks what a tensor prints as, but for the device.
func (c *caseTest) prints(x *tensor.Tensor, want, title string) {
	c.Helper()
	require.NoError(c, x.Err())
	place := ""
	if c.d.Runtime().Info().Kind != "cpu" {
		place = ", " + c.d.Name()
	}
	require.Equal(c, want+"\nTensor["+title+place+"]", x.String())
}
