package models

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// TimeMix is what RWKV-7 has in place of attention (Peng et al., "RWKV-7 Goose with expressive
// dynamic state evolution", 2025, section 4): all that a token is made into is of a mixture with the
// token before, for each in other shares, and values are stored under keys by the general delta
// rule.
type TimeMix struct {
	XR *nn.Param `nn:"x_r"` // shares of the token before
	XW *nn.Param `nn:"x_w"`
	XK *nn.Param `nn:"x_k"`
	XV *nn.Param `nn:"x_v"`
	XA *nn.Param `nn:"x_a"`
	XG *nn.Param `nn:"x_g"`

	R *nn.Linear `nn:"r_proj"` // receptances, which are queries
	K *nn.Linear `nn:"k_proj"`
	V *nn.Linear `nn:"v_proj"`
	O *nn.Linear `nn:"o_proj"`

	Decay *lora `nn:"w_lora"`
	Rate  *lora `nn:"a_lora"` // how much of a key is removed: the learning rate in context
	Old   *lora `nn:"v_lora"` // the share of the first layer's values, nil in this layer
	Gate  *lora `nn:"g_lora"`

	KK *nn.Param `nn:"k_k"` // keys that are removed
	KA *nn.Param `nn:"k_a"` // keys that are stored
	RK *nn.Param `nn:"r_k"` // what a token gets of its own value

	Norm *nn.GroupNorm `nn:"g_norm"`

	heads, size int
	shift       *tokenShift `nn:"-"`
	state       *stateRows  `nn:"-"`
}

// lora is a product by two matrices of low rank, with an activation between.
type lora struct {
	Down *nn.Linear `nn:"lora.0"`
	Up   *nn.Linear `nn:"lora.2"`
	act  func(*tensor.Tensor) *tensor.Tensor
}

func (l *lora) forward(x *tensor.Tensor) *tensor.Tensor {
	y := l.Down.Forward(x)
	if l.act != nil {
		y = l.act(y)
	}
	return l.Up.Forward(y)
}

// tokenShift is how much the token before each differs from it, by a convolution.
type tokenShift struct {
	weight *tensor.Tensor
	state  *stateRows
}

func newTokenShift(channels int) *tokenShift {
	return &tokenShift{state: newStateRows(1, channels)}
}

// forward returns x[t−1] − x[t] of x, (tokens, channels), with zeros before the first token.
func (s *tokenShift) forward(x *tensor.Tensor, on *recurrent.Sequences) *tensor.Tensor {
	if s.weight == nil || s.weight.DType() != x.DType() {
		w := tensor.From(x.Device(), []float32{1, -1}, 1, 2).Cast(x.DType())
		s.weight = w.Expand(x.Size(1), 2).Contiguous()
	}
	return recurrent.ShortConv(x, s.weight, nil, s.state.t, on, recurrent.Linear)
}

// ranks are those of the matrices of a [TimeMix].
type ranks struct{ decay, rate, old, gate int }

// ranksOf reads ranks; those that are not said are by the rule of flash-linear-attention.
func ranksOf(c *Config) ranks {
	rank := func(key string, factor float64) int {
		r := math.RoundToEven(factor * math.Sqrt(float64(c.HiddenSize)) / 32)
		return c.keys.between(key, max(32, 32*int(r)), 1, limit)
	}
	wide := float64(c.HeadDim) / 64
	return ranks{
		decay: rank("decay_low_rank_dim", 2.5*wide), rate: rank("a_low_rank_dim", 2.5*wide),
		old: rank("v_low_rank_dim", 1.7*wide), gate: rank("gate_low_rank_dim", 5),
	}
}

// newTimeMix returns what layer i has in place of attention.
func newTimeMix(c *Config, rank ranks, i int) *TimeMix {
	n := c.HiddenSize
	share := func() *nn.Param { return nn.NewParam(nn.Zeros, n) }
	low := func(rank int, bias bool, act func(*tensor.Tensor) *tensor.Tensor) *lora {
		return &lora{Down: linear(n, rank, false), Up: linear(rank, n, bias), act: act}
	}
	m := &TimeMix{
		XR: share(), XW: share(), XK: share(), XV: share(), XA: share(), XG: share(),
		R: linear(n, n, false), K: linear(n, n, false), V: linear(n, n, false), O: linear(n, n, false),
		Decay: low(rank.decay, true, (*tensor.Tensor).Tanh), Rate: low(rank.rate, true, nil),
		Gate: low(rank.gate, false, (*tensor.Tensor).Sigmoid),
		KK:   share(), KA: share(), RK: share(), Norm: nn.NewGroupNorm(c.Heads, n),
		heads: c.Heads, size: c.HeadDim,
		shift: newTokenShift(n), state: newStateRows(c.Heads, c.HeadDim, c.HeadDim),
	}
	m.Norm.Eps = float64(c.HeadDim) * cmp.Or(c.NormEps, 1e-5)
	if i > 0 {
		m.Old = low(rank.old, true, nil)
	}
	return m
}

