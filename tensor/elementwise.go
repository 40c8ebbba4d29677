package tensor

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
)

// unary computes each element from one.
func (t *Tensor) unary(op *elementwise.Elementwise, back grad1) *Tensor {
	if bad := first(op.Name(), t); bad != nil {
		return bad
	}
	return t.apply(op, back, []*Tensor{t})
}

// scaled is unary with numbers that all elements share, which are given in float64.
func (t *Tensor) scaled(op *elementwise.Elementwise, back grad1, numbers ...float64) *Tensor {
	if bad := first(op.Name(), t); bad != nil {
		return bad
	}
	var list [2]Scalar
	for i, x := range numbers {
		s, err := t.number(x)
		if err != nil {
			return failed(op.Name(), err)
		}
		list[i] = s
	}
	return t.apply(op, back, []*Tensor{t}, list[:op.Params()]...)
}

// binary computes each element from two, of shapes that are broadcast to each other.
func (t *Tensor) binary(op *elementwise.Elementwise, u *Tensor, back grad2) *Tensor {
	if bad := first(op.Name(), t, u); bad != nil {
		return bad
	}
	return t.apply(op, back, []*Tensor{t, u})
}

// apply runs an operation on operands that hold no error.
func (t *Tensor) apply(op *elementwise.Elementwise, back gradient, in []*Tensor, numbers ...Scalar) *Tensor {
	if err := same(in...); err != nil {
		return failed(op.Name(), err)
	}
	if err := op.Check(t.dtype); err != nil {
		return failed(op.Name(), err)
	}
	var room [2]ops.View
	views, err := broadcast(&room, in)
	if err != nil {
		return failed(op.Name(), err)
	}
	out, err := packed(t.dev, op.Result(t.dtype), views[0].Layout.Packed())
	if err != nil {
		return failed(op.Name(), err)
	}
	if err := op.Run(t.dev.stream, out.view(), views, numbers...); err != nil {
		return out.dropped(op.Name(), err)
	}
	return out.from(op.Name(), back, in...)
}

// broadcast returns views of the operands in the shape that they are broadcast to.
func broadcast(room *[2]ops.View, in []*Tensor) ([]ops.View, error) {
	views := room[:len(in)]
	views[0] = in[0].view()
	if len(in) == 1 {
		return views, nil
	}
	views[1] = in[1].view()
	shape := in[0].layout.Shape()
	if shape.Equal(in[1].layout.Shape()) {
		return views, nil
	}
	shape, err := layout.Broadcast(shape, in[1].layout.Shape())
	for i := range views {
		if err == nil {
			views[i].Layout, err = views[i].Layout.BroadcastTo(shape)
		}
	}
	return views, err
}

// Add is t + u.
func (t *Tensor) Add(u *Tensor) *Tensor { return t.binary(elementwise.Add, u, gradAdd) }

// Sub is t - u.
func (t *Tensor) Sub(u *Tensor) *Tensor { return t.binary(elementwise.Sub, u, gradSub) }

// Mul is t · u, element by element.
func (t *Tensor) Mul(u *Tensor) *Tensor { return t.binary(elementwise.Mul, u, gradMul) }

// Div is t / u. Integers are cut towards zero, and x/0 is 0.
func (t *Tensor) Div(u *Tensor) *Tensor { return t.binary(elementwise.Div, u, gradDiv) }

// Mod is the remainder of t/u cut towards zero, which has the sign of t. Of
// integers x mod 0 is x, and of floats it is NaN.
func (t *Tensor) Mod(u *Tensor) *Tensor { return t.binary(elementwise.Mod, u, gradMod) }

// Remainder is t less the largest multiple of u that leaves a rest with the sign of u.
// For u = 0 it is as [Tensor.Mod].
func (t *Tensor) Remainder(u *Tensor) *Tensor {
	return t.binary(elementwise.Remainder, u, gradRemainder)
}

// Maximum is the larger one of t and u, NaN where one is.
func (t *Tensor) Maximum(u *Tensor) *Tensor { return t.binary(elementwise.Maximum, u, gradMaximum) }

// Minimum is the smaller one of t and u, NaN where one is.
func (t *Tensor) Minimum(u *Tensor) *Tensor { return t.binary(elementwise.Minimum, u, gradMinimum) }

