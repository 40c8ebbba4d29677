package tensor_test

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// points is what many cases of functions begin with.
func (c *caseTest) points() *tensor.Tensor {
	return c.f32([]int{2, 5}, -3, 1, 4, -0.1, 0.5, 2.7, -1.8, -0.28, 1.8, 2.8)
}

// blocks is what many cases of reductions begin with.
func (c *caseTest) blocks() *tensor.Tensor {
	return c.f32([]int{2, 2, 3}, 3, 1, 4, 1, 5, 9, 2, 1, 7, 8, 2, 8)
}

// pair is two matrices of the same shape.
func (c *caseTest) pair() (a, b *tensor.Tensor) {
	return c.f32([]int{2, 5}, 3, 1, 4, 1, 5, 2, 1, 7, 8, 2), c.f32([]int{2, 5}, 5, 5, 5, 5, 5, 2, 1, 7, 8, 2)
}

// The cases of functions, comparisons and conditions.
var _ = register(map[int]func(c *caseTest){
	15: func(c *caseTest) {
		c.near(4, c.points().Gelu(), -.0036, .8412, 3.9999, -.046, .3457, 2.6911, -.0647, -.1091, 1.7353, 2.7933)
	},
	16: func(c *caseTest) {
		c.near(4, c.points().GeluErf(), -.004, .8413, 3.9999, -.046, .3457, 2.6906, -.0647, -.1091, 1.7353, 2.7928)
	},
	17: func(c *caseTest) {
		c.near(4, c.points().Erf(), -1, .8427, 1, -.1125, .5205, .9999, -.9891, -.3079, .9891, .9999)
	},
	18: func(c *caseTest) {
		c.near(4, c.points().Silu(), -.1423, .7311, 3.9281, -.0475, .3112, 2.53, -.2553, -.1205, 1.5447, 2.6395)
	},
	19: func(c *caseTest) {
		s := tensor.Shape{2, 5}
		c.is(c.points().Ceil(), s, -3, 1, 4, 0, 1, 3, -1, 0, 2, 3)
		c.is(c.points().Floor(), s, -3, 1, 4, -1, 0, 2, -2, -1, 1, 2)
		c.is(c.points().Round(), s, -3, 1, 4, 0, 1, 3, -2, 0, 2, 3)
	},
	20: func(c *caseTest) {
		diff := c.points().Gelu().Sub(c.points().Cast(tensor.F16).Gelu().Cast(tensor.F32))
		require.Less(c, list[float32](c.T, diff.Abs().Max())[0], float32(5e-3))
	},
	21: func(c *caseTest) {
		x := c.f32([]int{2}, 2997.9246, 314.15926)
		c.near(2, x.RoundTo(2), 2997.92, 314.16)
		c.is(x.RoundTo(-2), tensor.Shape{2}, 3000, 300)
		large := tensor.From(x.Device(), []float32{3e38, float32(math.Inf(-1))})
		c.is(large.RoundTo(2), tensor.Shape{2}, 3e38, float32(math.Inf(-1)))
	},
	22: func(c *caseTest) {
		x := c.f32([]int{9}, -1.01, -.9, -.1, 0, float32(math.Copysign(0, -1)), .1, .9, 1, 1.1)
		c.is(x.Sign(), tensor.Shape{9}, -1, -1, -1, 0, 0, 1, 1, 1, 1)
	},
	23: func(c *caseTest) {
		x := c.f32([]int{2, 2}, -1, 0, -2, 3)
		c.near(4, x.Elu(2), -1.2642, 0, -1.7293, 3)
		c.near(4, x.T().Elu(2), -1.2642, -1.7293, 0, 3)
	},
	24: func(c *caseTest) {
		a, _ := c.pair()
		c.near(4, a.Clamp(1.5, 6.2), 3, 1.5, 4, 1.5, 5, 2, 1.5, 6.2, 6.2, 2)
		low, high := c.f32(nil, 1.5).Reshape(), c.f32(nil, 6.2).Reshape()
		c.near(4, a.Maximum(low).Minimum(high), 3, 1.5, 4, 1.5, 5, 2, 1.5, 6.2, 6.2, 2)
	},
	25: func(c *caseTest) { c.is(tensor.From(c.d, []int64{-42, 1337}).Abs(), tensor.Shape{2}, 42, 1337) },
	26: func(c *caseTest) {
		x := c.upTo(2, 3).AddScalar(1)
		c.near(3, x.Pow(x.SubScalar(2)), 1, 1, 3, 16, 125, 1296)
	},
	27: func(c *caseTest) {
		a, b := c.pair()
		c.near(6, a.Add(a.Mul(a).Div(a.Add(b))), 4.125, 1.1666666, 5.7777777, 1.1666666, 7.5, 3, 1.5, 10.5, 12, 3)
	},
	28: func(c *caseTest) {
		a, b := c.pair()
		half := b.MulScalar(0.5)
		c.is(a.Minimum(half), tensor.Shape{2, 5}, 2.5, 1, 2.5, 1, 2.5, 1, .5, 3.5, 4, 1)
		c.is(a.Maximum(half), tensor.Shape{2, 5}, 3, 2.5, 4, 2.5, 5, 2, 1, 7, 8, 2)
	},
	29: caseWhere,
	30: func(c *caseTest) {
		x, y := c.upTo(3, 2), c.f32([]int{3, 2}, 1, 0, 3, 3, 4, 7)
		s := tensor.Shape{3, 2}
		require.Equal(c, tensor.U8, x.Eq(y).DType())
		c.is(x.Eq(y), s, 0, 0, 0, 1, 1, 0)
		c.is(x.Ne(y), s, 1, 1, 1, 0, 0, 1)
		c.is(x.Lt(y), s, 1, 0, 1, 0, 0, 1)
		c.is(x.Le(y), s, 1, 0, 1, 1, 1, 1)
		c.is(x.Gt(y), s, 0, 1, 0, 0, 0, 0)
		c.is(x.Ge(y), s, 0, 1, 0, 1, 1, 0)
	},
	31: func(c *caseTest) {
		sum := c.upTo(4, 2, 3).Add(c.f32([]int{2, 1}, 100, 200))
		c.is(sum.Get(0), tensor.Shape{2, 3}, 100, 101, 102, 203, 204, 205)
		c.is(sum.Get(3), tensor.Shape{2, 3}, 118, 119, 120, 221, 222, 223)
	},
	32: func(c *caseTest) {
		by := c.f32([]int{2, 1}, 100, 200)
		product := c.upTo(4, 2, 3).Mul(by)
		c.is(c.upTo(4, 2, 3).Div(by.Recip()), tensor.Shape{4, 2, 3}, list[float32](c.T, product)...)
	},
})

