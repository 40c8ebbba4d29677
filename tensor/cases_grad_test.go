package tensor_test

import (
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// The cases of gradients.
var _ = register(map[int]func(c *caseTest){
	75: func(c *caseTest) {
		x := c.variable(nil, 3, 1, 4)
		y := x.Sqr().Add(x.MulScalar(5)).AddScalar(4)
		c.is(y, tensor.Shape{3}, 28, 10, 40)
		c.is(c.gradients(y).Of(x), tensor.Shape{3}, 11, 7, 13)
	},
	76: func(c *caseTest) {
		x := c.variable(nil, 3, 1, 4)
		y := x.Sqr().Sum().MulScalar(2)
		c.is(y, tensor.Shape{}, 52)
		c.is(c.gradients(y).Of(x), tensor.Shape{3}, 12, 4, 16)
	},
	77: func(c *caseTest) {
		for _, f := range []struct {
			f    func(x ten) ten
			want []float64
		}{
			{func(x ten) ten { return x.Log().AddScalar(1) }, []float64{.3333, 1, .25, 6.6667}},
			{ten.Exp, []float64{20.0855, 2.7183, 54.5982, 1.1618}},
			{ten.Sin, []float64{-.99, .5403, -.6536, .9888}},
			{ten.Cos, []float64{-.1411, -.8415, .7568, -.1494}},
			{ten.Sqr, []float64{6, 2, 8, .3}},
			{func(x ten) ten { return x.Sqr().Sqrt() }, []float64{1, 1, 1, 1}},
			{ten.Neg, []float64{-1, -1, -1, -1}},
			{func(x ten) ten { return x.Affine(.2, 1) }, []float64{.2, .2, .2, .2}},
			{func(x ten) ten { return tensor.Ones(x.Device(), tensor.F32, 4).Div(x) }, []float64{-.1111, -1, -.0625, -44.4444}},
		} {
			x := c.variable(nil, 3, 1, 4, .15)
			c.near(4, c.gradients(f.f(x)).Of(x), f.want...)
		}
	},
	78: func(c *caseTest) {
		x := c.variable(nil, 3, 1, 4, .15)
		y := x.PowScalar(2.5)
		c.near(2, y, 15.59, 1, 32, .01)
		c.near(2, c.gradients(y).Of(x), 12.99, 2.5, 20, .15)
	},
	79: func(c *caseTest) {
		x := c.variable(nil, 3, 1, 4, .15)
		c.near(4, c.gradients(x.Gelu()).Of(x), 1.0116, 1.083, 1.0003, .6188)
		c.near(4, c.gradients(x.GeluErf()).Of(x), 1.0119, 1.0833, 1.0005, .6188)
		c.near(4, c.gradients(x.Erf()).Of(x), .0001, .4151, 0, 1.1033)
		c.near(4, c.gradients(x.Silu()).Of(x), 1.0881, .9277, 1.0527, .5747)
	},
	80: func(c *caseTest) {
		x := c.variable(nil, -1, 0, -2, 3)
		c.near(4, c.gradients(x.Elu(2)).Of(x), .7358, 2, .2707, 1)
	},
	81: func(c *caseTest) {
		x := c.variable(nil, 3, 1, 4, .15)
		c.near(2, c.gradients(x.Tanh()).Of(x), .01, .42, 0, .98)
	},
	82: func(c *caseTest) {
		x := c.variable(nil, 3, 1, -4, -1)
		c.near(6, c.gradients(x.Maximum(x.MulScalar(.1))).Of(x), 1, 1, .1, .1)
		c.is(c.gradients(x.Minimum(x)).Of(x), tensor.Shape{4}, 1, 1, 1, 1)
	},
	83: func(c *caseTest) {
		x, y := tensor.NewVar(c.upTo(2, 2, 3)).Tensor(), tensor.NewVar(c.upTo(2, 3, 2)).Tensor()
		g := c.gradients(x.MatMul(y))
		c.is(g.Of(x), tensor.Shape{2, 2, 3}, 1, 5, 9, 1, 5, 9, 13, 17, 21, 13, 17, 21)
		c.is(g.Of(y), tensor.Shape{2, 3, 2}, 3, 3, 5, 5, 7, 7, 15, 15, 17, 17, 19, 19)
	},
	84: func(c *caseTest) {
		x := c.variable([]int{2, 1, 2}, 3, -1, 4, .5)
		e := x.Expand(2, 3, 2)
		c.is(c.gradients(e.Sqr().Sum().MulScalar(.5)).Of(x), tensor.Shape{2, 1, 2}, 9, -3, 12, 1.5)
	},
	85: func(c *caseTest) {
		weights := c.upTo(1, 1, 6, 6).AddScalar(1)
		x := tensor.NewVar(c.upTo(1, 1, 3, 3)).Tensor()
		c.is(c.gradients(x.UpsampleNearest(6, 6).Mul(weights)).Of(x), tensor.Shape{1, 1, 3, 3}, 18, 26, 34, 66, 74, 82, 114, 122, 130)
		x = tensor.NewVar(c.upTo(1, 1, 2, 2)).Tensor()
		c.is(c.gradients(x.UpsampleNearest(6, 6).Mul(weights)).Of(x), tensor.Shape{1, 1, 2, 2}, 72, 99, 234, 261)
	},
	86: func(c *caseTest) {
		x, y := c.variable([]int{2, 3}, 3, 1, -4, -1, 5, 9), c.variable([]int{1, 3}, 2, 7, 1)
		g := c.gradients(x.SliceScatter(y, 0, 1).Sqr())
		c.is(g.Of(x), tensor.Shape{2, 3}, 6, 2, -8, 0, 0, 0)
		c.is(g.Of(y), tensor.Shape{1, 3}, 4, 14, 2)
	},
	87: func(c *caseTest) {
		v := tensor.NewVar(c.f32(nil, 0))
		for range 100 {
			x := v.Tensor()
			require.NoError(c, v.Set(x.Sub(c.gradients(x.SubScalar(4.2).Sqr()).Of(x).MulScalar(.1))))
		}
		c.near(6, v.Tensor(), 4.199999)
	},
	88: func(c *caseTest) {
		x := c.variable(nil, -2, 0, 2)
		y := tensor.Apply1(eluOf{2}, x)
		c.near(4, y, -1.7293, 0, 2)
		c.near(4, c.gradients(y).Of(x), .2707, 1, 1)
	},
})

// eluOf is an operation of a program that has a gradient.
type eluOf struct{ alpha float64 }

func (eluOf) Name() string { return "elu of a program" }

func (o eluOf) Forward(x *tensor.Tensor) *tensor.Tensor {
	return x.GeScalar(0).Where(x, x.Expm1().MulScalar(o.alpha))
}

func (o eluOf) Backward(g, x, out *tensor.Tensor) *tensor.Tensor {
	return x.GeScalar(0).Where(g, g.Mul(x.Exp()).MulScalar(o.alpha))
}