// Pow is t to the u. Integers wrap.
func (t *Tensor) Pow(u *Tensor) *Tensor { return t.binary(elementwise.Pow, u, gradPow) }

// Atan2 is the angle of the points (t, u) = (y, x). Its gradient is 0 where both are 0.
func (t *Tensor) Atan2(u *Tensor) *Tensor { return t.binary(elementwise.Atan2, u, gradAtan2) }

// Hypot is √(t² + u²), without overflow. Its gradient is 0 where both are 0.
func (t *Tensor) Hypot(u *Tensor) *Tensor { return t.binary(elementwise.Hypot, u, gradHypot) }

// Copysign is t with the signs of u.
func (t *Tensor) Copysign(u *Tensor) *Tensor { return t.binary(elementwise.Copysign, u, gradCopysign) }

// LogAddExp is log(exp(t) + exp(u)), without overflow.
func (t *Tensor) LogAddExp(u *Tensor) *Tensor {
	return t.binary(elementwise.LogAddExp, u, gradLogAddExp)
}

// And is the bits that both integers have.
func (t *Tensor) And(u *Tensor) *Tensor { return t.binary(elementwise.And, u, flat2) }

// Or is the bits that one of the integers has.
func (t *Tensor) Or(u *Tensor) *Tensor { return t.binary(elementwise.Or, u, flat2) }

// Xor is the bits that just one of the integers has.
func (t *Tensor) Xor(u *Tensor) *Tensor { return t.binary(elementwise.Xor, u, flat2) }

// Shl is the integers of t shifted to the left by those of u, 0 where u is the width or
// more, or negative.
func (t *Tensor) Shl(u *Tensor) *Tensor { return t.binary(elementwise.Shl, u, flat2) }

// Shr is the integers of t shifted to the right by those of u, filled with the sign.
func (t *Tensor) Shr(u *Tensor) *Tensor { return t.binary(elementwise.Shr, u, flat2) }

// Eq is 1 where t = u and else 0, of type U8.
func (t *Tensor) Eq(u *Tensor) *Tensor { return t.binary(elementwise.Eq, u, flat2) }

// Ne is 1 where t ≠ u and else 0, of type U8.
func (t *Tensor) Ne(u *Tensor) *Tensor { return t.binary(elementwise.Ne, u, flat2) }

// Lt is 1 where t < u and else 0, of type U8.
func (t *Tensor) Lt(u *Tensor) *Tensor { return t.binary(elementwise.Lt, u, flat2) }

// Le is 1 where t ≤ u and else 0, of type U8.
func (t *Tensor) Le(u *Tensor) *Tensor { return t.binary(elementwise.Le, u, flat2) }

// Gt is 1 where t > u and else 0, of type U8.
func (t *Tensor) Gt(u *Tensor) *Tensor { return t.binary(elementwise.Gt, u, flat2) }

// Ge is 1 where t ≥ u and else 0, of type U8.
func (t *Tensor) Ge(u *Tensor) *Tensor { return t.binary(elementwise.Ge, u, flat2) }

// LogicalAnd is 1 where neither is 0, and else 0, of type U8.
func (t *Tensor) LogicalAnd(u *Tensor) *Tensor { return t.binary(elementwise.LogicalAnd, u, flat2) }

// LogicalOr is 1 where one is not 0, and else 0, of type U8.
func (t *Tensor) LogicalOr(u *Tensor) *Tensor { return t.binary(elementwise.LogicalOr, u, flat2) }

// LogicalXor is 1 where just one is not 0, and else 0, of type U8.
func (t *Tensor) LogicalXor(u *Tensor) *Tensor { return t.binary(elementwise.LogicalXor, u, flat2) }

// LogicalNot is 1 where t is 0, and else 0, of type U8.
func (t *Tensor) LogicalNot() *Tensor { return t.unary(elementwise.False, flat) }

// IsNaN is 1 where t is NaN, and else 0, of type U8.
func (t *Tensor) IsNaN() *Tensor { return t.unary(elementwise.IsNaN, flat) }

