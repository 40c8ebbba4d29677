package tensor_test

import (
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// The cases of normalizations.
var _ = register(map[int]func(c *caseTest){
	91: func(c *caseTest) {
		weight := c.f32(nil, 1, 2, 3)
		for _, x := range layouts(c.blocks()) {
			y := x.RMSNorm(-1, weight, 1e-5)
			c.near(4, y, 1.019, .6794, 4.0762, .1674, 1.6744, 4.521, .4714, .4714, 4.9497, 1.206, .603, 3.6181)
			require.Less(c, list[float32](c.T, y.Sub(slowRMSNorm(x, weight, 1e-5)).Abs().Sum())[0], float32(1e-5))
		}
	},
	92: func(c *caseTest) {
		c.d.SetSeed(92)
		x := tensor.Rand(c.d, tensor.F32, -7e9, 7e9, 4, 6912)
		weight := tensor.Ones(c.d, tensor.F32, 6912)
		y := x.RMSNorm(-1, weight, 1e-5)
		require.Equal(c, []uint8{1}, list[uint8](c.T, y.IsFinite().All()))
		require.Less(c, list[float32](c.T, y.Sub(slowRMSNorm(x, weight, 1e-5)).Abs().Max())[0], float32(5e-3))
	},
	93: func(c *caseTest) {
		weight, bias := c.f32(nil, 1, 2, 3), c.f32(nil, .5, 0, -.2)
		for _, x := range layouts(c.blocks()) {
			c.near(4, x.LayerNorm(-1, weight, bias, 1e-5),
				.7673, -2.6726, 3.0071, -.7247, 0, 3.4742, -.008, -1.778, 3.991, 1.2071, -2.8284, 1.9213)
		}
	},
	94: func(c *caseTest) {
		three, half := c.f32(nil, 3, 3, 3), c.f32(nil, .5, .5, .5)
		c.near(4, c.f32([]int{1, 3}, 1, 2, 3).LayerNorm(-1, three, half, 1e-8), -3.1742, .5, 4.1742)
		c.near(4, c.f32([]int{1, 3}, 9, 8, 7).LayerNorm(-1, three, half, 1e-8), 4.1742, .5, -3.1742)
		c.near(4, c.f32([]int{1, 2}, 4, 0).LayerNorm(-1, three.Narrow(0, 0, 2), half.Narrow(0, 0, 2), 1e-8), 3.5, -2.5)
	},
})

// slowRMSNorm is the formula, one operation after the other.
func slowRMSNorm(x, weight *tensor.Tensor, eps float64) *tensor.Tensor {
	return x.Div(x.Sqr().MeanKeep(-1).AddScalar(eps).Sqrt()).Mul(weight)
}