// caseWhere chooses between operands in every combination of layouts.
func caseWhere(c *caseTest) {
	mask := tensor.New(c.d, [][]uint8{{0, 1, 0, 1, 0}, {1, 1, 1, 0, 0}})
	x, y := c.upTo(2, 5), c.upTo(2, 5).AddScalar(10)
	s := tensor.Shape{2, 5}
	want := []float32{10, 1, 12, 3, 14, 5, 6, 7, 18, 19}
	c.is(mask.Where(x, y), s, want...)
	for _, m := range layouts(mask) {
		for _, a := range layouts(x) {
			for _, b := range layouts(y) {
				c.is(m.Where(a, b), s, want...)
			}
		}
	}
	one, two := c.f32(nil, 1).Reshape(), c.f32(nil, 2).Reshape()
	c.is(mask.Where(one, two.BroadcastTo(2, 5)), s, 2, 1, 2, 1, 2, 1, 1, 1, 2, 2)
	c.is(mask.Where(c.upTo(5), two), s, 2, 1, 2, 3, 2, 0, 1, 2, 2, 2)
	c.is(mask.Where(c.upTo(2, 1), y.Get(0)), s, 10, 0, 12, 0, 14, 1, 1, 1, 13, 14)
	c.is(mask.Get(0).Where(x, y.Narrow(1, 2, 1)), s, 12, 1, 12, 3, 12, 17, 6, 17, 8, 17)
}

