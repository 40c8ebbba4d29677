package fn

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// GroupNorm normalises groups of channels, of dimension 1, of each item: less their mean, over
// √(variance + eps), times weight, plus bias, which have a number for each channel; nil is none
// (Wu and He, "Group normalization", 2018). Both are given or none is.
func GroupNorm(x *tensor.Tensor, groups int, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	return grouped("group_norm", x, groups, weight, bias, eps)
}

// InstanceNorm is [GroupNorm] of each channel alone (Ulyanov et al., "Instance normalization",
// 2016).
func InstanceNorm(x, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	groups := 1
	if x != nil && x.Err() == nil && x.Rank() > 1 {
		groups = x.Size(1)
	}
	return grouped("instance_norm", x, groups, weight, bias, eps)
}

func grouped(op string, x *tensor.Tensor, groups int, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	if b := channels(op, x, weight, bias); b != nil {
		return b
	}
	if groups < 1 || x.Size(1)%groups != 0 {
		return operand.Fail(op, tensor.ErrShape, "%d groups of the channels of %v", groups, x.Shape())
	}
	s := x.Shape()
	if x.Count() == 0 {
		return x.Copy()
	}
	wide := x.DType().Compute() // numbers of 16 bits are rounded once
	y := x.Cast(wide).Reshape(s[0], groups, s[1:].Count()/groups).LayerNorm(-1, nil, nil, eps).Reshape(s...)
	return affine(y, weight, bias).Cast(x.DType())
}

// channels checks an operand of (N, C, …), and numbers for each channel, nil for none.
func channels(op string, x *tensor.Tensor, weights ...*tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(op, x); b != nil {
		return b
	}
	if x.Rank() < 2 {
		return operand.Fail(op, tensor.ErrRank, "%v, want (N, C, …)", x.Shape())
	}
	for _, w := range weights {
		if w == nil {
			continue
		}
		if b := operand.Floats(op, w); b != nil {
			return b
		}
		if !w.Shape().Equal(tensor.Shape{x.Size(1)}) {
			return operand.Fail(op, tensor.ErrShape, "a weight or bias of %v for the channels of %v", w.Shape(), x.Shape())
		}
	}
	return nil
}

// affine is y·weight + bias of channels, in the type of y.
func affine(y, weight, bias *tensor.Tensor) *tensor.Tensor {
	shape := along(y.Rank(), 1, y.Size(1))
	if weight != nil {
		y = y.Mul(weight.Cast(y.DType()).Reshape(shape...))
	}
	if bias != nil {
		y = y.Add(bias.Cast(y.DType()).Reshape(shape...))
	}
	return y
}

// BatchStats are the mean and the variance of each channel, dimension 1 of x, which is the mean
// squared distance from the mean: what [BatchNorm] has in training. They are of the type that x is
// computed in and have gradients. Running variances take n/(n-1) times the variance, where n is
// the number of elements of a channel.
func BatchStats(x *tensor.Tensor) (mean, variance *tensor.Tensor) {
	const op = "batch_stats"
	if b := channels(op, x); b != nil {
		return b, b
	}
	dims := []int{0}
	for d := 2; d < x.Rank(); d++ {
		dims = append(dims, d)
	}
	x = x.Cast(x.DType().Compute())
	keep := x.VarKeep(0, dims...)
	return x.Mean(dims...), keep.Reshape(x.Size(1))
}

