package models

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// Griffin is the recurrent block of RecurrentGemma (De et al., "Griffin: mixing gated linear
// recurrences with local attention for efficient language models", 2024): a short convolution and
// real-gated linear recurrent units, beside a branch that is their gate.
type Griffin struct {
	Y    *nn.Linear  `nn:"linear_y"`
	X    *nn.Linear  `nn:"linear_x"`
	Conv *causalConv `nn:"conv_1d"`
	Unit *gatedUnit  `nn:"rg_lru"`
	Out  *nn.Linear  `nn:"linear_out"`

	act   fn.Activation
	state *stateRows `nn:"-"`
}

// gatedUnit is the parameters of the units. Gates are of blocks of channels.
type gatedUnit struct {
	Input     *nn.Param `nn:"input_gate_weight"` // (blocks, width, width)
	InputBias *nn.Param `nn:"input_gate_bias"`   // (blocks, width)
	Gate      *nn.Param `nn:"recurrent_gate_weight"`
	GateBias  *nn.Param `nn:"recurrent_gate_bias"`
	Lambda    *nn.Param `nn:"recurrent_param"` // (blocks·width)
}

// newGriffin returns the recurrent block of a layer.
func newGriffin(c *Config, channels, conv int) *Griffin {
	in, blocks, width := c.HiddenSize, c.Heads, channels/c.Heads
	weight := func() *nn.Param { return nn.NewParam(nn.Normal(0, 0.02), blocks, width, width) }
	bias := func() *nn.Param { return nn.NewParam(nn.Zeros, blocks, width) }
	return &Griffin{
		Y: linear(in, channels, true), X: linear(in, channels, true), Out: linear(channels, in, true),
		Conv: newCausalConv(channels, conv, true),
		Unit: &gatedUnit{
			Input: weight(), InputBias: bias(), Gate: weight(), GateBias: bias(),
			Lambda: nn.NewParam(nn.Zeros, channels),
		},
		act: c.Act, state: newStateRows(channels),
	}
}

func (g *Griffin) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (g *Griffin) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	on, err := b.recurrent(i, x.DType(), g.Conv.state, g.state)
	if err != nil {
		return tensor.Fail("recurrent block", err)
	}
	u := g.Unit
	h := g.Conv.forward(g.X.Forward(x), on, recurrent.Linear)
	input, gate := byBlocks(h, u.Input, u.InputBias), byBlocks(h, u.Gate, u.GateBias)
	h = recurrent.RGLRU(h, input, gate, u.Lambda.Tensor(), g.state.t, on)
	return g.Out.Forward(h.Mul(g.act.Apply(g.Y.Forward(x))))
}

// byBlocks multiplies each block of channels of x, (tokens, blocks·width), by a matrix of its own.
func byBlocks(x *tensor.Tensor, weight, bias *nn.Param) *tensor.Tensor {
	w := weight.Tensor()
	if x.Err() != nil || w.Err() != nil {
		return x.Add(w)
	}
	tokens, blocks, width := x.Size(0), w.Size(0), w.Size(1)
	y := x.Reshape(tokens, blocks, width).Transpose(0, 1).MatMul(w)
	return y.Transpose(0, 1).Add(bias.Tensor()).Reshape(tokens, blocks*width)
}

// recurrentGemma is what RecurrentGemma has: two recurrent blocks to one of attention in a window.
func recurrentGemma(c *Config) traits {
	k := &c.keys
	t := gemma(c)
	// The reference has this factor in 16 bits.
	c.EmbeddingScale = dtype.FromFloat(tensor.BF16, math.Sqrt(float64(c.HiddenSize))).Float()
	c.Window, c.Width = value(k, 2048, "attention_window_size"), c.Width/2
	c.LogitSoftCap = value(k, 30.0, "logits_soft_cap")
	t.outBias, t.mlpBias, t.windowed = true, true, always
	channels, conv := cmp.Or(k.int("lru_width"), c.HiddenSize), k.between("conv1d_width", 4, 2, widestConv)
	types := value(k, []string{"recurrent", "recurrent", "attention"}, "block_types")
	if len(types) == 0 || c.Heads < 1 || channels < 1 || channels%c.Heads != 0 {
		k.err = cmp.Or(k.err, fmt.Errorf("recurrent blocks: lru_width %d of %d heads, block_types %q",
			channels, c.Heads, types))
		return t
	}
	t.mixer = func(i int) mixer {
		if types[i%len(types)] == "recurrent" {
			return newGriffin(c, channels, conv)
		}
		return nil
	}
	return t
}

// griffinNames are the names of RecurrentGemma.
var griffinNames = [][2]string{
	{`input_layernorm`, "temporal_pre_norm"}, {`post_attention_layernorm`, "channel_pre_norm"},
	{`self_attn`, "temporal_block"}, {`\.mlp\.`, ".mlp_block."}, {`model\.norm`, "model.final_norm"},
}

// griffinParts finds parameters of RecurrentGemma.
func griffinParts(c *Config, name string, o *origin) {
	flatConv(name, o)
	if !strings.Contains(name, "conv") {
		plusOne(c, name, o)
	}
}
