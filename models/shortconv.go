package models

import (
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
)

// widestConv is the most tokens that a convolution is over.
const widestConv = 32

// causalConv is a convolution of each channel over the last few tokens.
type causalConv struct {
	Weight *nn.Param `nn:"weight"` // (channels, width)
	Bias   *nn.Param `nn:"bias"`   // (channels), or nil

	state *stateRows `nn:"-"`
}

func newCausalConv(channels, width int, bias bool) *causalConv {
	c := &causalConv{
		Weight: nn.NewParam(nn.Normal(0, 0.02), channels, width),
		state:  newStateRows(width-1, channels),
	}
	if bias {
		c.Bias = nn.NewParam(nn.Zeros, channels)
	}
	return c
}

// forward returns (tokens, channels) of (tokens, channels).
func (c *causalConv) forward(
	x *tensor.Tensor, on *recurrent.Sequences, act recurrent.Activation,
) *tensor.Tensor {
	var bias *tensor.Tensor
	if c.Bias != nil {
		bias = c.Bias.Tensor()
	}
	return recurrent.ShortConv(x, c.Weight.Tensor(), bias, c.state.t, on, act)
}

// flatConv is for weights of convolutions, which are stored as (channels, 1, width).
func flatConv(name string, o *origin) {
	if strings.Contains(name, "conv") && strings.HasSuffix(name, ".weight") {
		o.change = func(t *tensor.Tensor) *tensor.Tensor {
			if t.Err() != nil || t.Rank() != 3 {
				return t
			}
			return t.Squeeze(1)
		}
	}
}

// ShortConv is what LFM2 has in place of attention in most layers (Liquid AI, "LFM2 technical
// report", 2025): a convolution over few tokens, between two gates.
type ShortConv struct {
	In   *nn.Linear  `nn:"in_proj"` // the gates of the input and of the result, and the input
	Conv *causalConv `nn:"conv"`
	Out  *nn.Linear  `nn:"out_proj"`
}

func newShortConv(c *Config, width int) *ShortConv {
	n, bias := c.HiddenSize, c.keys.bool("conv_bias")
	return &ShortConv{
		In: linear(n, 3*n, bias), Conv: newCausalConv(n, width, bias), Out: linear(n, n, bias),
	}
}

func (s *ShortConv) newState(*LM) layerState { return &fixed{} }

// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
func (s *ShortConv) forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	on, err := b.recurrent(i, x.DType(), s.Conv.state)
	if err != nil {
		return tensor.Fail("short convolution", err)
	}
	n, all := x.Size(1), s.In.Forward(x)
	part := func(k int) *tensor.Tensor { return all.Narrow(1, k*n, n) }
	y := s.Conv.forward(part(0).Mul(part(2)), on, recurrent.Linear)
	return s.Out.Forward(part(1).Mul(y))
}