// BatchNorm is x, of (N, C, …), less the mean, over √(variance + eps), times weight, plus bias, all
// of which have a number for each channel; the latter may be nil. Mean and variance are those of
// [BatchStats], or running ones (Ioffe and Szegedy, "Batch normalization", 2015).
func BatchNorm(x, mean, variance, weight, bias *tensor.Tensor, eps float64) *tensor.Tensor {
	const op = "batch_norm"
	if mean == nil || variance == nil {
		return operand.Fail(op, tensor.ErrArgument, "no mean or no variance")
	}
	if b := channels(op, x, mean, variance, weight, bias); b != nil {
		return b
	}
	if !(eps >= 0) {
		return operand.Fail(op, tensor.ErrArgument, "eps of %v, want 0 or more", eps)
	}
	wide := x.DType().Compute()
	scale := variance.Cast(wide).AddScalar(eps).Rsqrt()
	if weight != nil {
		scale = scale.Mul(weight.Cast(wide))
	}
	if bias == nil {
		bias = scale.ZerosLike()
	}
	shape := along(x.Rank(), 1, x.Size(1))
	mean, scale, bias = mean.Cast(wide).Reshape(shape...), scale.Reshape(shape...), bias.Cast(wide).Reshape(shape...)
	if wide == tensor.F64 {
		return tensor.Map4Grad(standard[float64], standardSlopes[float64], x, mean, scale, bias)
	}
	return tensor.Map4Grad(standard[float32], standardSlopes[float32], x, mean, scale, bias).Cast(x.DType())
}

func standard[C dsl.Real](x, mean, scale, bias C) C { return (x-mean)*scale + bias }

func standardSlopes[C dsl.Real](x, mean, scale, bias C) (dx, dmean, dscale, dbias C) {
	return scale, -scale, x - mean, 1
}

// LocalResponseNorm is x over (k + α·m)^β, where m is the mean of the squares of size channels
// around each, of dimension 1; those beyond the first and last are 0 (Krizhevsky et al., "ImageNet
// classification", 2012, section 3.3, with α over the size as PyTorch has it).
func LocalResponseNorm(x *tensor.Tensor, size int, alpha, beta, k float64) *tensor.Tensor {
	const op = "local_response_norm"
	if b := channels(op, x); b != nil {
		return b
	}
	if size < 1 {
		return operand.Fail(op, tensor.ErrArgument, "size of %d, want 1 or more", size)
	}
	wide := x.Cast(x.DType().Compute())
	m := wide.Sqr().Pad(1, size/2, (size-1)/2, tensor.PadConstant, 0).Unfold(1, size, 1).Mean(-1)
	return wide.Div(m.Affine(alpha, k).PowScalar(beta)).Cast(x.DType())
}

// Normalize is x over its p-norm along a dimension, or over eps if that is more. It is
// torch.nn.functional.normalize.
func Normalize(x *tensor.Tensor, p float64, d int, eps float64) *tensor.Tensor {
	const op = "normalize"
	if b := operand.Floats(op, x); b != nil {
		return b
	}
	if !(p > 0) {
		return operand.Fail(op, tensor.ErrArgument, "norm %v, want more than 0", p)
	}
	d, ok := dim(d, x.Rank())
	if !ok {
		return operand.Fail(op, tensor.ErrDim, "%d of %v", d, x.Shape())
	}
	return x.Div(norm(x, p, d).MaximumScalar(eps).Unsqueeze(d))
}

// norm is the p-norm along a dimension.
func norm(x *tensor.Tensor, p float64, d int) *tensor.Tensor {
	switch p {
	case 1:
		return x.Abs().Sum(d)
	case 2:
		return x.Norm(d)
	}
	return x.Abs().PowScalar(p).Sum(d).PowScalar(1 / p)
}

// CosineSimilarity is the product of x and y along a dimension over that of their norms, each of
// which is at least eps. Shapes are broadcast. It is torch.nn.functional.cosine_similarity.
func CosineSimilarity(x, y *tensor.Tensor, d int, eps float64) *tensor.Tensor {
	const op = "cosine_similarity"
	if b := operand.Floats(op, x, y); b != nil {
		return b
	}
	at, ok := dim(d, max(x.Rank(), y.Rank()))
	if !ok || x.Rank() != y.Rank() {
		return operand.Fail(op, tensor.ErrDim, "%d of %v and %v", d, x.Shape(), y.Shape())
	}
	u := x.Div(x.Norm(at).MaximumScalar(eps).Unsqueeze(at))
	v := y.Div(y.Norm(at).MaximumScalar(eps).Unsqueeze(at))
	return u.Mul(v).Sum(at)
}
