package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// What Unary computes of one element. Those with Int in their name are for integers,
// where the other of the name is for floating-point numbers.

// Identity is x.
func Identity[C core.Computed](x C) C { return x }

// Neg is -x; unsigned integers wrap.
func Neg[C core.Computed](x C) C { return -x }

// Abs is the magnitude of x.
func Abs[C dsl.Real](x C) C { return dsl.Abs(x) }

// AbsInt is the magnitude of x; that of the least integer wraps.
func AbsInt[C core.Computed](x C) C {
	if x < 0 {
		x = -x
	}
	return x
}

// Sign is -1, 0 or 1, and NaN of NaN.
func Sign[C core.Computed](x C) C {
	var zero C
	switch {
	case x > 0:
		return 1
	case x < 0:
		return zero - 1
	case x == 0:
		return 0
	}
	return x
}

// Sqr is x squared.
func Sqr[C core.Computed](x C) C { return x * x }

// Relu is the larger one of x and 0, NaN of NaN.
func Relu[C core.Computed](x C) C {
	if x < 0 {
		x = 0
	}
	return x
}

// Recip is 1/x.
func Recip[C dsl.Real](x C) C { return 1 / x }

// Not is the complement of the bits of x.
func Not[C dsl.Int | dsl.Uint](x C) C { return ^x }

// Floor is the largest integer not above x.
func Floor[C dsl.Real](x C) C { return dsl.Floor(x) }

// Ceil is the least integer not below x.
func Ceil[C dsl.Real](x C) C { return dsl.Ceil(x) }

// Trunc is x without its fraction.
func Trunc[C dsl.Real](x C) C { return dsl.Trunc(x) }

// Round is the integer nearest to x, halves away from zero.
func Round[C dsl.Real](x C) C { return dsl.Round(x) }

// RoundEven is the integer nearest to x, halves to the even one.
func RoundEven[C dsl.Real](x C) C { return dsl.RoundEven(x) }

// Sqrt is the square root of x.
func Sqrt[C dsl.Real](x C) C { return dsl.Sqrt(x) }

// Rsqrt is 1 over the square root of x.
func Rsqrt[C dsl.Real](x C) C { return dsl.Rsqrt(x) }

// Cbrt is the cube root of x.
func Cbrt[C dsl.Real](x C) C { return dsl.Cbrt(x) }

// Exp is e to the x.
func Exp[C dsl.Real](x C) C { return dsl.Exp(x) }

// Exp2 is 2 to the x.
func Exp2[C dsl.Real](x C) C { return dsl.Exp2(x) }

// Expm1 is e to the x, minus 1.
func Expm1[C dsl.Real](x C) C { return dsl.Expm1(x) }

// Log is the natural logarithm of x.
func Log[C dsl.Real](x C) C { return dsl.Log(x) }

// Log2 is the logarithm of x to base 2.
func Log2[C dsl.Real](x C) C { return dsl.Log2(x) }

// Log10 is the logarithm of x to base 10.
func Log10[C dsl.Real](x C) C { return dsl.Log10(x) }

// Log1p is the natural logarithm of 1+x.
func Log1p[C dsl.Real](x C) C { return dsl.Log1p(x) }

// Sin is the sine of x.
func Sin[C dsl.Real](x C) C { return dsl.Sin(x) }

// Cos is the cosine of x.
func Cos[C dsl.Real](x C) C { return dsl.Cos(x) }

// Tan is the tangent of x.
func Tan[C dsl.Real](x C) C { return dsl.Tan(x) }

// Asin is the arc sine of x.
func Asin[C dsl.Real](x C) C { return dsl.Asin(x) }

// Acos is the arc cosine of x.
func Acos[C dsl.Real](x C) C { return dsl.Acos(x) }

// Atan is the arc tangent of x.
func Atan[C dsl.Real](x C) C { return dsl.Atan(x) }

// Sinh is the hyperbolic sine of x.
func Sinh[C dsl.Real](x C) C { return dsl.Sinh(x) }

