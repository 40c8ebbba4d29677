package nn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

func init() {
	layers["mha"] = func() model { return model{net: nn.NewMultiHeadAttention(6, 2, nn.AttentionOptions{})} }
	layers["mha keys"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{})
		return model{m, func(in []ten) []ten {
			y, w := m.Attend(in[0], in[1], in[2], nn.Attend{Keys: in[3], Weights: true})
			return []ten{y, w}
		}}
	}
	layers["mha sizes"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{KeySize: 3, ValueSize: 5, NoBias: true})
		return one(m, func(in []ten) ten {
			y, _ := m.Attend(in[0], in[1], in[2], nn.Attend{Mask: in[3]})
			return y
		})
	}
	layers["mha causal"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{})
		return model{m, func(in []ten) []ten {
			y, w := m.Attend(in[0], in[0], in[0], nn.Attend{Causal: true, Weights: true})
			return []ten{y, w}
		}}
	}
	layers["mha bias kv"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{BiasKV: true})
		return model{m, func(in []ten) []ten {
			y, w := m.Attend(in[0], in[1], in[2], nn.Attend{Keys: in[3], Weights: true})
			return []ten{y, w}
		}}
	}
	layers["mha zero kv"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{ZeroKV: true})
		return one(m, func(in []ten) ten {
			y, _ := m.Attend(in[0], in[1], in[2], nn.Attend{Mask: in[3]})
			return y
		})
	}
	layers["mha bias zero causal"] = func() model {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{BiasKV: true, ZeroKV: true, NoBias: true})
		return model{m, func(in []ten) []ten {
			y, w := m.Attend(in[0], in[0], in[0], nn.Attend{Causal: true, Weights: true})
			return []ten{y, w}
		}}
	}
	layers["gqa"] = func() model {
		m := nn.NewMultiHeadAttention(8, 4, nn.AttentionOptions{KVHeads: 2})
		return one(m, func(in []ten) ten {
			y, _ := m.Attend(in[0], in[0], in[0], nn.Attend{Causal: true})
			return y
		})
	}
	small := nn.TransformerOptions{Width: 6}
	layers["encoder layer"] = func() model { return model{net: nn.NewTransformerEncoderLayer(4, 2, small)} }
	layers["encoder layer first"] = func() model {
		l := nn.NewTransformerEncoderLayer(4, 2, nn.TransformerOptions{Width: 6, Act: (ten).GeluErf, NormFirst: true, NoBias: true})
		return one(l, func(in []ten) ten { return l.Encode(in[0], nn.Attend{Causal: true}) })
	}
	layers["decoder layer"] = func() model { return decoder(small) }
	layers["decoder layer first"] = func() model { return decoder(nn.TransformerOptions{Width: 6, NormFirst: true}) }
	layers["transformer"] = func() model {
		t := nn.NewTransformer(1, 2, 4, 2, nn.TransformerOptions{Width: 4})
		return one(t, func(in []ten) ten { return t.Run(in[0], in[1], nn.Attend{}, nn.Attend{Causal: true}, nn.Attend{}) })
	}
	layers["swiglu"] = func() model { return model{net: nn.NewSwiGLU(3, 5)} }
	layers["geglu"] = func() model { return model{net: nn.NewGatedMLP(3, 5, tensor.Gelu)} }
	layers["moe"] = func() model { return model{net: nn.NewMoE(3, 4, 4, nn.MoEOptions{TopK: 2})} }
	layers["moe normalised"] = func() model {
		return model{net: nn.NewMoE(3, 4, 3, nn.MoEOptions{TopK: 2, Normalise: true, Scale: 2.5})}
	}
	layers["moe groups"] = func() model {
		return model{net: nn.NewMoE(3, 4, 6, nn.MoEOptions{TopK: 2, Sigmoid: true, Normalise: true, Scale: 1.5, Bias: true, Groups: 3, TopGroups: 2, GroupTop: 2})}
	}
}

func decoder(o nn.TransformerOptions) model {
	l := nn.NewTransformerDecoderLayer(4, 2, o)
	return one(l, func(in []ten) ten { return l.Decode(in[0], in[1], nn.Attend{Causal: true}, nn.Attend{}) })
}

// TestAttendCache: tokens one by one behind a cache give what all at once do.
func TestAttendCache(t *testing.T) {
	d := open(t)
	m := ready2(t, d, nn.NewMultiHeadAttention(8, 4, nn.AttentionOptions{KVHeads: 2}))
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 5, 8)
	want, _ := m.Attend(x, x, x, nn.Attend{Causal: true})
	cache := attention.NewCache(8)
	for i := range 5 {
		one := x.Narrow(1, i, 1)
		y, _ := m.Attend(one, one, one, nn.Attend{Causal: true, Cache: cache})
		requireNear(t, want.Narrow(1, i, 1), y, 1e-5)
	}
}

// TestAttendWeights: with and without weights the result is the same, with all masks.
func TestAttendWeights(t *testing.T) {
	d := open(t)
	m := ready2(t, d, nn.NewMultiHeadAttention(8, 4, nn.AttentionOptions{KVHeads: 2}))
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 3, 8)
	keys := tensor.From(d, []uint8{1, 1, 0, 1, 1, 1}, 2, 3)
	for _, mask := range []ten{nil, tensor.From(d, []int32{1, 0, 1, 2, 1, 0, 1, 1, 1}, 3, 3), tensor.Randn(d, tensor.F32, 0, 1, 2, 1, 3, 3)} {
		a, w := m.Attend(x, x, x, nn.Attend{Mask: mask, Keys: keys, Causal: true, Weights: true})
		b, none := m.Attend(x, x, x, nn.Attend{Mask: mask, Keys: keys, Causal: true})
		require.Nil(t, none)
		require.Equal(t, tensor.Shape{2, 4, 3, 3}, w.Shape())
		requireNear(t, a, b, 1e-5)
	}
}