func (m *TimeMix) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (m *TimeMix) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	on, err := b.recurrent(i, x.DType(), m.shift.state, m.state)
	if err != nil {
		return tensor.Fail("time mix", err)
	}
	before := m.shift.forward(x, on)
	mixed := func(share *nn.Param) *tensor.Tensor { return x.Add(before.Mul(share.Tensor())) }
	byHeads := func(x *tensor.Tensor) *tensor.Tensor { return x.Reshape(x.Size(0), m.heads, m.size) }
	xv := mixed(m.XV)
	r, k, v := m.R.Forward(mixed(m.XR)), m.K.Forward(mixed(m.XK)), m.V.Forward(xv)
	if m.Old == nil {
		b.values = v
	} else {
		v = v.Add(b.values.Sub(v).Mul(m.Old.forward(xv).Sigmoid()))
	}
	decay := m.Decay.forward(mixed(m.XW)).Cast(tensor.F32).Sigmoid().MulScalar(-math.Exp(-0.5)).Exp()
	rate := m.Rate.forward(mixed(m.XA)).Sigmoid()
	gate := m.Gate.forward(mixed(m.XG))
	if bad := cmp.Or(r.Err(), k.Err(), v.Err(), rate.Err(), gate.Err()); bad != nil {
		return tensor.Fail("time mix", bad)
	}
	removed := fn.Normalize(byHeads(k.Mul(m.KK.Tensor())), 2, -1, 1e-12).Reshape(k.Shape()...)
	k = k.Add(k.Mul(rate.AddScalar(-1)).Mul(m.KA.Tensor()))
	y := m.Norm.Forward(recurrent.GeneralDelta(r, k, v, decay, removed, rate, m.state.t, on))
	own := byHeads(r.Mul(k).Mul(m.RK.Tensor())).SumKeep(-1).Mul(byHeads(v))
	return m.O.Forward(y.Add(own.Reshape(v.Shape()...)).Mul(gate))
}

// ChannelMix is the feed-forward network of RWKV: of a mixture of each token with the one before.
type ChannelMix struct {
	XK    *nn.Param  `nn:"x_k"`
	Key   *nn.Linear `nn:"key"`
	Value *nn.Linear `nn:"value"`

	act   fn.Activation
	shift *tokenShift `nn:"-"`
}

func newChannelMix(c *Config) *ChannelMix {
	return &ChannelMix{
		XK: nn.NewParam(nn.Zeros, c.HiddenSize), Key: linear(c.HiddenSize, c.Width, false),
		Value: linear(c.Width, c.HiddenSize, false),
		act:   c.Act, shift: newTokenShift(c.HiddenSize),
	}
}

func (m *ChannelMix) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (m *ChannelMix) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	on, err := b.recurrent(i, x.DType(), m.shift.state)
	if err != nil {
		return tensor.Fail("channel mix", err)
	}
	x = x.Add(m.shift.forward(x, on).Mul(m.XK.Tensor()))
	return m.Value.Forward(m.act.Apply(m.Key.Forward(x)))
}

// rwkv7 is what RWKV-7 has.
func rwkv7(c *Config) traits {
	k := &c.keys
	if c.HeadDim < 1 && k.int("num_heads") > 0 {
		c.HeadDim = c.HiddenSize / k.int("num_heads")
	}
	c.HeadDim = cmp.Or(c.HeadDim, 64)
	if c.Width == 0 {
		c.Width = (int(value(k, 4.0, "hidden_ratio")*float64(c.HiddenSize)) + 31) / 32 * 32
	}
	switch {
	case k.has("attn"):
		k.err = cmp.Or(k.err, errors.New("attn: layers of attention are not supported"))
	case c.HiddenSize%c.HeadDim != 0 || c.HeadDim > 256:
		k.err = cmp.Or(k.err, fmt.Errorf("head_dim is %d of hidden_size %d, want a divisor up to 256",
			c.HeadDim, c.HiddenSize))
	case !value(k, true, "norm_first") || !value(k, true, "norm_bias"):
		k.err = cmp.Or(k.err, errors.New("norm_first or norm_bias is false, which is not supported"))
	}
	c.Heads = max(c.HiddenSize/c.HeadDim, 1)
	c.KVHeads, c.RotaryDim = c.Heads, 0
	c.act(fn.KindRelu2)
	rank := ranksOf(c)
	return traits{
		norm: layerNorm, embedNorm: true, channelMix: true,
		mixer: func(i int) mixer { return newTimeMix(c, rank, i) },
	}
}

// rwkv7Parts finds parameters of RWKV-7, of which some have dimensions of 1 or of heads.
func rwkv7Parts(_ *Config, name string, o *origin) {
	if strings.Contains(name, ".x_") || strings.HasSuffix(name, ".r_k") {
		o.change = func(t *tensor.Tensor) *tensor.Tensor { return t.Reshape(t.Count()) }
	}
}

// rwkv7GGUF finds the shares of the token before, which are one tensor.
func rwkv7GGUF(c *Config, name string, o *origin) {
	_, part, ok := strings.Cut(name, "self_attn.x_")
	if !ok {
		return
	}
	at := strings.Index("rwkvag", part)
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		return t.Reshape(6, c.HiddenSize).GetOn(0, at).Contiguous()
	}
}
