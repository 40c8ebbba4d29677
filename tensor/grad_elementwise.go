package tensor

import (
	"math"

	"github.com/gokiln/kiln/ops/elementwise/kernels"
)

// The gradients of elementwise operations: g is that of the result, out, and x and y are
// the operands.

// grad1 is the gradient of an operation of one operand; of the operand, nil if it has
// none.
type grad1 func(g, x, out *Tensor) *Tensor

func (f grad1) spread(g, out *Tensor, in []*Tensor) []*Tensor {
	return []*Tensor{f(g, in[0], out)}
}

// grad2 is the gradient of an operation of two operands; of each.
type grad2 func(g, x, y, out *Tensor) (*Tensor, *Tensor)

func (f grad2) spread(g, out *Tensor, in []*Tensor) []*Tensor {
	a, b := f(g, in[0], in[1], out)
	return []*Tensor{a, b}
}

// slopeOf is the gradient of x as one kernel, of g and either x or the result. One that is to have a
// gradient itself is by operations, and so is one of two types. The function short is for types of
// 16 bits and less.
func slopeOf(ofResult bool, short, f32 func(g, x float32) float32, f64 func(g, x float64) float64, operations grad1) grad1 {
	return func(g, x, out *Tensor) *Tensor {
		of := x
		if ofResult {
			of = out
		}
		switch {
		case g.RequiresGrad() || of.RequiresGrad() || g.dtype != of.dtype:
			return operations(g, x, out)
		case g.dtype == F64:
			return Map2(f64, g, of)
		}
		if g.dtype.Size() < F32.Size() {
			return Map2(short, g, of)
		}
		return Map2(f32, g, of)
	}
}

var (
	gradTanh    = slopeOf(true, kernels.TanhSlope[float32], kernels.TanhSlope[float32], kernels.TanhSlope[float64], operationsTanh)
	gradSigmoid = slopeOf(true, kernels.SigmoidSlope[float32], kernels.SigmoidSlope[float32], kernels.SigmoidSlope[float64], operationsSigmoid)
	gradSilu    = slopeOf(false, kernels.SiluSlopeShort, kernels.SiluSlope[float32], kernels.SiluSlope[float64], operationsSilu)
	gradGelu    = slopeOf(false, kernels.GeluSlopeShort, kernels.GeluSlope[float32], kernels.GeluSlope[float64], operationsGelu)
	gradGeluErf = slopeOf(false, kernels.GeluErfSlope[float32], kernels.GeluErfSlope[float32], kernels.GeluErfSlope[float64], operationsGeluErf)
)

// flat is the gradient of what does not change with small changes of its operand: none.
func flat(g, x, out *Tensor) *Tensor { return nil }

// flat2 is flat for two operands.
func flat2(g, x, y, out *Tensor) (*Tensor, *Tensor) { return nil, nil }

// where is t where cond, of type U8, is true, and 0 elsewhere.
func (t *Tensor) where(cond *Tensor) *Tensor { return cond.Where(t, t.zero()) }

// zero is one number 0 of the type and device of t.
func (t *Tensor) zero() *Tensor {
	if t.err != nil {
		return t
	}
	return Zeros(t.dev, t.dtype).scoped(t)
}

func gradAdd(g, x, y, out *Tensor) (*Tensor, *Tensor) { return g, g }
func gradSub(g, x, y, out *Tensor) (*Tensor, *Tensor) { return g, g.Neg() }
func gradMul(g, x, y, out *Tensor) (*Tensor, *Tensor) { return g.Mul(y), g.Mul(x) }
func gradDiv(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	return g.Div(y), g.Mul(out).Div(y).Neg()
}

func gradMod(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	return g, g.Mul(x.Div(y).Trunc()).Neg()
}

func gradRemainder(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	return g, g.Mul(x.Div(y).Floor()).Neg()
}

// Equal elements get half of the gradient each.
func gradMaximum(g, x, y, out *Tensor) (*Tensor, *Tensor) { return split(g, x.Gt(y), x.Eq(y)) }
func gradMinimum(g, x, y, out *Tensor) (*Tensor, *Tensor) { return split(g, x.Lt(y), x.Eq(y)) }
func gradPow(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	dx := g.Mul(y).Mul(x.Pow(y.SubScalar(1))).where(y.NeScalar(0))
	moves := x.NeScalar(0).LogicalOr(y.LtScalar(0)).LogicalAnd(out.NeScalar(0)) // 0 to the y stays 0, and is 1 for y = 0
	dy := g.Mul(out).Mul(x.Log()).where(moves)
	return dx, dy
}

