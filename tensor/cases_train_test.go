package tensor_test

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// The cases of layers, losses and training that are short formulas of tensors.
var _ = register(map[int]func(c *caseTest){
	95: func(c *caseTest) { // the cross entropy is the mean of minus the logarithms at the targets
		x := c.f32([]int{3, 5}, 1.105, .3013, -1.5394, -2.1528, -.8634, 1.073, -.9419, -.167, -.6582, .5061, .8318, 1.1154, -.361, .5351, 1.083)
		targets := tensor.From(c.d, []uint32{1, 0, 4}, 3, 1)
		for _, x := range layouts(x) {
			c.near(4, x.LogSoftmax(-1).Gather(targets, 1).Neg().Mean(), 1.1312)
		}
	},
	97: func(c *caseTest) {
		w, b := c.line(1000, func(v *tensor.Var, g *tensor.Tensor) *tensor.Tensor { return v.Tensor().Sub(g.MulScalar(.004)) })
		c.near(5, w, 2.9983196, .99790204)
		c.near(5, b, -1.9796902)
	},
	98: func(c *caseTest) {
		type moments struct {
			m, v *tensor.Tensor
			n    float64
		}
		state := map[*tensor.Var]*moments{}
		w, b := c.line(100, func(v *tensor.Var, g *tensor.Tensor) *tensor.Tensor {
			s := state[v]
			if s == nil {
				s = &moments{m: g.ZerosLike(), v: g.ZerosLike()}
				state[v] = s
			}
			s.n++
			s.m = s.m.MulScalar(.9).Add(g.MulScalar(.1))
			s.v = s.v.MulScalar(.999).Add(g.Sqr().MulScalar(.001))
			m, u := s.m.DivScalar(1-math.Pow(.9, s.n)), s.v.DivScalar(1-math.Pow(.999, s.n))
			return v.Tensor().MulScalar(1 - .1*.01).Sub(m.Div(u.Sqrt().AddScalar(1e-8)).MulScalar(.1))
		})
		c.near(4, w, 2.7257, .7097)
		c.near(4, b, .7873)
	},
	104: func(c *caseTest) {
		cache := tensor.Zeros(c.d, tensor.F32, 16)
		for range 2 { // and used again
			n := 0
			for _, x := range []*tensor.Tensor{c.f32(nil, 1, 2, 3), c.f32(nil, 4), c.f32(nil, 0, 5, 6, 7)} {
				require.NoError(c, cache.SliceSet(x, 0, n))
				n += x.Count()
			}
			c.is(cache.Narrow(0, 0, n), tensor.Shape{8}, 1, 2, 3, 4, 0, 5, 6, 7)
		}
	},
	105: func(c *caseTest) {
		ring := tensor.Zeros(c.d, tensor.F32, 6)
		n := 0
		for _, x := range []*tensor.Tensor{c.f32(nil, 1, 2, 3), c.f32(nil, 4), c.f32(nil, 0, 5, 6, 7)} {
			at, head := n%6, min(x.Count(), 6-n%6)
			require.NoError(c, ring.SliceSet(x.Narrow(0, 0, head), 0, at))
			require.NoError(c, ring.SliceSet(x.Narrow(0, head, x.Count()-head), 0, 0))
			n += x.Count()
		}
		c.is(ring, tensor.Shape{6}, 6, 7, 3, 4, 0, 5)
		require.Equal(c, []int{2, 8}, []int{n % 6, n})
		c.is(ring.Roll(-n%6, 0), tensor.Shape{6}, 3, 4, 0, 5, 6, 7) // the last six in order
	},
	106: func(c *caseTest) {
		logits := c.f32(nil, .1, .2, .3, .4)
		c.is(logits.ArgMax(), tensor.Shape{}, 3)
		_, top := logits.TopK(1, 0, false)
		c.is(top, tensor.Shape{1}, 3)
		c.d.SetSeed(106)
		noise := tensor.Rand(c.d, tensor.F32, 1e-9, 1, 100_000, 4).Log().Neg().Log().Neg() // of Gumbel's distribution
		for _, x := range []*tensor.Tensor{logits, c.f32(nil, -1, 2, 0, 1)} {
			drawn := x.Add(noise).ArgMax(-1).Bincount(4).Cast(tensor.F32).DivScalar(100_000)
			require.Less(c, list[float32](c.T, drawn.Sub(x.Softmax(0)).Abs().Max())[0], float32(.01))
		}
	},
	107: func(c *caseTest) { // row i sees what is at most one in front of it
		seen := tensor.Ones(c.d, tensor.U8, 4, 4).Tril(0).Triu(-1)
		inf := float32(math.Inf(-1))
		c.is(tensor.Zeros(c.d, tensor.F32, 4, 4).MaskedFill(seen.LogicalNot(), math.Inf(-1)).Get(2), tensor.Shape{4}, inf, 0, 0, inf)
	},
	108: func(c *caseTest) {
		x := c.upTo(1, 3, 2, 8)
		q, k, v := x.DivScalar(30).Cast(tensor.F16), x.DivScalar(40).Cast(tensor.F16), x.DivScalar(50).Cast(tensor.F16)
		y := q.MatMul(k.T()).MulScalar(.5).Softmax(-1).MatMul(v)
		require.Equal(c, tensor.Shape{1, 3, 2, 8}, y.Shape())
		c.near(3, y.Index(0, 0, 0), .0837, .1038, .1238, .1438, .1637, .1837, .2037, .2238)
	},
})

// line fits the line 3x + y - 2 through four points, from 0 on, by the sum of the squares of
// what is wrong; update gives the new numbers of a variable by its gradient.
func (c *caseTest) line(steps int, update func(v *tensor.Var, g *tensor.Tensor) *tensor.Tensor) (w, b *tensor.Tensor) {
	c.Helper()
	x := c.f32([]int{4, 2}, 2, 1, 7, 4, -4, 12, 5, 8)
	want := c.f32([]int{4, 1}, 5, 23, -2, 21)
	weight, bias := tensor.NewVar(tensor.Zeros(c.d, tensor.F32, 1, 2)), tensor.NewVar(tensor.Zeros(c.d, tensor.F32, 1))
	for range steps {
		g := c.gradients(x.MatMul(weight.Tensor().T()).Add(bias.Tensor()).Sub(want).Sqr().Sum())
		for _, v := range []*tensor.Var{weight, bias} {
			require.NoError(c, v.Set(update(v, g.Of(v.Tensor()))))
		}
	}
	return weight.Tensor(), bias.Tensor()
}
