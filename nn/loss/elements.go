package loss

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// MSE is (x - target)². It is torch.nn.functional.mse_loss of one shape.
func MSE(x, target *tensor.Tensor, o Options) *tensor.Tensor {
	return squared.reduced(x, target, o.Reduction)
}

// L1 is |x - target|. It is torch.nn.functional.l1_loss of one shape.
func L1(x, target *tensor.Tensor, o Options) *tensor.Tensor {
	return absolute.reduced(x, target, o.Reduction)
}

// reduced checks operands, and reduces the losses.
func (f *fused) reduced(x, y *tensor.Tensor, r Reduction) *tensor.Tensor {
	if b := alike(f.name, x, y); b != nil {
		return b
	}
	return r.apply(f.name, f.of(wide(x), wide(y)), x.DType())
}

// HuberOptions are those of [Huber] and [SmoothL1].
type HuberOptions struct {
	Delta     float64 // above 0; 0 is 1
	Reduction Reduction
}

// Huber is d²/2 of d = |x - target| up to δ, and δ·(d - δ/2) beyond (Huber, "Robust estimation of a
// location parameter", 1964). It is torch.nn.functional.huber_loss.
func Huber(x, target *tensor.Tensor, o HuberOptions) *tensor.Tensor {
	return huber("huber", x, target, o, 1)
}

// SmoothL1 is [Huber] over δ, which PyTorch calls β: it is torch.nn.functional.smooth_l1_loss. Of a
// β of 0 that is [L1].
func SmoothL1(x, target *tensor.Tensor, o HuberOptions) *tensor.Tensor {
	return huber("smooth_l1", x, target, o, cmp.Or(o.Delta, 1))
}

func huber(op string, x, target *tensor.Tensor, o HuberOptions, over float64) *tensor.Tensor {
	if b := alike(op, x, target); b != nil {
		return b
	}
	delta := cmp.Or(o.Delta, 1)
	if !(delta > 0) {
		return tensor.Fail(op, fmt.Errorf("%w: delta of %v, want more than 0", tensor.ErrArgument, delta))
	}
	d := wide(x).Sub(wide(target)).Abs()
	c := d.MinimumScalar(delta)
	return o.Reduction.apply(op, c.Mul(d.Sub(c.MulScalar(0.5))).DivScalar(over), x.DType())
}

// BinaryOptions are those of losses of two classes.
type BinaryOptions struct {
	Weight    *tensor.Tensor // of elements, broadcast to them; nil is 1
	PosWeight *tensor.Tensor // of the part of positives, broadcast; nil is 1; not for [BCE]
	Reduction Reduction
}

// BCE is the binary cross-entropy -y·log(p) - (1-y)·log(1-p) of probabilities, whose logarithms
// are taken as at least -100. It is torch.nn.functional.binary_cross_entropy. [BCEWithLogits] has
// better gradients where sigmoids saturate.
func BCE(p, target *tensor.Tensor, o BinaryOptions) *tensor.Tensor {
	const op = "bce"
	if o.PosWeight != nil {
		return tensor.Fail(op, fmt.Errorf("%w: a weight of positives, which BCEWithLogits has", tensor.ErrArgument))
	}
	b := alike(op, p, target)
	if b == nil {
		b = spreads(op, "a weight", p, o.Weight)
	}
	if b != nil {
		return b
	}
	return weigh(op, binary.of(wide(p), wide(target)), o.Weight, o.Reduction, p.DType())
}

// BCEWithLogits is [BCE] of the sigmoid of logits, which stays finite for logits of any size. It is
// torch.nn.functional.binary_cross_entropy_with_logits.
func BCEWithLogits(logits, target *tensor.Tensor, o BinaryOptions) *tensor.Tensor {
	const op = "bce_with_logits"
	b := alike(op, logits, target)
	if b == nil {
		b = spreads(op, "a weight", logits, o.Weight)
	}
	if b == nil {
		b = spreads(op, "a weight of positives", logits, o.PosWeight)
	}
	if b != nil {
		return b
	}
	return weigh(op, binaryWeighted(wide(logits), wide(target), o.PosWeight), o.Weight, o.Reduction, logits.DType())
}

// binaryWeighted is the loss of elements.
func binaryWeighted(x, y, pos *tensor.Tensor) *tensor.Tensor {
	if pos == nil {
		return binaryLogits.of(x, y)
	}
	parts := wide(pos).SubScalar(1).Mul(y).AddScalar(1)
	return y.SubFrom(1).Mul(x).Add(parts.Mul(x.Neg().Softplus()))
}

// weigh multiplies losses with a weight, if there is one, and reduces them.
func weigh(op string, x, weight *tensor.Tensor, r Reduction, to tensor.DType) *tensor.Tensor {
	if weight != nil {
		x = x.Mul(wide(weight))
	}
	return r.apply(op, x, to)
}

