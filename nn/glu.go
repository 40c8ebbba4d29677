package nn

import (
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

// GatedMLP is down(act(gate(x))·up(x)), of three linear layers: SwiGLU with SiLU, GeGLU with GELU
// (Shazeer, 2020). The parameters have the names of Llama's MLP. Gate, activation, up and product
// are one kernel where neither has a bias and no gradient is recorded.
type GatedMLP struct {
	GateProj *Linear // (width, embed)
	UpProj   *Linear // (width, embed)
	DownProj *Linear // (embed, width)
	Act      tensor.Activation

	joint *Joint `nn:"-"` // of gate and up, or nil
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

// Join has quantized weights of gate and up share memory, so that one product is theirs: see
// [Joint.Join]. Others are one kernel already.
func (m *GatedMLP) Join() error {
	if m.GateProj.Weight.Quantized() == nil {
		return nil
	}
	if m.joint == nil {
		m.joint = NewJoint(m.GateProj, m.UpProj)
	}
	return m.joint.Join()
}

// Forward returns (…, embed) of (…, embed).
func (m *GatedMLP) Forward(x *tensor.Tensor) *tensor.Tensor {
	if both := m.joint.whole(x); both != nil {
		return m.DownProj.Forward(gated(both, m.Act))
	}
	if m.UpProj.Bias != nil || m.GateProj.alone() || m.UpProj.alone() {
		return m.DownProj.Forward(activate(m.GateProj.Forward(x), m.Act).Mul(m.UpProj.Forward(x)))
	}
	gate := tensor.Epilogue{Bias: optional(m.GateProj.Bias), Act: m.Act, Up: m.UpProj.Weight.Tensor()}
	return m.DownProj.Forward(x.LinearWith(m.GateProj.Weight.Tensor(), gate))
}

// gated is act(a)·b of the halves a and b of the last dimension.
func gated(x *tensor.Tensor, act tensor.Activation) *tensor.Tensor {
	switch {
	case x.Err() != nil:
		return x
	case act == tensor.Silu:
		return fn.Swiglu(x)
	case act == tensor.GeluErf:
		return fn.GeGLU(x)
	case act == tensor.Relu:
		return fn.ReGLU(x)
	}
	n := x.Size(-1) / 2
	return activate(x.Narrow(-1, 0, n), act).Mul(x.Narrow(-1, n, n))
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