// The cases of reductions.
var _ = register(map[int]func(c *caseTest){
	33: func(c *caseTest) {
		c.is(c.blocks().SumKeep(2), tensor.Shape{2, 2, 1}, 8, 15, 10, 18)
		c.is(c.blocks().SumKeep(0), tensor.Shape{1, 2, 3}, 5, 2, 11, 9, 7, 17)
		c.is(c.blocks().Sum(), tensor.Shape{}, 51)
		c.is(c.blocks().Sum(0, 2), tensor.Shape{2}, 18, 33)
	},
	34: func(c *caseTest) {
		x := tensor.Arange(c.d, uint32(0), 4000)
		pairs := x.Reshape(2000, 2)
		for _, y := range []*tensor.Tensor{x, pairs, pairs.T(), x.Reshape(20, 50, 4), x.Reshape(20, 50, 4).Transpose(0, 1), pairs.T().Contiguous()} {
			require.Equal(c, []int64{7998000}, list[int64](c.T, y.Sum()))
		}
		require.Equal(c, []int64{3998000, 4000000}, list[int64](c.T, pairs.Sum(0)))
		require.Equal(c, []int64{3998000, 4000000}, list[int64](c.T, pairs.T().Sum(1)))
	},
	35: func(c *caseTest) {
		c.is(c.blocks().MinKeep(2), tensor.Shape{2, 2, 1}, 1, 1, 1, 2)
		c.is(c.blocks().MaxKeep(2), tensor.Shape{2, 2, 1}, 4, 9, 7, 8)
	},
	36: func(c *caseTest) {
		c.is(c.blocks().ArgMinKeep(2), tensor.Shape{2, 2, 1}, 1, 0, 1, 1)
		c.is(c.blocks().ArgMinKeep(0), tensor.Shape{1, 2, 3}, 1, 0, 0, 0, 1, 1)
	},
	37: func(c *caseTest) {
		c.is(c.blocks().ArgMaxKeep(2), tensor.Shape{2, 2, 1}, 2, 2, 2, 0)
		c.is(c.blocks().ArgMaxKeep(0), tensor.Shape{1, 2, 3}, 0, 0, 1, 1, 0, 0)
	},
	38: func(c *caseTest) {
		x := c.f32([]int{4, 4}, .2035, 1.2959, 1.8101, -.4644, 1.5027, -.3270, .5905, .6538, -1.5745, 1.3330, -.5596, -.6548, .1264, -.5080, 1.6420, .1992)
		c.near(4, x.VarKeep(1, 1), 1.0631, .559, 1.4893, .8258)
		c.near(4, x.Var(1), 1.0631, .559, 1.4893, .8258)
	},
	39: func(c *caseTest) {
		c.is(c.f32(nil, 3, 1, 4, 1, 5).CumSum(0), tensor.Shape{5}, 3, 4, 8, 9, 14)
	},
	40: func(c *caseTest) {
		x := c.f32([]int{2, 2, 3}, 1, 2, 3, 4, 5, 6, -1000, -999, -1001, 1000, 999, 1001)
		c.near(4, x.LogSumExp(-1), 3.4076, 6.4076, -998.5924, 1001.4076)
		c.is(x.LogSumExp(0, 1), tensor.Shape{3}, 1000, 999, 1001)
		c.near(3, x.LogSumExp(), 1001.408) // along no dimension is along all
	},
	41: func(c *caseTest) { c.is(c.f32([]int{2, 2}, 3, 4, 0, 0).Norm(), tensor.Shape{}, 5) },
	89: func(c *caseTest) {
		x := c.blocks().Log()
		c.near(4, x.Softmax(0), .6, .5, .3636, .1111, .7143, .5294, .4, .5, .6364, .8889, .2857, .4706)
		c.near(4, x.Softmax(1), .75, .1667, .3077, .25, .8333, .6923, .2, .3333, .4667, .8, .6667, .5333)
		c.near(4, x.Softmax(2), .375, .125, .5, .0667, .3333, .6, .2, .1, .7, .4444, .1111, .4444)
	},
	90: func(c *caseTest) { c.is(c.f32(nil, 1234, 0).Softmax(0), tensor.Shape{2}, 1, 0) },
})