// IsInf is 1 where t is infinite, and else 0, of type U8.
func (t *Tensor) IsInf() *Tensor { return t.unary(elementwise.IsInf, flat) }

// IsFinite is 1 where t is neither infinite nor NaN, and else 0, of type U8.
func (t *Tensor) IsFinite() *Tensor { return t.unary(elementwise.IsFinite, flat) }

// Neg is -t.
func (t *Tensor) Neg() *Tensor { return t.unary(elementwise.Neg, gradNeg) }

// Abs is the magnitude of t.
func (t *Tensor) Abs() *Tensor { return t.unary(elementwise.Abs, gradAbs) }

// Sign is -1, 0 or 1, and NaN of NaN. Its gradient is 0.
func (t *Tensor) Sign() *Tensor { return t.unary(elementwise.Sign, flat) }

// Sqr is t².
func (t *Tensor) Sqr() *Tensor { return t.unary(elementwise.Sqr, gradSqr) }

// Relu is the larger one of t and 0. Its gradient at 0 is 0.
func (t *Tensor) Relu() *Tensor { return t.unary(elementwise.Relu, gradRelu) }

// Not is the complement of the bits of integers.
func (t *Tensor) Not() *Tensor { return t.unary(elementwise.Not, flat) }

// Floor is the largest integer not above t. Its gradient is 0.
func (t *Tensor) Floor() *Tensor { return t.unary(elementwise.Floor, flat) }

// Ceil is the least integer not below t. Its gradient is 0.
func (t *Tensor) Ceil() *Tensor { return t.unary(elementwise.Ceil, flat) }

// Trunc is t without its fraction. Its gradient is 0.
func (t *Tensor) Trunc() *Tensor { return t.unary(elementwise.Trunc, flat) }

// Round is the integer nearest to t, halves away from zero. Its gradient is 0.
func (t *Tensor) Round() *Tensor { return t.unary(elementwise.Round, flat) }

// RoundEven is the integer nearest to t, halves to the even one. Its gradient is 0.
func (t *Tensor) RoundEven() *Tensor { return t.unary(elementwise.RoundEven, flat) }

// RoundTo rounds to so many decimal digits, halves away from zero. Its gradient is 0.
func (t *Tensor) RoundTo(digits int) *Tensor {
	return t.scaled(elementwise.RoundTo, flat, math.Pow(10, float64(digits)), 0)
}

// Recip is 1/t.
func (t *Tensor) Recip() *Tensor { return t.unary(elementwise.Recip, gradRecip) }

// Sqrt is the square root of t.
func (t *Tensor) Sqrt() *Tensor { return t.unary(elementwise.Sqrt, gradSqrt) }

// Rsqrt is 1/√t.
func (t *Tensor) Rsqrt() *Tensor { return t.unary(elementwise.Rsqrt, gradRsqrt) }

// Cbrt is the cube root of t.
func (t *Tensor) Cbrt() *Tensor { return t.unary(elementwise.Cbrt, gradCbrt) }

// Exp is e to the t.
func (t *Tensor) Exp() *Tensor { return t.unary(elementwise.Exp, gradExp) }

// Exp2 is 2 to the t.
func (t *Tensor) Exp2() *Tensor { return t.unary(elementwise.Exp2, gradExp2) }

// Expm1 is e to the t, minus 1.
func (t *Tensor) Expm1() *Tensor { return t.unary(elementwise.Expm1, gradExpm1) }

// Log is the natural logarithm of t.
func (t *Tensor) Log() *Tensor { return t.unary(elementwise.Log, gradLog) }

// Log2 is the logarithm of t to base 2.
func (t *Tensor) Log2() *Tensor { return t.unary(elementwise.Log2, gradLog2) }

// Log10 is the logarithm of t to base 10.
func (t *Tensor) Log10() *Tensor { return t.unary(elementwise.Log10, gradLog10) }

// Log1p is the natural logarithm of 1 + t.
func (t *Tensor) Log1p() *Tensor { return t.unary(elementwise.Log1p, gradLog1p) }

// Sin is the sine of t.
func (t *Tensor) Sin() *Tensor { return t.unary(elementwise.Sin, gradSin) }

// Cos is the cosine of t.
func (t *Tensor) Cos() *Tensor { return t.unary(elementwise.Cos, gradCos) }

