package fn

import (
	"github.com/gokiln/kiln/nn/fn/kernels"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/random"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Dropout sets elements to 0 with probability p and divides the others by 1-p (Srivastava et al.,
// "Dropout", 2014). p is less than 1. The random numbers are the device's, one of [tensor.Rand] for
// each element; the gradient draws them again, so that no mask is stored.
func Dropout(x *tensor.Tensor, p float64) *tensor.Tensor {
	const op = "dropout"
	if b := operand.Floats(op, x); b != nil {
		return b
	}
	if !(p >= 0 && p < 1) {
		return operand.Fail(op, tensor.ErrArgument, "probability %v, want 0 to less than 1", p)
	}
	if p == 0 {
		return x
	}
	at, err := x.Device().DrawRandom(x.Count())
	if err != nil {
		return tensor.Fail(op, err)
	}
	return tensor.Apply1(&dropout{p, at}, x)
}

var dropoutKernel = ops.NewGeneric("dropout", kernels.Dropout[ops.T, ops.C])

// dropout is the operation: which elements are dropped follows from where their random numbers are.
type dropout struct {
	p  float64
	at tensor.RandomNumbers
}

// Name is for errors.
func (o *dropout) Name() string { return "dropout" }

// Forward multiplies the elements by 0 or 1/(1-p).
func (o *dropout) Forward(x *tensor.Tensor) *tensor.Tensor {
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	if x.Count() == 0 {
		return out
	}
	k, err := dropoutKernel.Of(ops.TypeArgs{T: x.DType()})
	if err != nil {
		return tensor.Fail(o.Name(), err)
	}
	p := dtype.FromFloat(x.DType().Compute(), o.p).Bits()
	groups := (x.Count() + random.PerCounter - 1) / random.PerCounter
	return tensor.LaunchInto(out, k, runtime.Cover(groups, 256), x.Contiguous(), o.at.Base, o.at.Seed, o.at.Next, ops.ScalarArg(x.DType().Compute(), &p))
}

// Backward is the same of the gradient.
func (o *dropout) Backward(g, _, _ *tensor.Tensor) *tensor.Tensor { return tensor.Apply1(o, g) }

// gumbel is noise of the standard Gumbel distribution, of the shape of x: -log(-log(u)). u is above
// 0 and below 1.
func gumbel(x *tensor.Tensor) *tensor.Tensor {
	wide := x.DType().Compute()
	u := tensor.Rand(x.Device(), wide, 0, 1, x.Shape()...).Clamp(1e-30, 1-1e-7)
	return u.Log().Neg().Log().Neg()
}

// GumbelSoftmax is the softmax of logits and Gumbel noise over a temperature above 0 along a
// dimension, a sample that has a gradient (Jang et al., "Categorical reparameterization with
// Gumbel-softmax", 2017). Where hard is set it is 1 at the largest and 0 elsewhere, with the
// gradient of the soft one.
func GumbelSoftmax(logits *tensor.Tensor, temperature float64, hard bool, d int) *tensor.Tensor {
	const op = "gumbel_softmax"
	if b := operand.Floats(op, logits); b != nil {
		return b
	}
	at, ok := dim(d, logits.Rank())
	switch {
	case !(temperature > 0):
		return operand.Fail(op, tensor.ErrArgument, "temperature %v, want more than 0", temperature)
	case !ok:
		return operand.Fail(op, tensor.ErrDim, "%d of %v", d, logits.Shape())
	}
	x := logits.Cast(logits.DType().Compute())
	soft := x.Add(gumbel(x)).DivScalar(temperature).Softmax(at)
	if hard {
		one := soft.Detach().ArgMax(at).OneHot(soft.Size(at), soft.DType(), 1, 0)
		for i := one.Rank() - 1; i > at; i-- {
			one = one.Transpose(i, i-1)
		}
		soft = one.Sub(soft.Detach()).Add(soft)
	}
	return soft.Cast(logits.DType())
}

// Sample draws indices along a dimension with the probabilities that the softmax of logits over a
// temperature has: the largest of logits and Gumbel noise. A temperature of 0 or less gives the
// largest of the logits. Indices are as those of tensor.Tensor.ArgMax and have no gradient.
func Sample(logits *tensor.Tensor, temperature float64, d int) *tensor.Tensor {
	const op = "sample"
	if b := operand.Floats(op, logits); b != nil {
		return b
	}
	at, ok := dim(d, logits.Rank())
	if !ok {
		return operand.Fail(op, tensor.ErrDim, "%d of %v", d, logits.Shape())
	}
	x := logits.Detach().Cast(logits.DType().Compute())
	if temperature > 0 {
		x = x.Add(gumbel(x).MulScalar(temperature))
	}
	return x.ArgMax(at)
}