// The cases of products.
var _ = register(map[int]func(c *caseTest){
	53: func(c *caseTest) {
		x := c.f32([]int{2, 2}, 1, 2, 3, 4)
		c.is(x.MatMul(x), tensor.Shape{2, 2}, 7, 10, 15, 22)
		b := x.Cast(tensor.BF16)
		require.Equal(c, tensor.BF16, b.MatMul(b).DType())
		c.is(b.MatMul(b), tensor.Shape{2, 2}, 7, 10, 15, 22)
	},
	54: func(c *caseTest) {
		for _, x := range layouts(c.upTo(2, 2, 3)) {
			for _, y := range layouts(c.upTo(2, 3, 2).AddScalar(2)) {
				c.is(x.MatMul(y), tensor.Shape{2, 2, 2}, 16, 19, 52, 64, 214, 235, 304, 334)
			}
			y := c.upTo(2, 3, 2).AddScalar(2).T().Contiguous().T()
			require.Equal(c, []int{6, 1, 3}, y.Strides())
			c.is(x.MatMul(y), tensor.Shape{2, 2, 2}, 16, 19, 52, 64, 214, 235, 304, 334)
		}
	},
	55: func(c *caseTest) {
		c.is(c.f32(nil, 1, 2, 3).Dot(c.f32(nil, 4, 5, 6)), tensor.Shape{}, 32)
		c.is(c.upTo(2, 3).AddScalar(1).MV(c.f32(nil, 1, 1, 1)), tensor.Shape{2}, 6, 15)
	},
	56: func(c *caseTest) { c.is(c.upTo(2, 0).MatMul(c.upTo(0, 3)), tensor.Shape{2, 3}, 0, 0, 0, 0, 0, 0) },
	57: func(c *caseTest) {
		other, err := tensor.Open("cpu:interp8")
		require.NoError(c, err)
		defer other.Close()
		x := c.upTo(0, 2)
		require.ErrorIs(c, x.MatMul(c.upTo(3, 4)).Err(), tensor.ErrShape)
		require.ErrorIs(c, x.MatMul(c.upTo(2, 3).Cast(tensor.F16)).Err(), tensor.ErrDTypeMismatch)
		there := tensor.Zeros(other, tensor.F16, 2, 3)
		require.ErrorIs(c, x.MatMul(there).Err(), tensor.ErrDevice)
		require.ErrorIs(c, x.MatMul(there.T()).Err(), tensor.ErrShape)
	},
	58: func(c *caseTest) {
		c.d.SetSeed(1)
		x, y := tensor.Randn(c.d, tensor.F32, 0, 1, 3, 1, 4, 5), tensor.Randn(c.d, tensor.F32, 0, 1, 6, 5, 2)
		z := x.MatMul(y)
		require.Equal(c, tensor.Shape{3, 6, 4, 2}, z.Shape())
		for i := range 3 {
			for j := range 6 {
				one := x.Get(i).Get(0).MatMul(y.Get(j))
				require.Less(c, list[float32](c.T, z.Get(i).Get(j).Sub(one).Sqr().Sum())[0], float32(1e-6))
			}
		}
	},
})
