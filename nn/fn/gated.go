package fn

import (
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// gate is a function of the halves of the last dimension, f(a)·b: its kernel, and those of its
// derivatives times a gradient.
type gate struct {
	name     string
	f32      func(a, b float32) float32
	a32, b32 func(g, a, b float32) float32
	f64      func(a, b float64) float64
	a64, b64 func(g, a, b float64) float64

	// f, and its derivative times a gradient, as operations of tensors, for gradients of gradients.
	act  func(a *tensor.Tensor) *tensor.Tensor
	back func(g, a *tensor.Tensor) *tensor.Tensor
}

var (
	swiglu = &gate{"swiglu", silu[float32], siluA[float32], siluB[float32], silu[float64], siluA[float64], siluB[float64], siluOf, siluBack}
	geglu  = &gate{"geglu", gelu[float32], geluA[float32], geluB[float32], gelu[float64], geluA[float64], geluB[float64], geluOf, geluBack}
	reglu  = &gate{"reglu", relu[float32], reluA[float32], reluB[float32], relu[float64], reluA[float64], reluB[float64], (*tensor.Tensor).Relu, reluBack}
)

// farthest is where functions are at their limits in any type, and products with 0 are no NaN.
const farthest = 1e30

// near is x with numbers in place of infinities.
func near[C dsl.Real](x C) C { return min(max(x, -farthest), farthest) }

func nearOf(x *tensor.Tensor) *tensor.Tensor { return x.Clamp(-farthest, farthest) }

// siluOf and geluOf are 0 at -∞, their limit.
func siluOf(a *tensor.Tensor) *tensor.Tensor { return a.MaximumScalar(-farthest).Silu() }

func geluOf(a *tensor.Tensor) *tensor.Tensor { return a.MaximumScalar(-farthest).GeluErf() }

func siluBack(g, a *tensor.Tensor) *tensor.Tensor {
	s := a.Sigmoid()
	return g.Mul(s.Mul(nearOf(a).Mul(s.SubFrom(1)).AddScalar(1)))
}

func geluBack(g, a *tensor.Tensor) *tensor.Tensor {
	a = nearOf(a)
	below := a.MulScalar(-1 / math.Sqrt2).Erfc().MulScalar(0.5)
	return g.Mul(below.Add(a.Mul(a.Sqr().MulScalar(-0.5).Exp().MulScalar(density))))
}

// reluBack is by Where, as 0·∞ is NaN.
func reluBack(g, a *tensor.Tensor) *tensor.Tensor {
	return a.Detach().GtScalar(0).Where(g, a.Detach().ZerosLike())
}

// Swiglu is silu(a)·b of the halves a and b of the last dimension (Shazeer, "GLU variants improve
// transformer", 2020).
func Swiglu(x *tensor.Tensor) *tensor.Tensor { return swiglu.of(x) }

// GeGLU is gelu(a)·b, with the exact GELU: see [Swiglu].
func GeGLU(x *tensor.Tensor) *tensor.Tensor { return geglu.of(x) }

// ReGLU is relu(a)·b: see [Swiglu].
func ReGLU(x *tensor.Tensor) *tensor.Tensor { return reglu.of(x) }

func (o *gate) of(x *tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(o.name, x); b != nil {
		return b
	}
	if x.Rank() == 0 || x.Size(-1)%2 != 0 {
		return operand.Fail(o.name, tensor.ErrShape, "%v has no halves in the last dimension", x.Shape())
	}
	return tensor.Apply1(o, x)
}

// Name is for errors.
func (o *gate) Name() string { return o.name }

// halves are views.
func halves(x *tensor.Tensor) (a, b *tensor.Tensor) {
	n := x.Size(-1) / 2
	return x.Narrow(-1, 0, n), x.Narrow(-1, n, n)
}

// Forward reads both halves in one kernel.
func (o *gate) Forward(x *tensor.Tensor) *tensor.Tensor {
	a, b := halves(x)
	if x.DType() == tensor.F64 {
		return tensor.Map2(o.f64, a, b)
	}
	return tensor.Map2(o.f32, a, b)
}

// Backward is the gradient of both halves.
func (o *gate) Backward(g, x, _ *tensor.Tensor) *tensor.Tensor {
	a, b := halves(x)
	if x.RequiresGrad() || g.RequiresGrad() { // it is to have a gradient itself
		dt := x.DType()
		g, a, b = g.Cast(dt.Compute()), a.Cast(dt.Compute()), b.Cast(dt.Compute())
		return tensor.Cat(-1, o.back(g.Mul(b), a), g.Mul(o.act(a))).Cast(dt)
	}
	if x.DType() == tensor.F64 {
		return tensor.Cat(-1, tensor.Map3(o.a64, g, a, b), tensor.Map3(o.b64, g, a, b))
	}
	return tensor.Cat(-1, tensor.Map3(o.a32, g, a, b), tensor.Map3(o.b32, g, a, b))
}

func silu[C dsl.Real](a, b C) C { return max(a, -farthest) * sigmoid(a) * b }

func siluA[C dsl.Real](g, a, b C) C {
	s := sigmoid(a)
	return g * b * (s * (1 + near(a)*(1-s)))
}

func siluB[C dsl.Real](g, a, b C) C { return g * (max(a, -farthest) * sigmoid(a)) }

// normal is the distribution function of the standard normal distribution.
func normal[C dsl.Real](x C) C { return 0.5 * dsl.Erfc(-x*(1/math.Sqrt2)) }

// density is that of the standard normal distribution at 0, 1/√(2π).
const density = 0.398942280401432677939946059934

func gelu[C dsl.Real](a, b C) C { return max(a, -farthest) * normal(a) * b }

func geluA[C dsl.Real](g, a, b C) C {
	a = near(a)
	return g * b * (normal(a) + a*density*dsl.Exp(-0.5*a*a))
}

func geluB[C dsl.Real](g, a, b C) C { return g * (max(a, -farthest) * normal(a)) }

func relu[C dsl.Real](a, b C) C { return max(a, 0) * b }

func reluA[C dsl.Real](g, a, b C) C {
	if a > 0 {
		return g * b
	}
	return 0
}

func reluB[C dsl.Real](g, a, b C) C { return g * max(a, 0) }

// PRelu is x where x > 0, and w·x elsewhere. The weight has one number, or one for each index of
// dimension 1, or of the only dimension (He et al., "Delving deep into rectifiers", 2015).
func PRelu(x, weight *tensor.Tensor) *tensor.Tensor {
	const op = "prelu"
	if b := operand.Floats(op, x, weight); b != nil {
		return b
	}
	d, n := min(1, x.Rank()-1), 1
	if d >= 0 {
		n = x.Size(d)
	}
	switch {
	case weight.Rank() > 1 || weight.Count() != 1 && (weight.Count() != n || d < 0):
		return operand.Fail(op, tensor.ErrShape, "a weight of %v for %v, want 1 or %d numbers", weight.Shape(), x.Shape(), n)
	case weight.Count() == 1:
		weight = weight.Reshape()
	default:
		weight = weight.Reshape(along(x.Rank(), d, n)...)
	}
	if x.DType() == tensor.F64 {
		return tensor.Map2Grad(leaky[float64], leakySlopes[float64], x, weight)
	}
	return tensor.Map2Grad(leaky[float32], leakySlopes[float32], x, weight)
}

func leaky[C dsl.Real](x, w C) C {
	if x > 0 {
		return x
	}
	return w * x
}

func leakySlopes[C dsl.Real](x, w C) (dx, dw C) {
	if x > 0 {
		return 1, 0
	}
	return w, x
}
