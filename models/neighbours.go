package models

import (
	"cmp"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// neighbours is the convolution of DeBERTa's largest models (He et al., 2021): what the first layer
// gets is multiplied with its neighbours, and is added to what the layer makes.
type neighbours struct {
	Conv *nn.Linear `nn:"conv"` // (features, tokens·features)
	Norm norm       `nn:"norm"`

	width int
	act   fn.Activation
}

// newNeighbours returns a convolution over width tokens.
func newNeighbours(c *Config, t *traits) *neighbours {
	act, err := fn.ParseActivation(cmp.Or(c.keys.text("conv_act"), "tanh"))
	if err != nil && c.keys.err == nil {
		c.keys.err = err
	}
	n := linear(t.convWidth*c.HiddenSize, c.HiddenSize, true)
	return &neighbours{Conv: n, Norm: t.newNorm(c, c.HiddenSize), width: t.convWidth, act: act}
}

// forward returns the norm of y and the convolution of x, (tokens, features) of a batch. Beyond the
// ends of a sequence there are zeros.
func (l *neighbours) forward(x, y *tensor.Tensor, b *batch) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	tokens, features := x.Size(0), x.Size(1)
	rows := make([]int32, 0, tokens*l.width)
	for s := range b.list {
		n := b.count(s)
		for i := range n {
			for k := range l.width {
				at := i + k - (l.width-1)/2
				if at < 0 || at >= n {
					at = tokens - b.starts[s] // the row of zeros
				}
				rows = append(rows, int32(b.starts[s]+at))
			}
		}
	}
	all := tensor.Cat(0, x, tensor.Zeros(x.Device(), x.DType(), 1, features))
	near := all.IndexSelect(tensor.FromOwned(x.Device(), rows, len(rows)), 0)
	h := l.act.Apply(l.Conv.Forward(near.Reshape(tokens, l.width*features)))
	out, _ := normSum(l.Norm, y, h)
	return out
}

// neighbourParts makes a matrix of the convolution's weight, (features, features, tokens).
func neighbourParts(_ *Config, name string, o *origin) {
	if name != "model.conv.conv.weight" {
		return
	}
	o.change = func(t *tensor.Tensor) *tensor.Tensor {
		if t.Err() != nil || t.Rank() != 3 {
			return t
		}
		return t.Transpose(1, 2).Reshape(t.Size(0), t.Size(1)*t.Size(2))
	}
}
