package fn

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// unary is a function of each element: one kernel, and one for its derivative times a gradient. The
// derivative is also there as operations of tensors, for gradients of gradients.
type unary struct {
	name  string
	f32   func(x float32) float32
	d32   func(g, x float32) float32
	f64   func(x float64) float64
	d64   func(g, x float64) float64
	slope func(x *tensor.Tensor) *tensor.Tensor
}

func (u *unary) of(x *tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(u.name, x); b != nil {
		return b
	}
	return tensor.Apply1(u, x)
}

// Name is for errors.
func (u *unary) Name() string { return u.name }

// Forward is the function of each element.
func (u *unary) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.DType() == tensor.F64 {
		return tensor.Map(u.f64, x)
	}
	return tensor.Map(u.f32, x)
}

// Backward is the derivative times the gradient.
func (u *unary) Backward(g, x, _ *tensor.Tensor) *tensor.Tensor {
	if x.RequiresGrad() || g.RequiresGrad() { // it is to have a gradient itself
		wide := x.Cast(x.DType().Compute())
		return u.slope(wide).Mul(g.Cast(wide.DType())).Cast(x.DType())
	}
	if x.DType() == tensor.F64 {
		return tensor.Map2(u.d64, g, x)
	}
	return tensor.Map2(u.d32, g, x)
}

var (
	squaredRelu = unary{"relu2", relu2[float32], relu2Back[float32], relu2[float64], relu2Back[float64],
		func(x *tensor.Tensor) *tensor.Tensor { return x.Relu().MulScalar(2) }}
	relu6 = unary{"relu6", clip6[float32], clip6Back[float32], clip6[float64], clip6Back[float64],
		func(x *tensor.Tensor) *tensor.Tensor { return between(x, 0, 6) }}
	hardSigmoid = unary{"hard_sigmoid", hardSig[float32], hardSigBack[float32], hardSig[float64], hardSigBack[float64],
		func(x *tensor.Tensor) *tensor.Tensor { return between(x, -3, 3).DivScalar(6) }}
	hardSwish = unary{"hard_swish", hardSwi[float32], hardSwiBack[float32], hardSwi[float64], hardSwiBack[float64],
		func(x *tensor.Tensor) *tensor.Tensor {
			flat := x.Detach() // Where, as 0·∞ is NaN
			slope := flat.LtScalar(3).Where(x.DivScalar(3).AddScalar(0.5), flat.OnesLike())
			return flat.LeScalar(-3).Where(flat.ZerosLike(), slope)
		}}
	softsign = unary{"softsign", softSig[float32], softSigBack[float32], softSig[float64], softSigBack[float64],
		func(x *tensor.Tensor) *tensor.Tensor { return x.Abs().AddScalar(1).Recip().Sqr() }}
	logSigmoid = unary{"log_sigmoid", logSig[float32], logSigBack[float32], logSig[float64], logSigBack[float64],
		func(x *tensor.Tensor) *tensor.Tensor { return x.Neg().Sigmoid() }}
	quickGelu = unary{"quick_gelu", quick[float32], quickBack[float32], quick[float64], quickBack[float64],
		func(x *tensor.Tensor) *tensor.Tensor {
			y := x.MulScalar(1.702)
			s := y.Sigmoid()
			return s.Mul(nearOf(y).Mul(s.SubFrom(1)).AddScalar(1))
		}}
)

// between is 1 where x is between two numbers, and else 0.
func between(x *tensor.Tensor, low, high float64) *tensor.Tensor {
	x = x.Detach()
	return x.GtScalar(low).LogicalAnd(x.LtScalar(high)).Cast(x.DType())
}

// Relu2 is max(0, x)² (So et al., "Primer", 2021).
func Relu2(x *tensor.Tensor) *tensor.Tensor { return squaredRelu.of(x) }

// Relu6 is x between 0 and 6.
func Relu6(x *tensor.Tensor) *tensor.Tensor { return relu6.of(x) }

// HardSigmoid is (x + 3)/6 between 0 and 1.
func HardSigmoid(x *tensor.Tensor) *tensor.Tensor { return hardSigmoid.of(x) }