// FocalOptions are those of [Focal].
type FocalOptions struct {
	Alpha     float64 // the weight of positives, and 1-α of negatives; 0 is 0.25, below 0 is no weights
	Gamma     float64 // the exponent; 0 is 2
	Reduction Reduction
}

// Focal is [BCEWithLogits] times α and the γ-th power of the probability of the other class, which
// makes little of what is classified well (Lin et al., "Focal loss for dense object detection",
// 2017). It is torchvision.ops.sigmoid_focal_loss, whose reduction is by default none.
func Focal(logits, target *tensor.Tensor, o FocalOptions) *tensor.Tensor {
	const op = "focal"
	if b := alike(op, logits, target); b != nil {
		return b
	}
	x, y := wide(logits), wide(target)
	miss := x.Sigmoid().Mul(y.SubFrom(1)).Add(x.Neg().Sigmoid().Mul(y))
	l := binaryLogits.of(x, y).Mul(miss.PowScalar(cmp.Or(o.Gamma, 2)))
	if a := cmp.Or(o.Alpha, 0.25); a >= 0 {
		l = l.Mul(y.Affine(2*a-1, 1-a))
	}
	return o.Reduction.apply(op, l, logits.DType())
}

// KLDivOptions are those of [KLDiv].
type KLDivOptions struct {
	LogTarget bool // the target has logarithms of probabilities
	Reduction Reduction
}

// KLDiv is the pointwise Kullback-Leibler divergence p·(log(p) - x) of logarithms of probabilities
// x and probabilities p, 0 where p is. It is torch.nn.functional.kl_div: the divergence of
// distributions is that with [BatchMean], and not with [Mean].
func KLDiv(x, target *tensor.Tensor, o KLDivOptions) *tensor.Tensor {
	if o.LogTarget {
		return divergenceLog.reduced(x, target, o.Reduction)
	}
	return divergence.reduced(x, target, o.Reduction)
}

// PoissonOptions are those of [PoissonNLL].
type PoissonOptions struct {
	Rate      bool    // x is the rate, and not its logarithm
	Full      bool    // with Stirling's approximation of the term of the target
	Eps       float64 // is added to the rate in its logarithm; 0 is 1e-8
	Reduction Reduction
}

// PoissonNLL is the negative log-likelihood exp(x) - target·x of a target of a Poisson
// distribution with rate exp(x), without the term of the target alone. It is
// torch.nn.functional.poisson_nll_loss.
func PoissonNLL(x, target *tensor.Tensor, o PoissonOptions) *tensor.Tensor {
	const op = "poisson_nll"
	if b := alike(op, x, target); b != nil {
		return b
	}
	a, y := wide(x), wide(target)
	var l *tensor.Tensor
	if o.Rate {
		l = a.Sub(y.Mul(a.AddScalar(cmp.Or(o.Eps, 1e-8)).Log()))
	} else {
		l = a.Exp().Sub(y.Mul(a))
	}
	if o.Full {
		z := y.MaximumScalar(1) // what is not more counts for nothing
		term := z.Mul(z.Log()).Sub(z).Add(z.MulScalar(2 * math.Pi).Log().MulScalar(0.5))
		l = l.Add(y.GtScalar(1).Where(term, term.ZerosLike()))
	}
	return o.Reduction.apply(op, l, x.DType())
}

// GaussianOptions are those of [GaussianNLL].
type GaussianOptions struct {
	Full      bool    // with the constant log(2π)/2
	Eps       float64 // the least variance; 0 is 1e-6
	Reduction Reduction
}

// GaussianNLL is the negative log-likelihood (log(v) + (x - target)²/v)/2 of a target of a normal
// distribution with mean x and variance v, which is broadcast. Variances below eps count as eps,
// and have gradients as if they were above. It is torch.nn.functional.gaussian_nll_loss.
func GaussianNLL(x, target, variance *tensor.Tensor, o GaussianOptions) *tensor.Tensor {
	const op = "gaussian_nll"
	b := alike(op, x, target)
	if b == nil && variance == nil {
		b = operand.Floats(op, variance)
	}
	if b == nil {
		b = spreads(op, "a variance", x, variance)
	}
	if b != nil {
		return b
	}
	v := wide(variance)
	v = v.Add(v.Detach().MaximumScalar(cmp.Or(o.Eps, 1e-6)).Sub(v.Detach()))
	l := v.Log().Add(wide(x).Sub(wide(target)).Sqr().Div(v)).MulScalar(0.5)
	if o.Full {
		l = l.AddScalar(math.Log(2*math.Pi) / 2)
	}
	return o.Reduction.apply(op, l, x.DType())
}
