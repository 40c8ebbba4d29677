package nn

import "github.com/gokiln/kiln/tensor"

// GatedMLP is down(act(gate(x))·up(x)), of three linear layers: SwiGLU with SiLU, GeGLU with GELU
// (Shazeer, 2020). The parameters have the names of Llama's MLP. Gate, activation, up and product
// are one kernel where neither has a bias and no gradient is recorded.
type GatedMLP struct {
	GateProj *Linear // (width, embed)
	UpProj   *Linear // (width, embed)
	DownProj *Linear // (embed, width)
	Act      tensor.Activation
}

// NewSwiGLU returns a layer without biases of embed features, width between the layers.
func NewSwiGLU(embed, width int) *GatedMLP { return NewGatedMLP(embed, width, tensor.Silu) }

// NewGatedMLP is [NewSwiGLU] with another activation than SiLU.
func NewGatedMLP(embed, width int, act tensor.Activation) *GatedMLP {
	return &GatedMLP{
		GateProj: NewLinearNoBias(embed, width), UpProj: NewLinearNoBias(embed, width),
		DownProj: NewLinearNoBias(width, embed), Act: act,
	}
}

// Forward returns (…, embed) of (…, embed).
func (m *GatedMLP) Forward(x *tensor.Tensor) *tensor.Tensor {
	if m.UpProj.Bias != nil || m.GateProj.alone() || m.UpProj.alone() {
		return m.DownProj.Forward(activate(m.GateProj.Forward(x), m.Act).Mul(m.UpProj.Forward(x)))
	}
	gate := tensor.Epilogue{Bias: optional(m.GateProj.Bias), Act: m.Act, Up: m.UpProj.Weight.Tensor()}
	return m.DownProj.Forward(x.LinearWith(m.GateProj.Weight.Tensor(), gate))
}

// activate is an activation of an epilogue as a function.
func activate(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	switch act {
	case tensor.Relu:
		return x.Relu()
	case tensor.Gelu:
		return x.Gelu()
	case tensor.GeluErf:
		return x.GeluErf()
	case tensor.Silu:
		return x.Silu()
	case tensor.Sigmoid:
		return x.Sigmoid()
	case tensor.Tanh:
		return x.Tanh()
	case tensor.Mish:
		return x.Mish()
	}
	return x
}