func TestTransformerFaults(t *testing.T) {
	d := open(t)
	x := func(shape ...int) ten { return tensor.Ones(d, tensor.F32, shape...) }
	m := ready2(t, d, nn.NewMultiHeadAttention(8, 4, nn.AttentionOptions{}))
	require.ErrorIs(t, m.Forward(x(2, 8)).Err(), tensor.ErrRank)
	require.ErrorIs(t, m.Forward(x(2, 3, 7)).Err(), tensor.ErrShape)
	m.Heads = 3
	require.ErrorContains(t, m.Forward(x(2, 3, 8)).Err(), "8 features in 3 heads")
	e := nn.NewMoE(3, 4, 6, nn.MoEOptions{TopK: 7})
	require.ErrorIs(t, e.Forward(x(2, 3)).Err(), nn.ErrNoValue)
	ready2(t, d, e)
	require.ErrorContains(t, e.Forward(x(2, 3)).Err(), "7 of 6 experts")
	require.ErrorIs(t, e.Forward(x(2, 4)).Err(), tensor.ErrShape)
	e.Options = nn.MoEOptions{TopK: 3, Groups: 3, TopGroups: 1}
	require.ErrorContains(t, e.Forward(x(2, 3)).Err(), "3 experts of 1 of 3 groups of 2")
}

// TestMoEBalance: the loss is 1 where all experts have as many tokens and scores.
func TestMoEBalance(t *testing.T) {
	d := open(t)
	r := nn.Routing{IDs: tensor.From(d, []uint32{0, 1, 2, 3}, 2, 2), Scores: tensor.Ones(d, tensor.F32, 2, 4).MulScalar(0.25)}
	requireSame(t, tensor.Ones(d, tensor.F32), r.Balance())
	r.IDs = tensor.From(d, []uint32{0, 1, 0, 1}, 2, 2)
	r.Scores = tensor.From(d, []float32{0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0}, 2, 4)
	requireSame(t, tensor.Ones(d, tensor.F32).MulScalar(2), r.Balance())
	m := ready2(t, d, nn.NewMoE(3, 4, 4, nn.MoEOptions{TopK: 2}))
	m.Shared = ready2(t, d, nn.NewSwiGLU(3, 4))
	y, route := m.Run(tensor.Randn(d, tensor.F32, 0, 1, 2, 5, 3))
	require.Equal(t, tensor.Shape{2, 5, 3}, y.Shape())
	g, err := route.Balance().Backward()
	require.NoError(t, err)
	require.NotNil(t, g.Of(m.Gate.Weight.Tensor()))
}

// TestMoEPlain: experts without gates that work on fewer features are what all experts make of all
// tokens, by weights.
func TestMoEPlain(t *testing.T) {
	d := open(t)
	m := nn.NewMoE(3, 4, 4, nn.MoEOptions{TopK: 2, Act: tensor.Gelu})
	m.GateProj, m.Gate = nil, nn.NewLinearNoBias(5, 4)
	m.LatentIn, m.LatentOut = nn.NewLinear(5, 3), nn.NewLinear(3, 5)
	m.Shared = nn.NewSwiGLU(5, 4)
	ready2(t, d, m)
	x := tensor.Randn(d, tensor.F32, 0, 1, 7, 5)
	y, r := m.Run(x)
	of := tensor.Zeros(d, tensor.F32, 7, 4).Scatter(r.IDs, r.Weights, -1) // (tokens, experts)
	h := m.LatentIn.Forward(x)
	var want ten
	for e := range 4 {
		one := h.MatMul(m.UpProj.Tensor().GetOn(0, e).T()).Gelu().MatMul(m.DownProj.Tensor().GetOn(0, e).T())
		if one = one.Mul(of.Narrow(1, e, 1)); want != nil {
			one = one.Add(want)
		}
		want = one
	}
	requireNear(t, m.LatentOut.Forward(want).Add(m.Shared.Forward(x)), y, 1e-5)
	m.LatentIn = nn.NewLinear(5, 2)
	ready2(t, d, m.LatentIn)
	require.ErrorIs(t, m.Forward(x).Err(), tensor.ErrShape)
}

// A key behind all others has a value, and the other way round.
func TestBiasKVErrors(t *testing.T) {
	d := open(t)
	for _, drop := range []func(m *nn.MultiHeadAttention){
		func(m *nn.MultiHeadAttention) { m.BiasK = nil },
		func(m *nn.MultiHeadAttention) { m.BiasV = nil },
	} {
		m := nn.NewMultiHeadAttention(4, 2, nn.AttentionOptions{BiasKV: true})
		drop(m)
		require.NoError(t, nn.Init(m, nn.On{Device: d}))
		x := tensor.Ones(d, tensor.F32, 1, 3, 4)
		y, _ := m.Attend(x, x, x, nn.Attend{})
		require.ErrorIs(t, y.Err(), tensor.ErrArgument)
		require.ErrorContains(t, y.Err(), "without the other")
	}
}