// gradAtan2 is 0 where both are 0: no direction is the one there.
func gradAtan2(g, y, x, out *Tensor) (*Tensor, *Tensor) {
	r := x.Hypot(y)
	s, some := g.Div(r), r.NeScalar(0)
	return s.Mul(x.Div(r)).where(some), s.Mul(y.Div(r)).Neg().where(some)
}

func gradLogAddExp(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	part := x.Sub(y).Sigmoid()
	return g.Mul(part), g.Mul(part.SubFrom(1))
}

// gradHypot is 0 where both are 0, as that of [Tensor.Norm] is.
func gradHypot(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	some := out.NeScalar(0)
	return g.Mul(x).Div(out).where(some), g.Mul(y).Div(out).where(some)
}

func gradCopysign(g, x, y, out *Tensor) (*Tensor, *Tensor) {
	return x.NeScalar(0).Where(g.Mul(out.Sign()).Mul(x.Sign()), g.zero()), nil
}

// split gives g where first is true to the first operand, half of it where tie is, and
// the rest to the second.
func split(g, first, tie *Tensor) (a, b *Tensor) {
	half := g.MulScalar(0.5)
	return tie.Where(half, g.where(first)), tie.Where(half, first.Where(g.zero(), g))
}

func gradNeg(g, x, out *Tensor) *Tensor        { return g.Neg() }
func gradAbs(g, x, out *Tensor) *Tensor        { return g.Mul(x.Sign()) }
func gradSqr(g, x, out *Tensor) *Tensor        { return g.Mul(x).MulScalar(2) }
func gradRelu(g, x, out *Tensor) *Tensor       { return g.where(x.GtScalar(0)) }
func gradRecip(g, x, out *Tensor) *Tensor      { return g.Mul(out.Sqr()).Neg() }
func gradSqrt(g, x, out *Tensor) *Tensor       { return g.Div(out).MulScalar(0.5) }
func gradRsqrt(g, x, out *Tensor) *Tensor      { return g.Mul(out).Div(x).MulScalar(-0.5) }
func gradCbrt(g, x, out *Tensor) *Tensor       { return g.Div(out.Sqr().MulScalar(3)) }
func gradExp(g, x, out *Tensor) *Tensor        { return g.Mul(out) }
func gradExp2(g, x, out *Tensor) *Tensor       { return g.Mul(out).MulScalar(math.Ln2) }
func gradExpm1(g, x, out *Tensor) *Tensor      { return g.Mul(out.AddScalar(1)) }
func gradLog(g, x, out *Tensor) *Tensor        { return g.Div(x) }
func gradLog2(g, x, out *Tensor) *Tensor       { return g.Div(x.MulScalar(math.Ln2)) }
func gradLog10(g, x, out *Tensor) *Tensor      { return g.Div(x.MulScalar(math.Ln10)) }
func gradLog1p(g, x, out *Tensor) *Tensor      { return g.Div(x.AddScalar(1)) }
func gradSin(g, x, out *Tensor) *Tensor        { return g.Mul(x.Cos()) }
func gradCos(g, x, out *Tensor) *Tensor        { return g.Mul(x.Sin()).Neg() }
func gradTan(g, x, out *Tensor) *Tensor        { return g.Mul(out.Sqr().AddScalar(1)) }
func gradAsin(g, x, out *Tensor) *Tensor       { return g.Mul(x.Sqr().SubFrom(1).Rsqrt()) }
func gradAcos(g, x, out *Tensor) *Tensor       { return g.Mul(x.Sqr().SubFrom(1).Rsqrt()).Neg() }
func gradAtan(g, x, out *Tensor) *Tensor       { return g.Div(x.Sqr().AddScalar(1)) }
func gradSinh(g, x, out *Tensor) *Tensor       { return g.Mul(x.Cosh()) }
func gradCosh(g, x, out *Tensor) *Tensor       { return g.Mul(x.Sinh()) }
func operationsTanh(g, x, out *Tensor) *Tensor { return g.Mul(out.Sqr().SubFrom(1)) }
func gradAsinh(g, x, out *Tensor) *Tensor      { return g.Mul(x.Sqr().AddScalar(1).Rsqrt()) }

