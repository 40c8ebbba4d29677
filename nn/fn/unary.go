package fn

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// unary is a function of each element with its derivative: one kernel each.
type unary struct {
	name     string
	f32, d32 func(float32) float32
	f64, d64 func(float64) float64
}

func (u *unary) of(x *tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(u.name, x); b != nil {
		return b
	}
	if x.DType() == tensor.F64 {
		return tensor.MapGrad(u.f64, u.d64, x)
	}
	return tensor.MapGrad(u.f32, u.d32, x)
}

var (
	squaredRelu = unary{"relu2", relu2[float32], relu2Slope[float32], relu2[float64], relu2Slope[float64]}
	relu6       = unary{"relu6", clip6[float32], clip6Slope[float32], clip6[float64], clip6Slope[float64]}
	hardSigmoid = unary{"hard_sigmoid", hardSig[float32], hardSigSlope[float32], hardSig[float64], hardSigSlope[float64]}
	hardSwish   = unary{"hard_swish", hardSwi[float32], hardSwiSlope[float32], hardSwi[float64], hardSwiSlope[float64]}
	softsign    = unary{"softsign", softSig[float32], softSigSlope[float32], softSig[float64], softSigSlope[float64]}
	logSigmoid  = unary{"log_sigmoid", logSig[float32], logSigSlope[float32], logSig[float64], logSigSlope[float64]}
	quickGelu   = unary{"quick_gelu", quick[float32], quickSlope[float32], quick[float64], quickSlope[float64]}
)

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

func relu2Slope[C dsl.Real](x C) C { return 2 * max(x, 0) }

func clip6[C dsl.Real](x C) C { return min(max(x, 0), 6) }

func clip6Slope[C dsl.Real](x C) C {
	if x > 0 && x < 6 {
		return 1
	}
	return 0
}

func hardSig[C dsl.Real](x C) C { return min(max(x+3, 0), 6) / 6 }

func hardSigSlope[C dsl.Real](x C) C {
	var sixth C = 1
	if x > -3 && x < 3 {
		return sixth / 6
	}
	return 0
}

func hardSwi[C dsl.Real](x C) C { return x * hardSig(x) }

func hardSwiSlope[C dsl.Real](x C) C {
	switch {
	case x <= -3:
		return 0
	case x < 3:
		return x/3 + 0.5
	}
	return 1
}

func softSig[C dsl.Real](x C) C { return x / (1 + dsl.Abs(x)) }

func softSigSlope[C dsl.Real](x C) C {
	a := 1 / (1 + dsl.Abs(x))
	return a * a
}

func logSig[C dsl.Real](x C) C { return min(x, 0) - dsl.Log1p(dsl.Exp(-dsl.Abs(x))) }

func logSigSlope[C dsl.Real](x C) C { return sigmoid(-x) }

func sigmoid[C dsl.Real](x C) C { return 1 / (1 + dsl.Exp(-x)) }

func quick[C dsl.Real](x C) C { return x * sigmoid(1.702*x) }

func quickSlope[C dsl.Real](x C) C {
	s := sigmoid(1.702 * x)
	return s * (1 + 1.702*x*(1-s))
}