// Tan is the tangent of t.
func (t *Tensor) Tan() *Tensor { return t.unary(elementwise.Tan, gradTan) }

// Asin is the arc sine of t.
func (t *Tensor) Asin() *Tensor { return t.unary(elementwise.Asin, gradAsin) }

// Acos is the arc cosine of t.
func (t *Tensor) Acos() *Tensor { return t.unary(elementwise.Acos, gradAcos) }

// Atan is the arc tangent of t.
func (t *Tensor) Atan() *Tensor { return t.unary(elementwise.Atan, gradAtan) }

// Sinh is the hyperbolic sine of t.
func (t *Tensor) Sinh() *Tensor { return t.unary(elementwise.Sinh, gradSinh) }

// Cosh is the hyperbolic cosine of t.
func (t *Tensor) Cosh() *Tensor { return t.unary(elementwise.Cosh, gradCosh) }

// Tanh is the hyperbolic tangent of t.
func (t *Tensor) Tanh() *Tensor { return t.unary(elementwise.Tanh, gradTanh) }

// Asinh is the inverse hyperbolic sine of t.
func (t *Tensor) Asinh() *Tensor { return t.unary(elementwise.Asinh, gradAsinh) }

// Acosh is the inverse hyperbolic cosine of t, NaN below 1.
func (t *Tensor) Acosh() *Tensor { return t.unary(elementwise.Acosh, gradAcosh) }

// Atanh is the inverse hyperbolic tangent of t, NaN beyond 1 and -1.
func (t *Tensor) Atanh() *Tensor { return t.unary(elementwise.Atanh, gradAtanh) }

// Erf is the error function of t.
func (t *Tensor) Erf() *Tensor { return t.unary(elementwise.Erf, gradErf) }

// Erfc is 1 minus the error function of t.
func (t *Tensor) Erfc() *Tensor { return t.unary(elementwise.Erfc, gradErfc) }

// Lgamma is the logarithm of the magnitude of the gamma function of t.
func (t *Tensor) Lgamma() *Tensor { return t.unary(elementwise.Lgamma, gradLgamma) }

// Digamma is the derivative of [Tensor.Lgamma], NaN at 0 and at negative integers.
func (t *Tensor) Digamma() *Tensor { return t.unary(elementwise.Digamma, gradDigamma) }

// Polygamma is derivative n of [Tensor.Digamma], from 0, which is that itself, to
// 30; any other is an error of kind [ErrArgument].
func (t *Tensor) Polygamma(n int) *Tensor {
	if n == 0 {
		return t.Digamma()
	}
	if n < 0 || n > 30 {
		return failf("polygamma", ErrArgument, "derivative %d, want 0 to 30", n)
	}
	sign := float64(2*(n%2) - 1)
	return t.zeta(float64(n+1), sign*math.Round(math.Gamma(float64(n+1))))
}

// Zeta is the Hurwitz zeta function Σ (t+k)^-s, for k from 0 on. It is NaN for s below 1,
// and for t below 0 where s is no integer.
func (t *Tensor) Zeta(s float64) *Tensor { return t.zeta(s, 1) }

// zeta is Zeta times a number.
func (t *Tensor) zeta(s, by float64) *Tensor {
	return t.scaled(elementwise.Zeta, gradZeta(s, by), s, by)
}

// Sigmoid is 1/(1 + exp(-t)).
func (t *Tensor) Sigmoid() *Tensor { return t.unary(elementwise.Sigmoid, gradSigmoid) }

// Silu is t/(1 + exp(-t)).
func (t *Tensor) Silu() *Tensor { return t.unary(elementwise.Silu, gradSilu) }

// Softplus is log(1 + exp(t)), without overflow.
func (t *Tensor) Softplus() *Tensor { return t.unary(elementwise.Softplus, gradSoftplus) }

// Mish is t·tanh(log(1 + exp(t))).
func (t *Tensor) Mish() *Tensor { return t.unary(elementwise.Mish, gradMish) }

// Gelu is t/2 · (1 + tanh(√(2/π)·(t + 0.044715t³))).
func (t *Tensor) Gelu() *Tensor { return t.unary(elementwise.Gelu, gradGelu) }