// Cosh is the hyperbolic cosine of x.
func Cosh[C dsl.Real](x C) C { return dsl.Cosh(x) }

// Tanh is the hyperbolic tangent of x.
func Tanh[C dsl.Real](x C) C { return dsl.Tanh(x) }

// Erf is the error function of x.
func Erf[C dsl.Real](x C) C { return dsl.Erf(x) }

// Erfc is 1 minus the error function of x.
func Erfc[C dsl.Real](x C) C { return dsl.Erfc(x) }

// Lgamma is the logarithm of the magnitude of the gamma function of x.
func Lgamma[C dsl.Real](x C) C { return dsl.Lgamma(x) }

// Digamma is the derivative of [Lgamma]: NaN at 0 and at negative integers.
func Digamma[C dsl.Real](x C) C {
	var below C // what the reflection to the right of 0 adds
	if x <= 0 {
		part := x - dsl.RoundEven(x)
		if part == 0 {
			return part / part
		}
		below = -math.Pi / dsl.Tan(math.Pi*part)
		x = 1 - x
	}
	for x < 10 {
		below -= 1 / x
		x++
	}
	y := 1 / (x * x)
	series := y * (1.0/12 - y*(1.0/120-y*(1.0/252-y*(1.0/240-y*(1.0/132-y*(691.0/32760-y*(1.0/12)))))))
	return below + (dsl.Log(x) - 0.5/x - series)
}

// Asinh is the inverse of the hyperbolic sine.
func Asinh[C dsl.Real](x C) C {
	a := dsl.Abs(x)
	if a > 1e9 { // whose square may overflow
		return dsl.Copysign(dsl.Log(a)+math.Ln2, x)
	}
	return dsl.Copysign(dsl.Log1p(a+a*a/(1+dsl.Sqrt(a*a+1))), x)
}

// Acosh is the inverse of the hyperbolic cosine: NaN below 1.
func Acosh[C dsl.Real](x C) C {
	if x > 1e9 {
		return dsl.Log(x) + math.Ln2
	}
	t := x - 1
	if t < 0 { // where t*(t+2) may be above 0
		return dsl.Sqrt(t)
	}
	return dsl.Log1p(t + dsl.Sqrt(t*(t+2)))
}

// Atanh is the inverse of the hyperbolic tangent: NaN beyond 1 and -1.
func Atanh[C dsl.Real](x C) C {
	a := dsl.Abs(x)
	return dsl.Copysign(0.5*dsl.Log1p(2*a/(1-a)), x)
}

// Sigmoid is 1/(1 + exp(-x)).
func Sigmoid[C dsl.Real](x C) C { return 1 / (1 + dsl.Exp(-x)) }

// Silu is x times its sigmoid.
func Silu[C dsl.Real](x C) C { return x / (1 + dsl.Exp(-x)) }

// Softplus is log(1 + exp(x)), without overflow.
func Softplus[C dsl.Real](x C) C {
	return max(x, 0) + dsl.Log1p(dsl.Exp(-dsl.Abs(x)))
}

// Mish is x·tanh(log(1 + exp(x))), which is x·n/(n+2) where n is e·(e+2) and e is exp(x). From 20 on
// the quotient is 1 in any type.
func Mish[C dsl.Real](x C) C {
	e := dsl.Exp(min(x, 20))
	n := e * (e + 2)
	return x * (n / (n + 2))
}

// Gelu is x/2 · (1 + tanh u), where u is √(2/π)·(x + 0.044715x³). Half of the sum is
// 1/(1 + exp(-2u)), and for small u, without overflow, exp(2u)/(1 + exp(2u)).
func Gelu[C dsl.Real](x C) C {
	u := 2 * 0.7978845608028654 * x * dsl.FMA(0.044715*x, x, 1)
	e := dsl.Exp(-dsl.Abs(u))
	var over C = 1
	if u < 0 {
		over = e
	}
	return x * (over / (1 + e))
}
