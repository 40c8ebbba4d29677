package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// Gradients of functions of an element: g is the gradient of the result. Where the slope is 0 or 1 to
// the last place no product with what overflows is part of it.

// TanhSlope is the gradient of tanh, of which out is the result.
func TanhSlope[C dsl.Real](g, out C) C { return g * (1 - out*out) }

// SigmoidSlope is the gradient of [Sigmoid], of which out is the result.
func SigmoidSlope[C dsl.Real](g, out C) C { return g * out * (1 - out) }

// SiluSlope is the gradient of [Silu].
func SiluSlope[C dsl.Real](g, x C) C {
	s := Sigmoid(x)
	if s == 0 {
		return g * s
	}
	return g * s * (x*(1-s) + 1)
}

// GeluSlope is the gradient of x·s, where s = 1/(1 + exp(-u)) and u = √(8/π)·(x + 0.044715x³), which
// is Gelu by tanh.
func GeluSlope[C dsl.Real](g, x C) C {
	const c, d = 2 * 0.7978845608028654, 0.044715
	s := Sigmoid(x * (c*d*x*x + c))
	if s == 0 || s == 1 {
		return g * s
	}
	return g * s * (x*(1-s)*(3*c*d*x*x+c) + 1)
}

// GeluErfSlope is the gradient of [GeluErf]: g·(Φ(x) + x·φ(x)) with the normal distribution and its
// density.
func GeluErfSlope[C dsl.Real](g, x C) C {
	p := dsl.Exp(x*x*-0.5) * (1 / (math.Sqrt2 * math.SqrtPi))
	if p == 0 {
		x = min(max(x, -40), 40)
	}
	return g * (0.5*dsl.Erfc(x*(-math.Sqrt2/2)) + x*p)
}
