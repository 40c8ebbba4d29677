package kernels

import "github.com/gokiln/kiln/dsl"

// The operations. Each is a type without fields, so that it costs nothing to
// pass.
type (
	Neg[C dsl.Real]       struct{}
	Abs[C dsl.Real]       struct{}
	Square[C dsl.Real]    struct{}
	Sqrt[C dsl.Real]      struct{}
	Rsqrt[C dsl.Real]     struct{}
	Recip[C dsl.Real]     struct{}
	Relu[C dsl.Real]      struct{}
	LeakyRelu[C dsl.Real] struct{}
	Elu[C dsl.Real]       struct{}
	Gelu[C dsl.Real]      struct{}
	GeluErf[C dsl.Real]   struct{}
	Silu[C dsl.Real]      struct{}
	Sigmoid[C dsl.Real]   struct{}
	Softplus[C dsl.Real]  struct{}
	Mish[C dsl.Real]      struct{}
	HardSwish[C dsl.Real] struct{}
	Tanh[C dsl.Real]      struct{}
	Exp[C dsl.Real]       struct{}
	Log[C dsl.Real]       struct{}
	Log1p[C dsl.Real]     struct{}
	Erf[C dsl.Real]       struct{}
	Sin[C dsl.Real]       struct{}
	Cos[C dsl.Real]       struct{}
	Floor[C dsl.Real]     struct{}
	Sign[C dsl.Real]      struct{}
)

// Apply returns -x.
func (Neg[C]) Apply(x C) C { return -x }

// Apply returns |x|.
func (Abs[C]) Apply(x C) C { return dsl.Abs(x) }

// Apply returns x².
func (Square[C]) Apply(x C) C { return x * x }

// Apply returns √x.
func (Sqrt[C]) Apply(x C) C { return dsl.Sqrt(x) }

// Apply returns 1/√x.
func (Rsqrt[C]) Apply(x C) C { return dsl.Rsqrt(x) }

// Apply returns 1/x.
func (Recip[C]) Apply(x C) C { return 1 / x }

// Apply returns x if that is positive, else 0.
func (Relu[C]) Apply(x C) C { return max(x, 0) }

// Apply returns x if that is positive, else x/100.
func (LeakyRelu[C]) Apply(x C) C { return max(x, 0.01*x) }

// Apply returns x if that is positive, else eˣ - 1.
func (Elu[C]) Apply(x C) C {
	if x > 0 {
		return x
	}
	return dsl.Expm1(x)
}

// Apply returns GELU of x by its formula with tanh.
func (Gelu[C]) Apply(x C) C {
	return 0.5 * x * (1 + dsl.Tanh(0.7978845608028654*dsl.FMA(0.044715*x*x, x, x)))
}

// Apply returns GELU of x by its definition.
func (GeluErf[C]) Apply(x C) C { return 0.5 * x * (1 + dsl.Erf(x*0.7071067811865476)) }

// Apply returns x·sigmoid(x).
func (Silu[C]) Apply(x C) C { return x / (1 + dsl.Exp(-x)) }

// Apply returns 1/(1 + e⁻ˣ).
func (Sigmoid[C]) Apply(x C) C { return 1 / (1 + dsl.Exp(-x)) }

// Apply returns log(1 + eˣ) without overflow.
func (Softplus[C]) Apply(x C) C { return max(x, 0) + dsl.Log1p(dsl.Exp(-dsl.Abs(x))) }

// Apply returns x·tanh(softplus(x)).
func (Mish[C]) Apply(x C) C { return x * dsl.Tanh(Softplus[C]{}.Apply(x)) }

// Apply returns x·min(max(x + 3, 0), 6)/6.
func (HardSwish[C]) Apply(x C) C { return x * min(max(x+3, 0), 6) / 6 }

// Apply returns the hyperbolic tangent of x.
func (Tanh[C]) Apply(x C) C { return dsl.Tanh(x) }

// Apply returns eˣ.
func (Exp[C]) Apply(x C) C { return dsl.Exp(x) }

// Apply returns the natural logarithm of x.
func (Log[C]) Apply(x C) C { return dsl.Log(x) }

// Apply returns log(1 + x).
func (Log1p[C]) Apply(x C) C { return dsl.Log1p(x) }

// Apply returns the error function of x.
func (Erf[C]) Apply(x C) C { return dsl.Erf(x) }

// Apply returns the sine of x.
func (Sin[C]) Apply(x C) C { return dsl.Sin(x) }

// Apply returns the cosine of x.
func (Cos[C]) Apply(x C) C { return dsl.Cos(x) }

// Apply returns the largest integer not above x.
func (Floor[C]) Apply(x C) C { return dsl.Floor(x) }

// Apply returns -1, 0 or 1.
func (Sign[C]) Apply(x C) C {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return 0
}