// With x = cosh y the slope is 1/sinh y, also where x² overflows.
func gradAcosh(g, x, out *Tensor) *Tensor   { return g.Div(out.Sinh()) }
func gradAtanh(g, x, out *Tensor) *Tensor   { return g.Div(x.Sqr().SubFrom(1)) }
func gradLgamma(g, x, out *Tensor) *Tensor  { return g.Mul(x.Digamma()) }
func gradDigamma(g, x, out *Tensor) *Tensor { return g.Mul(x.Polygamma(1)) }
func gradErf(g, x, out *Tensor) *Tensor     { return g.Mul(x.Sqr().Neg().Exp()).MulScalar(2 / math.SqrtPi) }
func gradErfc(g, x, out *Tensor) *Tensor {
	return g.Mul(x.Sqr().Neg().Exp()).MulScalar(-2 / math.SqrtPi)
}

func operationsSigmoid(g, x, out *Tensor) *Tensor { return g.Mul(out).Mul(out.SubFrom(1)) }
func gradSoftplus(g, x, out *Tensor) *Tensor      { return g.Mul(x.Sigmoid()) }
func operationsSilu(g, x, out *Tensor) *Tensor {
	s := x.Sigmoid()
	return g.Mul(s).Mul(x.Mul(s.SubFrom(1)).AddScalar(1))
}

// With w = tanh(log(1 + exp(x))) the derivative is w + x·(1-w²)·sigmoid(x).
func gradMish(g, x, out *Tensor) *Tensor {
	w := x.Softplus().Tanh()
	return g.Mul(w.Add(x.Mul(x.Sigmoid()).Mul(w.Sqr().SubFrom(1))))
}

// With s = 1/(1 + exp(-2u)) the result is x·s, and s' is 2·s·(1-s)·u'.
func operationsGelu(g, x, out *Tensor) *Tensor {
	const c, d = 0.7978845608028654, 0.044715
	s := x.Sqr().Affine(2*c*d, 2*c).Mul(x).Sigmoid()
	du := x.Sqr().Affine(6*c*d, 2*c)
	return g.Mul(s).Mul(x.Mul(s.SubFrom(1)).Mul(du).AddScalar(1))
}

func operationsGeluErf(g, x, out *Tensor) *Tensor {
	p := x.MulScalar(-math.Sqrt2 / 2).Erfc().MulScalar(0.5)
	return g.Mul(p.Add(x.Mul(x.Sqr().MulScalar(-0.5).Exp()).MulScalar(1 / math.Sqrt(2*math.Pi))))
}

func gradScale(by float64) grad1 {
	return func(g, x, out *Tensor) *Tensor {
		if by == 1 {
			return g
		}
		return g.MulScalar(by)
	}
}

func gradOver(by float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return g.DivScalar(by) }
}

func gradDivFrom(by float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return g.Mul(x.Sqr().DivFrom(-by)) }
}

func gradZeta(s, by float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return g.Mul(x.zeta(s+1, -s*by)) }
}

func gradElu(alpha float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return x.GtScalar(0).Where(g, g.Mul(out.AddScalar(alpha))) }
}

func gradLeakyRelu(slope float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return x.GtScalar(0).Where(g, g.MulScalar(slope)) }
}

func gradPowScalar(e float64) grad1 {
	return func(g, x, out *Tensor) *Tensor {
		if e == 0 {
			return g.ZerosLike()
		}
		return g.Mul(x.PowScalar(e - 1)).MulScalar(e)
	}
}

func gradClamp(low, high float64) grad1 {
	return func(g, x, out *Tensor) *Tensor { return g.where(x.GeScalar(low).LogicalAnd(x.LeScalar(high))) }
}

func gradMaximumScalar(a float64) grad1 {
	return func(g, x, out *Tensor) *Tensor {
		return x.EqScalar(a).Where(g.MulScalar(0.5), g.where(x.GtScalar(a)))
	}
}

func gradMinimumScalar(a float64) grad1 {
	return func(g, x, out *Tensor) *Tensor {
		return x.EqScalar(a).Where(g.MulScalar(0.5), g.where(x.LtScalar(a)))
	}
}

func gradWhere(g, out *Tensor, in []*Tensor) []*Tensor {
	return []*Tensor{nil, g.where(in[0]), in[0].Where(g.zero(), g)}
}

func gradCast(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g.Cast(in[0].dtype)} }