// HardSwish is x times [HardSigmoid] (Howard et al., "Searching for MobileNetV3", 2019).
func HardSwish(x *tensor.Tensor) *tensor.Tensor { return hardSwish.of(x) }

// Softsign is x/(1 + |x|).
func Softsign(x *tensor.Tensor) *tensor.Tensor { return softsign.of(x) }

// LogSigmoid is the logarithm of the sigmoid, which is finite for all finite x.
func LogSigmoid(x *tensor.Tensor) *tensor.Tensor { return logSigmoid.of(x) }

// QuickGelu is x times the sigmoid of 1.702·x (Hendrycks and Gimpel, "Gaussian error linear
// units", 2016, section 2).
func QuickGelu(x *tensor.Tensor) *tensor.Tensor { return quickGelu.of(x) }

// NewGelu is GELU by a hyperbolic tangent, as GPT-2 has it: tensor.Tensor.Gelu by the name that
// configurations have.
func NewGelu(x *tensor.Tensor) *tensor.Tensor { return x.Gelu() }

// The parameters of SELU (Klambauer et al., "Self-normalizing neural networks", 2017).
const (
	SeluAlpha = 1.6732632423543772848170429916717
	SeluGamma = 1.0507009873554804934193349852946
)

// Selu is γ·x where x > 0, and γ·α·(exp(x) - 1) elsewhere: see [SeluAlpha].
func Selu(x *tensor.Tensor, alpha, gamma float64) *tensor.Tensor {
	if b := operand.Floats("selu", x); b != nil {
		return b
	}
	return x.Elu(alpha).MulScalar(gamma)
}

// Celu is x where x > 0, and α·(exp(x/α) - 1) elsewhere; α is more than 0.
func Celu(x *tensor.Tensor, alpha float64) *tensor.Tensor {
	if b := operand.Floats("celu", x); b != nil {
		return b
	}
	if !(alpha > 0) {
		return operand.Fail("celu", tensor.ErrArgument, "alpha of %v, want more than 0", alpha)
	}
	if alpha == 1 {
		return x.Elu(1)
	}
	return x.DivScalar(alpha).Elu(1).MulScalar(alpha)
}

func relu2[C dsl.Real](x C) C {
	x = max(x, 0)
	return x * x
}

func relu2Back[C dsl.Real](g, x C) C { return g * (2 * max(x, 0)) }

func clip6[C dsl.Real](x C) C { return min(max(x, 0), 6) }

func clip6Back[C dsl.Real](g, x C) C {
	if x > 0 && x < 6 {
		return g
	}
	return g * 0
}

func hardSig[C dsl.Real](x C) C { return min(max(x+3, 0), 6) / 6 }

func hardSigBack[C dsl.Real](g, x C) C {
	var sixth C = 1
	if x > -3 && x < 3 {
		return g * (sixth / 6)
	}
	return g * 0
}

func hardSwi[C dsl.Real](x C) C { return x * hardSig(x) }

func hardSwiBack[C dsl.Real](g, x C) C {
	switch {
	case x <= -3:
		return g * 0
	case x < 3:
		return g * (x/3 + 0.5)
	}
	return g
}

func softSig[C dsl.Real](x C) C { return x / (1 + dsl.Abs(x)) }

func softSigBack[C dsl.Real](g, x C) C {
	a := 1 / (1 + dsl.Abs(x))
	return g * (a * a)
}

func logSig[C dsl.Real](x C) C { return min(x, 0) - dsl.Log1p(dsl.Exp(-dsl.Abs(x))) }

func logSigBack[C dsl.Real](g, x C) C { return g * sigmoid(-x) }

func sigmoid[C dsl.Real](x C) C { return 1 / (1 + dsl.Exp(-x)) }

func quick[C dsl.Real](x C) C { return x * sigmoid(1.702*x) }

func quickBack[C dsl.Real](g, x C) C {
	s := sigmoid(1.702 * x)
	return g * (s * (1 + near(1.702*x)*(1-s)))
}
