package fn

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// Dropout sets elements to 0 with probability p and divides the others by 1-p (Srivastava et al.,
// "Dropout", 2014). p is less than 1.
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
	u := tensor.Rand(x.Device(), tensor.F32, 0, 1, x.Shape()...)
	wide := x.DType().Compute()
	var factors *tensor.Tensor // not in 16 bits, where 1/(1-p) would be rounded
	if wide == tensor.F64 {
		factors = tensor.Map2(dropFactor[float64], u, tensor.Item(x.Device(), p))
	} else {
		factors = tensor.Map2(dropFactor[float32], u, tensor.Item(x.Device(), float32(p)))
	}
	if err := u.Free(); err != nil {
		return tensor.Fail(op, err)
	}
	return x.Cast(wide).Mul(factors).Cast(x.DType())
}

// dropFactor is what an element is multiplied by, of a number between 0 and 1.
func dropFactor[C dsl.Real](u float32, p C) C {
	if C(u) < p {
		return 0
	}
	return 1 / (1 - p)
}

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