// GeluErf is t/2 · (1 + erf(t/√2)).
func (t *Tensor) GeluErf() *Tensor { return t.unary(elementwise.GeluErf, gradGeluErf) }

// Elu is t where t > 0, and α(exp(t) - 1) elsewhere.
func (t *Tensor) Elu(alpha float64) *Tensor {
	return t.scaled(elementwise.Elu, gradElu(alpha), alpha, 0)
}

// LeakyRelu is t where t > 0, and slope·t elsewhere.
func (t *Tensor) LeakyRelu(slope float64) *Tensor {
	return t.scaled(elementwise.LeakyRelu, gradLeakyRelu(slope), slope, 0)
}

// Affine is t·mul + add, rounded after each.
func (t *Tensor) Affine(mul, add float64) *Tensor {
	return t.scaled(elementwise.Affine, gradScale(mul), mul, add)
}

// PowScalar is t to the e.
func (t *Tensor) PowScalar(e float64) *Tensor {
	return t.scaled(elementwise.PowF, gradPowScalar(e), e, 0)
}

// AddScalar is t + x.
func (t *Tensor) AddScalar(x float64) *Tensor { return t.scaled(elementwise.AddOf, gradScale(1), x, 0) }

// SubScalar is t - x.
func (t *Tensor) SubScalar(x float64) *Tensor { return t.scaled(elementwise.SubOf, gradScale(1), x, 0) }

// MulScalar is t · x.
func (t *Tensor) MulScalar(x float64) *Tensor { return t.scaled(elementwise.MulOf, gradScale(x), x, 0) }

// DivScalar is t / x.
func (t *Tensor) DivScalar(x float64) *Tensor { return t.scaled(elementwise.DivOf, gradOver(x), x, 0) }

// SubFrom is x - t.
func (t *Tensor) SubFrom(x float64) *Tensor {
	return t.scaled(elementwise.SubFrom, gradScale(-1), x, 0)
}

// DivFrom is x / t.
func (t *Tensor) DivFrom(x float64) *Tensor {
	return t.scaled(elementwise.DivFrom, gradDivFrom(x), x, 0)
}

// Where is x where t, integers, is not 0, and y elsewhere. The three are broadcast.
func (t *Tensor) Where(x, y *Tensor) *Tensor {
	const op = "where"
	if bad := first(op, t, x, y); bad != nil {
		return bad
	}
	if err := same(x, y); err != nil {
		return failed(op, err)
	}
	if t.dev != x.dev {
		return failed(op, fmt.Errorf("%w: %s and %s: To brings a tensor to another device", ErrDevice, t.dev, x.dev))
	}
	shape, err := layout.Broadcast(x.layout.Shape(), y.layout.Shape())
	if err == nil {
		shape, err = layout.Broadcast(shape, t.layout.Shape())
	}
	var views [3]ops.View
	for i, u := range []*Tensor{t, x, y} {
		if err == nil {
			views[i] = u.view()
			views[i].Layout, err = views[i].Layout.BroadcastTo(shape)
		}
	}
	if err != nil {
		return failed(op, err)
	}
	out, err := empty(x.dev, x.dtype, shape)
	if err == nil {
		err = elementwise.Where(x.dev.stream, out.view(), views[0], views[1], views[2])
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, backward(gradWhere), t, x, y)
}

// Cast converts the elements to another type by value: fractions are cut off on the way
// to integers, floats beyond an integer's range become its nearest number, and NaN 0;
// integers wrap. What is too large for a type of 16 bits becomes infinite, and for one
// of 8 bits its largest number. A tensor of the type already is returned as it is.
func (t *Tensor) Cast(to DType) *Tensor {
	const op = "cast"
	if bad := first(op, t); bad != nil || t.dtype == to {
		return either(bad, t)
	}
	out, err := empty(t.dev, to, t.layout.Shape())
	if err == nil {
		err = elementwise.Copy(t.dev.stream, out.view(), t.view())
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, backward(gradCast), t)
}

// either returns a if it is not nil, and else b.
func either(a, b *Tensor) *Tensor {
	if a != nil {
		return a
	}
	return b
}
