package loss

import (
	"cmp"
	"fmt"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// MarginOptions are those of losses with a margin.
type MarginOptions struct {
	Margin    float64 // what 0 stands for is said by each loss
	Reduction Reduction
}

// Hinge is max(0, margin - y·x) of scores and labels of -1 and 1. A margin of 0 is 1.
func Hinge(x, y *tensor.Tensor, o MarginOptions) *tensor.Tensor {
	const op = "hinge"
	if b := alike(op, x, y); b != nil {
		return b
	}
	return o.Reduction.apply(op, wide(x).Mul(wide(y)).SubFrom(cmp.Or(o.Margin, 1)).Relu(), x.DType())
}

// HingeEmbedding is x where the label y is 1, and max(0, margin - x) where it is -1. A margin of 0
// is 1. It is torch.nn.functional.hinge_embedding_loss.
func HingeEmbedding(x, y *tensor.Tensor, o MarginOptions) *tensor.Tensor {
	const op = "hinge_embedding"
	if b := alike(op, x, y); b != nil {
		return b
	}
	a := wide(x)
	far := a.SubFrom(cmp.Or(o.Margin, 1)).Relu()
	return o.Reduction.apply(op, labelled(y, a, far), x.DType())
}

// labelled is x where y is 1, far where it is -1, and what PyTorch has elsewhere: their sum.
func labelled(y, x, far *tensor.Tensor) *tensor.Tensor {
	zero := x.ZerosLike()
	return y.EqScalar(-1).Where(zero, x).Add(y.EqScalar(1).Where(zero, far))
}

// MarginRanking is max(0, margin - y·(a - b)) of scores, of which a shall be higher where the label
// y is 1, and lower where it is -1. It is torch.nn.functional.margin_ranking_loss.
func MarginRanking(a, b, y *tensor.Tensor, o MarginOptions) *tensor.Tensor {
	const op = "margin_ranking"
	if b := alike(op, a, b, y); b != nil {
		return b
	}
	d := wide(a).Sub(wide(b)).Mul(wide(y))
	return o.Reduction.apply(op, d.SubFrom(o.Margin).Relu(), a.DType())
}

// CosineEmbedding is 1 - cos of vectors a and b, (N, D) or (D), where the label y of (N) or () is
// 1, and max(0, cos - margin) where it is -1. It is torch.nn.functional.cosine_embedding_loss.
func CosineEmbedding(a, b, y *tensor.Tensor, o MarginOptions) *tensor.Tensor {
	const op = "cosine_embedding"
	if b := alike(op, a, b); b != nil {
		return b
	}
	if b := operand.Floats(op, a, y); b != nil {
		return b
	}
	if a.Rank() == 0 || a.Rank() > 2 || !y.Shape().Equal(a.Shape()[:a.Rank()-1]) {
		return tensor.Fail(op, fmt.Errorf("%w: vectors of %v with labels of %v", tensor.ErrShape, a.Shape(), y.Shape()))
	}
	const eps = 1e-12 // is PyTorch's
	u, v := wide(a), wide(b)
	square := u.SumSqr(-1).AddScalar(eps).Mul(v.SumSqr(-1).AddScalar(eps))
	cos := u.Mul(v).Sum(-1).Div(square.Sqrt())
	zero := cos.ZerosLike()
	near := y.EqScalar(1).Where(cos.SubFrom(1), zero)
	far := y.EqScalar(-1).Where(cos.SubScalar(o.Margin).Relu(), zero)
	return o.Reduction.apply(op, near.Add(far), a.DType())
}

// TripletOptions are those of [Triplet].
type TripletOptions struct {
	Margin    float64 // 0 is 1
	P         float64 // of the norm; 0 is 2
	Eps       float64 // is added to differences; 0 is 1e-6
	Swap      bool    // takes the distance of positive and negative if that is less
	Reduction Reduction
}

// Triplet is max(0, margin + d(anchor, positive) - d(anchor, negative)) with the p-norm of
// differences along the last dimension (Balntas et al., "Learning local feature descriptors with
// triplets and shallow convolutional neural networks", 2016, for the swap). It is
// torch.nn.functional.triplet_margin_loss.
func Triplet(anchor, positive, negative *tensor.Tensor, o TripletOptions) *tensor.Tensor {
	const op = "triplet"
	if b := alike(op, anchor, positive, negative); b != nil {
		return b
	}
	p := cmp.Or(o.P, 2)
	switch {
	case anchor.Rank() == 0:
		return tensor.Fail(op, fmt.Errorf("%w: %v has no vectors", tensor.ErrRank, anchor.Shape()))
	case !(p > 0):
		return tensor.Fail(op, fmt.Errorf("%w: norm %v, want more than 0", tensor.ErrArgument, p))
	}
	a, b, c := wide(anchor), wide(positive), wide(negative)
	near, far := o.distance(a, b, p), o.distance(a, c, p)
	if o.Swap {
		far = far.Minimum(o.distance(b, c, p))
	}
	return o.Reduction.apply(op, near.Sub(far).AddScalar(cmp.Or(o.Margin, 1)).Relu(), anchor.DType())
}

// distance is the norm of a - b along the last dimension.
func (o *TripletOptions) distance(a, b *tensor.Tensor, p float64) *tensor.Tensor {
	d := a.Sub(b).AddScalar(cmp.Or(o.Eps, 1e-6))
	switch p {
	case 1:
		return d.Abs().Sum(-1)
	case 2:
		return d.Norm(-1)
	}
	return d.Abs().PowScalar(p).Sum(-1).PowScalar(1 / p)
}
