package loss

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// fused is a loss of pairs of elements that is computed in one kernel. Its gradients are made of
// operations of tensors, so that they have gradients themselves.
type fused struct {
	name   string
	f32    func(x, y float32) float32
	f64    func(x, y float64) float64
	dx, dy func(g, x, y *tensor.Tensor) *tensor.Tensor
}

// of applies the loss to operands of the type that is computed in.
func (f *fused) of(x, y *tensor.Tensor) *tensor.Tensor {
	return tensor.Apply2(&applied{f, y.RequiresGrad()}, x, y)
}

// applied is a loss, and whether its second operand wants a gradient.
type applied struct {
	*fused
	second bool
}

// Name is for errors.
func (a *applied) Name() string { return a.name }

// Forward is the loss of each pair.
func (a *applied) Forward(x, y *tensor.Tensor) *tensor.Tensor {
	if x.DType() == tensor.F64 {
		return tensor.Map2(a.f64, x, y)
	}
	return tensor.Map2(a.f32, x, y)
}

// Backward returns the gradients that are wanted.
func (a *applied) Backward(g, x, y, _ *tensor.Tensor) (dx, dy *tensor.Tensor) {
	dx = a.dx(g, x, y)
	if a.second {
		dy = a.dy(g, x, y)
	}
	return dx, dy
}

// squared is the loss of [MSE].
var squared = fused{"mse", squareOf[float32], squareOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(y).MulScalar(2).Mul(g) },
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Sub(x).MulScalar(2).Mul(g) },
}

func squareOf[C dsl.Real](x, y C) C { return (x - y) * (x - y) }

// absolute is the loss of [L1].
var absolute = fused{"l1", distanceOf[float32], distanceOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(y).Sign().Mul(g) },
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Sub(x).Sign().Mul(g) },
}

func distanceOf[C dsl.Real](x, y C) C { return dsl.Abs(x - y) }

// binaryLogits is the loss of [BCEWithLogits] without weights of positives.
var binaryLogits = fused{"bce_with_logits", binaryLogitsOf[float32], binaryLogitsOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return x.Sigmoid().Sub(y).Mul(g) },
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return x.Neg().Mul(g) },
}

// binaryLogitsOf is log(1 + exp(x)) - x·y, in a form whose exponential is at most 1.
func binaryLogitsOf[C dsl.Real](x, y C) C {
	return max(x, 0) - x*y + dsl.Log1p(dsl.Exp(-dsl.Abs(x)))
}

// binary is the loss of [BCE]: logarithms are at least -100, as PyTorch's are, and so is the
// denominator of its gradient.
var binary = fused{"bce", binaryOf[float32], binaryOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor {
		return x.Sub(y).Div(x.SubFrom(1).Mul(x).MaximumScalar(1e-12)).Mul(g)
	},
	func(g, x, y *tensor.Tensor) *tensor.Tensor {
		return x.Neg().Log1p().MaximumScalar(-100).Sub(x.Log().MaximumScalar(-100)).Mul(g)
	},
}

func binaryOf[C dsl.Real](x, y C) C {
	return (y-1)*max(dsl.Log1p(-x), -100) - y*max(dsl.Log(x), -100)
}

// divergence is the loss of [KLDiv].
var divergence = fused{"kl_div", divergenceOf[float32], divergenceOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Neg().Mul(g) },
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Log().AddScalar(1).Sub(x).Mul(g) },
}

// divergenceOf is 0 for a probability of 0.
func divergenceOf[C dsl.Real](x, y C) C {
	if y == 0 {
		return 0
	}
	return y * (dsl.Log(y) - x)
}

// divergenceLog is that of logarithms of probabilities.
var divergenceLog = fused{"kl_div", divergenceLogOf[float32], divergenceLogOf[float64],
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Exp().Neg().Mul(g) },
	func(g, x, y *tensor.Tensor) *tensor.Tensor { return y.Sub(x).AddScalar(1).Mul(y.Exp()).Mul(g) },
}

func divergenceLogOf[C dsl.Real](x, y C) C {
	p := dsl.Exp(y)
	if p == 0 {
		return 0
	}
	return p * (y - x)
}
