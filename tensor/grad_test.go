package tensor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tensor"
)

// gradient is a formula whose gradients are compared with finite differences, at points
// drawn from between low and high.
type gradient struct {
	name      string
	shapes    [][]int
	low, high float64
	f         func(x []*tensor.Tensor) *tensor.Tensor
}

func g1(name string, low, high float64, f func(x *tensor.Tensor) *tensor.Tensor) gradient {
	return gradient{name, [][]int{{3, 4}}, low, high, func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0]) }}
}

func g2(name string, low, high float64, f func(x, y *tensor.Tensor) *tensor.Tensor) gradient {
	return gradient{name, [][]int{{3, 4}, {3, 4}}, low, high, func(x []*tensor.Tensor) *tensor.Tensor { return f(x[0], x[1]) }}
}

type (
	ten = *tensor.Tensor
)

// positive is matrices that are positive definite.
func positive(x ten) ten {
	return x.MatMul(x.T()).Add(tensor.Eye(x.Device(), tensor.F64, x.Size(-1)))
}

func sampling(name string, p tensor.Sampling) gradient {
	return gradient{"grid sample " + name, [][]int{{2, 2, 3, 4}, {2, 2, 3, 2}}, -1.4, 1.4, func(x []ten) ten { return x[0].GridSample(x[1], p).Sqr() }}
}

var gradients = []gradient{
	g2("add", -2, 2, func(x, y ten) ten { return x.Add(y) }),
	g2("sub", -2, 2, func(x, y ten) ten { return x.Sub(y) }),
	g2("mul", -2, 2, func(x, y ten) ten { return x.Mul(y) }),
	g2("div", 0.5, 2, func(x, y ten) ten { return x.Div(y) }),
	g2("mod", 0.6, 0.9, func(x, y ten) ten { return x.MulScalar(5).Mod(y.AddScalar(1.5)) }),
	g2("maximum", -2, 2, func(x, y ten) ten { return x.Maximum(y) }),
	g2("minimum", -2, 2, func(x, y ten) ten { return x.Minimum(y) }),
	g2("pow", 0.5, 2, func(x, y ten) ten { return x.Pow(y) }),
	g2("atan2", 0.5, 2, func(x, y ten) ten { return x.Atan2(y.Neg()) }),
	g2("hypot", 0.5, 2, func(x, y ten) ten { return x.Hypot(y) }),
	g2("copysign", 0.5, 2, func(x, y ten) ten { return x.Neg().Copysign(y) }),
	g2("where", -2, 2, func(x, y ten) ten { return x.Detach().GtScalar(0.3).Where(x, y) }),
	{"broadcast add", [][]int{{3, 1}, {2, 1, 4}}, -2, 2, func(x []ten) ten { return x[0].Add(x[1]) }},
	{"broadcast mul", [][]int{{4}, {3, 4}}, -2, 2, func(x []ten) ten { return x[0].Mul(x[1]) }},
	{"broadcast where", [][]int{{}, {3, 4}}, -2, 2, func(x []ten) ten { return x[1].Detach().GtScalar(0).Where(x[0], x[1]) }},
	g1("neg", -2, 2, ten.Neg),
	g1("abs", 0.1, 2, func(x ten) ten { return x.Neg().Abs() }),
	g1("sqr", -2, 2, ten.Sqr),
	g1("relu", -2, 2, ten.Relu),
	g1("recip", 0.5, 2, ten.Recip),
	g1("sqrt", 0.5, 2, ten.Sqrt),
	g1("rsqrt", 0.5, 2, ten.Rsqrt),
	g1("cbrt", 0.5, 2, ten.Cbrt),
	g1("exp", -2, 2, ten.Exp),
	g1("exp2", -2, 2, ten.Exp2),
	g1("expm1", -2, 2, ten.Expm1),
	g1("log", 0.5, 2, ten.Log),
	g1("log2", 0.5, 2, ten.Log2),
	g1("log10", 0.5, 2, ten.Log10),
	g1("log1p", -0.5, 2, ten.Log1p),
	g1("sin", -2, 2, ten.Sin),
	g1("cos", -2, 2, ten.Cos),
	g1("tan", -1, 1, ten.Tan),
	g1("asin", -0.8, 0.8, ten.Asin),
	g1("acos", -0.8, 0.8, ten.Acos),
	g1("atan", -2, 2, ten.Atan),
	g1("sinh", -2, 2, ten.Sinh),
	g1("cosh", -2, 2, ten.Cosh),
	g1("tanh", -2, 2, ten.Tanh),
	g1("asinh", -2, 2, ten.Asinh),
	g1("acosh", 1.2, 3, ten.Acosh),
	g1("atanh", -0.8, 0.8, ten.Atanh),
	g1("lgamma", 0.3, 5, ten.Lgamma),
	g1("lgamma below 0", -2.8, -2.2, ten.Lgamma),
	g1("digamma", 0.3, 5, ten.Digamma),
	g1("polygamma", 0.7, 5, func(x ten) ten { return x.Polygamma(2) }),
	g1("polygamma below 0", -2.8, -2.2, func(x ten) ten { return x.Polygamma(1).Sub(x.Polygamma(0)) }),
	g1("zeta", 0.7, 5, func(x ten) ten { return x.Zeta(1.5) }),
	g2("remainder", 0.6, 0.9, func(x, y ten) ten { return x.MulScalar(-5).Remainder(y.AddScalar(1.5)) }),
	g1("erf", -2, 2, ten.Erf),
	g1("erfc", -2, 2, ten.Erfc),
	g1("sigmoid", -2, 2, ten.Sigmoid),
	g1("silu", -2, 2, ten.Silu),
	g1("softplus", -2, 2, ten.Softplus),
	g1("mish", -2, 2, ten.Mish),
	g1("gelu", -3, 3, ten.Gelu),
	g1("gelu erf", -3, 3, ten.GeluErf),
	g1("elu", -2, 2, func(x ten) ten { return x.Elu(1.5) }),
	g1("leaky relu", -2, 2, func(x ten) ten { return x.LeakyRelu(0.1) }),
	g1("affine", -2, 2, func(x ten) ten { return x.Affine(3, 4) }),
	g1("powf", 0.5, 2, func(x ten) ten { return x.PowScalar(2.5).Add(x.PowScalar(0)).Add(x.PowScalar(1)) }),
	g1("clamp", -2, 2, func(x ten) ten { return x.Clamp(-1, 0.7) }),
	g1("scalars", 0.5, 2, func(x ten) ten {
		return x.AddScalar(1).SubScalar(3).MulScalar(2).DivScalar(5).SubFrom(2).DivFrom(3).MaximumScalar(1.1).MinimumScalar(3)
	}),
	g1("cast", -2, 2, func(x ten) ten { return x.Cast(tensor.F64).Sqr() }),
	g1("narrow", -2, 2, func(x ten) ten { return x.Narrow(1, 1, 2).Sqr() }),
	g1("step", -2, 2, func(x ten) ten { return x.Step(-1, 2).Sqr() }),
	g1("get", -2, 2, func(x ten) ten { return x.Get(-1).Sqr() }),
	g1("transpose", -2, 2, func(x ten) ten { return x.T().Sqr() }),
	g1("permute", -2, 2, func(x ten) ten { return x.Unsqueeze(1).Permute(2, -3, 1).Sqr() }),
	g1("squeeze", -2, 2, func(x ten) ten { return x.Narrow(0, 1, 1).Squeeze(0).Sqr().Add(x.GetOn(-2, 2)) }),
	g1("flatten", -2, 2, func(x ten) ten { return x.Unsqueeze(1).Flatten(1, 2).Sqr().FlattenAll() }),
	g1("broadcast left", -2, 2, func(x ten) ten { return x.BroadcastLeft(2, 3).Sqr() }),
	g1("unique", -2, 2, func(x ten) ten { v, _, _ := x.Unique(); return v.Mul(v.CumSum(0)) }),
	g1("expand", -2, 2, func(x ten) ten { return x.Unsqueeze(1).Expand(3, 5, 4).Sqr() }),
	g1("reshape", -2, 2, func(x ten) ten { return x.T().Reshape(2, tensor.Inferred).Sqr() }),
	g1("unfold", -2, 2, func(x ten) ten { return x.Unfold(1, 3, 1).Sqr().Add(x.Unfold(-1, 3, 1)) }),
	g1("diagonal", -2, 2, func(x ten) ten { return x.Diagonal(1, 0, 1).Sqr() }),
	g1("diag embed", -2, 2, func(x ten) ten { return x.DiagEmbed(-1).Sqr().Add(x.DiagEmbed(1)) }),
	g1("trace", -2, 2, func(x ten) ten { return x.Trace().Sqr() }),
	g1("contiguous", -2, 2, func(x ten) ten { return x.T().Contiguous().Copy().Sqr() }),
	g1("chunk", -2, 2, func(x ten) ten { c := x.Chunk(2, 1); return c[0].Mul(c[1].Sqr()) }),
	g1("split", -2, 2, func(x ten) ten { c := x.Split([]int{1, 2}, 0); return c[0].Mul(c[1].Sqr()) }),
	g2("cat", -2, 2, func(x, y ten) ten { return tensor.Cat(-1, x, y, x.Sqr()).Sqr() }),
	g2("stack", -2, 2, func(x, y ten) ten { return tensor.Stack(1, x, y).Sqr() }),
	g1("used twice", -2, 2, func(x ten) ten { y := x.Sqr(); return y.Mul(x).Add(y.Exp()).Add(x) }),
	g1("sum", -2, 2, func(x ten) ten { return x.Sqr().Sum(0).Mul(x.Sum(-1).Sum()).Add(x.SumKeep()) }),
	g1("mean", -2, 2, func(x ten) ten { return x.Mean(1).Sqr().Add(x.Mean()) }),
	g1("prod", -2, 2, func(x ten) ten { return x.Prod(1) }),
	g1("max", -2, 2, func(x ten) ten { return x.Max(0).Sqr() }),
	g1("min", -2, 2, func(x ten) ten { return x.Min(1, 0).Sqr() }),
	g1("var", -2, 2, func(x ten) ten { return x.Var(1).Add(x.VarKeep(0, 0).Sum()) }),
	g1("std", -2, 2, func(x ten) ten { return x.Std(1).Add(x.StdKeep(0, 0).Sum()) }),
	g1("log sum exp", -2, 2, func(x ten) ten { return x.LogSumExp(1).Sqr() }),
	g1("norm", -2, 2, func(x ten) ten { return x.Norm(0).Add(x.SumSqr().Sqr()) }),
	g1("rms norm", -2, 2, func(x ten) ten { return x.RMSNorm(-1, nil, 1e-3).Mul(x) }),
	g1("layer norm", -2, 2, func(x ten) ten { return x.LayerNorm(0, nil, nil, 1e-3).Mul(x) }),
	{"rms norm by weights", [][]int{{3, 4}, {3}}, -2, 2, func(x []ten) ten { return x[0].RMSNorm(0, x[1], 1e-3).Sqr() }},
	{"layer norm by weights", [][]int{{2, 3, 4}, {4}, {4}}, -2, 2, func(x []ten) ten { return x[0].LayerNorm(2, x[1], x[2], 1e-3).Sqr() }},
	{"layer norm of one row", [][]int{{5}, {5}, {5}}, -2, 2, func(x []ten) ten { return x[0].LayerNorm(0, x[1], x[2], 1e-3).Sqr() }},
	{"all parts of a permuted tensor", [][]int{{2, 6}}, -2, 2, func(x []ten) ten {
		p := x[0].T().Split([]int{1, 2, 3}, -2)
		return p[0].Sqr().Sum().Add(p[1].Exp().Sum()).Add(p[2].Mul(p[2].Get(0)).Sum())
	}},
	{"parts that overlap, the whole and a gap", [][]int{{4, 3}}, -2, 2, func(x []ten) ten {
		y := x[0].Mul(x[0])
		return x[0].Narrow(0, 0, 2).Mul(x[0].Narrow(0, 1, 2)).Sum().Add(y.Get(0).Mul(y.Get(3)).Sum()).Add(x[0].Sqr().Sum()).Add(x[0].GetOn(1, 2).Exp().Sum())
	}},
	{"rms norm of a sum", [][]int{{3, 4}, {3, 4}, {4}}, -2, 2, func(x []ten) ten {
		y, sum := x[0].RMSNormResidual(x[1], 1, x[2], 1e-3)
		return y.Sqr().Add(sum.Mul(x[0]))
	}},
	{"layer norm of a sum, the same twice", [][]int{{3, 4}, {3}, {3}}, -2, 2, func(x []ten) ten {
		y, sum := x[0].LayerNormResidual(x[0], 0, x[1], x[2], 1e-3)
		return y.Sqr().Add(sum.Exp())
	}},
	{"layer norm of a sum, without it", [][]int{{2, 3, 5}, {2, 3, 5}, {5}, {5}}, -2, 2, func(x []ten) ten {
		y, _ := x[0].LayerNormResidual(x[1], -1, x[2], x[3], 1e-3)
		return y.Mul(x[1])
	}},
	g1("layer norm with bias", -2, 2, func(x ten) ten { return x.LayerNorm(1, nil, x.Get(0), 1e-3).Sqr() }),
	g1("cummax", -2, 2, func(x ten) ten { return x.CumMax(0).Sqr().Add(x.CumMax(1)) }),
	g1("cummin", -2, 2, func(x ten) ten { return x.CumMin(0).Sqr().Add(x.CumMin(-1)) }),
	g1("logcumsumexp", -2, 2, func(x ten) ten { return x.LogCumSumExp(0).Sqr().Add(x.LogCumSumExp(-1)) }),
	g1("max with indices", -2, 2, func(x ten) ten { v, _ := x.MaxWithIndices(0); w, _ := x.MinWithIndices(1); return v.Sqr().Sum().Add(w) }),
	{"logaddexp", [][]int{{3, 4}, {4}}, -2, 2, func(x []ten) ten { return x[0].LogAddExp(x[1]).Sqr() }},
	g1("gather", -2, 2, func(x ten) ten { return x.Gather(at(x, []int{3, 2}, 0, 3, 3, 1, 1, 2), 1).Sqr() }),
	g2("scatter", -2, 2, func(x, y ten) ten {
		return x.Scatter(at(x, []int{3, 4}, 0, 3, 3, 1, 1, 2, 2, 2, 0, 1, 2, 3), y, 1).Sqr()
	}),
	g2("scatter add", -2, 2, func(x, y ten) ten {
		return x.ScatterAdd(at(x, []int{3, 4}, 0, 2, 2, 1, 1, 2, 2, 2, 0, 1, 2, 1), y, 0).Sqr()
	}),
	g1("index select", -2, 2, func(x ten) ten { return x.IndexSelect(at(x, []int{6}, 0, 3, 3, 1, 0, 2), -1).Sqr() }),
	g2("index add", -2, 2, func(x, y ten) ten { return x.IndexAdd(at(x, []int{3}, 0, 2, 2), y, 0).Sqr() }),
	g1("embedding", -2, 2, func(x ten) ten { return x.Embedding(at(x, []int{2, 2}, 0, 2, 2, 1)).Sqr() }),
	g1("take", -2, 2, func(x ten) ten { return x.Take(at(x, []int{2, 2}, 0, 11, 11, 1)).Sqr() }),
	g1("masked fill", -2, 2, func(x ten) ten { return x.MaskedFill(x.Detach().GtScalar(0), 3).Sqr() }),
	g1("masked select", -2, 2, func(x ten) ten { return x.MaskedSelect(x.Detach().GtScalar(-1)).Sqr() }),
	g1("flip", -2, 2, func(x ten) ten { return x.Flip(0, 1).Mul(x) }),
	g1("roll", -2, 2, func(x ten) ten { return x.Roll(-1, 1).Mul(x) }),
	g1("repeat", -2, 2, func(x ten) ten { return x.Repeat(2, 1, 3).Sqr() }),
	g1("pad", -2, 2, func(x ten) ten { return x.Pad(1, 2, 1, tensor.PadConstant, 4).Sqr() }),
	g1("pad edge", -2, 2, func(x ten) ten { return x.Pad(0, 2, 1, tensor.PadEdge, 0).Sqr() }),
	g1("pad reflect", -2, 2, func(x ten) ten { return x.Pad(1, 2, 3, tensor.PadReflect, 0).Sqr() }),
	g1("pad circular", -2, 2, func(x ten) ten { return x.Pad(1, 2, 3, tensor.PadCircular, 0).Sqr() }),
	g1("tril", -2, 2, func(x ten) ten { return x.Tril(1).Add(x.Triu(-1).Sqr()) }),
	g1("index", -2, 2, func(x ten) ten {
		return x.Index(tensor.SliceFrom(1).By(-1), []int{3, 1, 3}).Add(x.Index(0, tensor.Ellipsis, tensor.NewAxis, 2)).Sqr()
	}),
	g1("index of a tensor", -2, 2, func(x ten) ten { return x.Index(at(x, []int{2, 2}, 0, 2, 2, 1)).Sqr() }),
	g1("index of a mask", -2, 2, func(x ten) ten { return x.Index(tensor.Mask(x.Detach().GtScalar(-1))).Sqr() }),
	g2("slice scatter", -2, 2, func(x, y ten) ten { return x.SliceScatter(y.Narrow(1, 1, 2), 1, 2).Sqr() }),
	{"meshgrid", [][]int{{3}, {4}}, -2, 2, func(x []ten) ten { m := tensor.Meshgrid(true, x...); return m[0].Mul(m[1]) }},
	{"matmul", [][]int{{3, 4}, {4, 2}}, -2, 2, func(x []ten) ten { return x[0].MatMul(x[1]).Sqr() }},
	{"matmul of batches", [][]int{{2, 1, 3, 4}, {3, 4, 2}}, -2, 2, func(x []ten) ten { return x[0].MatMul(x[1]) }},
	{"linear", [][]int{{2, 3, 4}, {5, 4}, {5}}, -2, 2, func(x []ten) ten { return x[0].Linear(x[1], x[2]).Sqr() }},
	{"linear of a vector", [][]int{{4}, {5, 4}}, -2, 2, func(x []ten) ten { return x[0].Linear(x[1], nil).Sqr() }},
	{"linear with a scale and a residual", [][]int{{2, 3, 4}, {5, 4}, {5}, {3, 1}}, -2, 2, func(x []ten) ten {
		return x[0].LinearWith(x[1], tensor.Epilogue{Scale: 0.5, Bias: x[2], Residual: x[3]}).Sqr()
	}},
	{"linear with gelu", [][]int{{3, 4}, {5, 4}, {5}, {3, 5}}, -2, 2, func(x []ten) ten {
		return x[0].LinearWith(x[1], tensor.Epilogue{Bias: x[2], Act: tensor.Gelu, Residual: x[3]})
	}},
	{"swiglu", [][]int{{3, 4}, {5, 4}, {5, 4}}, -2, 2, func(x []ten) ten {
		return x[0].LinearWith(x[1], tensor.Epilogue{Act: tensor.Silu, Up: x[2]})
	}},
	{"matmul as", [][]int{{3, 4}, {4, 2}}, -2, 2, func(x []ten) ten { return x[0].MatMulAs(x[1], tensor.F64).Sqr() }},
	{"matmul of a vector", [][]int{{4}, {2, 4, 3}}, -2, 2, func(x []ten) ten { return x[0].MatMul(x[1]) }},
	{"grouped matmul", [][]int{{5, 3}, {3, 3, 2}}, -2, 2, func(x []ten) ten { return x[0].GroupedMatMul(x[1], at(x[0], []int{3}, 2, 2, 4)).Sqr() }},
	{"grouped matmul of what is summed", [][]int{{3, 5}, {5, 2}}, -2, 2, func(x []ten) ten { return x[0].GroupedMatMul(x[1], at(x[0], []int{3}, 2, 2, 4)).Sqr() }},
	{"grouped matmul of columns", [][]int{{2, 3, 4}, {4, 5}}, -2, 2, func(x []ten) ten { return x[0].GroupedMatMul(x[1], at(x[0], []int{2}, 1, 5)).Sqr() }},
	{"mv", [][]int{{3, 4}, {4}}, -2, 2, func(x []ten) ten { return x[0].MV(x[1]).Sqr() }},
	{"tensordot", [][]int{{2, 3, 4}, {4, 5, 2}}, -1, 1, func(x []ten) ten { return x[0].TensorDot(x[1], []int{-1, 0}, []int{0, 2}).Sqr() }},
	{"tensordot of none", [][]int{{2, 3}, {4}}, -1, 1, func(x []ten) ten { return x[0].TensorDot(x[1], nil, nil).Sqr() }},
	{"einsum", [][]int{{2, 3, 4}, {4, 5, 2}, {5}}, -1, 1, func(x []ten) ten { return tensor.Einsum("aij,jka,k->ia", x...) }},
	{"einsum of a trace", [][]int{{3, 3}}, -1, 1, func(x []ten) ten { return tensor.Einsum("ii", x...).Sqr() }},
	g1("softmax", -2, 2, func(x ten) ten { return x.Softmax(0).Mul(x).Add(x.Softmax(-1)) }),
	g1("log softmax", -2, 2, func(x ten) ten { return x.LogSoftmax(1).Sqr() }),
	g1("cumsum", -2, 2, func(x ten) ten { return x.CumSum(0).Sqr().Add(x.CumSum(-1)) }),
	g1("cumprod", -2, 2, func(x ten) ten { return x.CumProd(0).Add(x.CumProd(1)) }),
	g1("cumprod of zeros", -2, 2, func(x ten) ten { return x.Mul(x.Detach().GtScalar(0).Cast(tensor.F64)).CumProd(1) }),
	g1("sort", -2, 2, func(x ten) ten { v, _ := x.Sort(1, true); return v.Mul(v.CumSum(1)) }),
	g1("topk", -2, 2, func(x ten) ten { v, _ := x.TopK(2, 0, true); return v.Sqr() }),
	g1("quantile", -2, 2, func(x ten) ten { return x.Quantile(0.3, 1).Sqr().Add(x.Median(0).Sum()) }),
	{"conv1d", [][]int{{2, 4, 7}, {6, 2, 3}}, -1, 1, func(x []ten) ten {
		return x[0].Conv(x[1], tensor.Convolution{Stride: []int{2}, Padding: []int{1}, Groups: 2})
	}},
	{"conv2d", [][]int{{2, 2, 5, 6}, {3, 2, 3, 2}}, -1, 1, func(x []ten) ten {
		return x[0].Conv(x[1], tensor.Convolution{Stride: []int{1, 2}, Padding: []int{1, 0}, Dilation: []int{2, 1}})
	}},
	{"conv of a turned kernel", [][]int{{1, 2, 4, 4}, {2, 3, 2, 2}}, -1, 1, func(x []ten) ten {
		return x[0].Conv(x[1].Transpose(0, 1), tensor.Convolution{})
	}},
	{"conv transpose", [][]int{{2, 4, 3, 2}, {4, 1, 3, 2}}, -1, 1, func(x []ten) ten {
		return x[0].ConvTranspose(x[1], tensor.Convolution{Stride: []int{2, 1}, Padding: []int{1, 0}, OutputPadding: []int{1, 0}, Groups: 2})
	}},
	{"max pool", [][]int{{2, 5, 7}}, -2, 2, func(x []ten) ten {
		return x[0].MaxPool(tensor.Pooling{Kernel: []int{2, 3}, Stride: []int{1, 2}, Padding: []int{1, 1}}).Sqr()
	}},
	{"avg pool", [][]int{{2, 5, 7}}, -2, 2, func(x []ten) ten {
		return x[0].AvgPool(tensor.Pooling{Kernel: []int{2, 3}}).Sqr().Sum().Add(x[0].AvgPool(tensor.Pooling{Kernel: []int{3}, Stride: []int{2}, Padding: []int{1}, Inside: true}))
	}},
	{"pools with a last window", [][]int{{2, 6, 8}}, -2, 2, func(x []ten) ten {
		p := tensor.Pooling{Kernel: []int{3, 2}, Stride: []int{2, 3}, Padding: []int{1, 1}, Ceil: true}
		inside := p
		inside.Inside = true
		return x[0].AvgPool(p).Sqr().Sum().Add(x[0].AvgPool(inside).Sqr().Sum()).Add(x[0].MaxPool(p).Sqr())
	}},
	{"adaptive avg pool", [][]int{{2, 5, 7}}, -2, 2, func(x []ten) ten {
		return x[0].AdaptiveAvgPool(2, 4).Sqr().Sum().Add(x[0].AdaptiveAvgPool(3).Sqr().Sum()).Add(x[0].AdaptiveAvgPool(5, 1)).Add(x[0].AdaptiveAvgPool(1, 1))
	}},
	{"adaptive max pool", [][]int{{2, 5, 7}}, -2, 2, func(x []ten) ten {
		return x[0].AdaptiveMaxPool(2, 4).Sqr().Sum().Add(x[0].AdaptiveMaxPool(8)).Add(x[0].AdaptiveMaxPool(tensor.Inferred, 1)).Add(x[0].AdaptiveMaxPool(1, 1).Sqr())
	}},
	{"max pool with indices", [][]int{{2, 4, 6}}, -2, 2, func(x []ten) ten {
		y, at := x[0].MaxPoolWithIndices(tensor.Pooling{Kernel: []int{2, 3}})
		return y.Sqr().MaxUnpool(at, 4, 6).Mul(x[0]).Add(y.Sum())
	}},
	{"upsample nearest", [][]int{{2, 3, 4}}, -2, 2, func(x []ten) ten { return x[0].UpsampleNearest(5, 9).Sqr() }},
	{"upsample bilinear", [][]int{{2, 3, 4}}, -2, 2, func(x []ten) ten {
		return x[0].UpsampleBilinear(5, 9, true).Sqr().Sum().Add(x[0].UpsampleBilinear(2, 7, false))
	}},
	{"upsample bilinear by factors", [][]int{{2, 3, 4}}, -2, 2, func(x []ten) ten {
		return x[0].UpsampleBilinearBy(1.5, 2.6, false).Sqr().Sum().Add(x[0].UpsampleBilinearBy(0.7, 1.3, true))
	}},
	{"upsample bicubic", [][]int{{2, 3, 4}}, -2, 2, func(x []ten) ten {
		return x[0].UpsampleBicubic(5, 9, true).Sqr().Sum().Add(x[0].UpsampleBicubic(2, 7, false)).Add(x[0].UpsampleBicubicBy(0.7, 1.8, false).Sqr().Sum())
	}},
	{"conv3d", [][]int{{2, 2, 3, 4, 3}, {2, 1, 2, 2, 2}}, -1, 1, func(x []ten) ten {
		return x[0].Conv(x[1], tensor.Convolution{Stride: []int{1, 2, 1}, Padding: []int{1, 0, 1}, Dilation: []int{1, 1, 2}, Groups: 2})
	}},
	{"conv transpose 3d", [][]int{{1, 2, 2, 2, 2}, {2, 2, 2, 1, 2}}, -1, 1, func(x []ten) ten {
		return x[0].ConvTranspose(x[1], tensor.Convolution{Stride: []int{2, 1, 1}, Padding: []int{1, 0, 0}})
	}},
	{"cholesky", [][]int{{2, 3, 3}}, -1, 1, func(x []ten) ten { return positive(x[0]).Cholesky().Sqr() }},
	{"solve triangular", [][]int{{3, 3}, {2, 3, 2}}, 0.5, 1, func(x []ten) ten {
		y := x[0].SolveTriangular(x[1], tensor.Triangle{}).Sqr()
		return y.Add(x[0].SolveTriangular(x[1], tensor.Triangle{Upper: true, Ones: true}))
	}},
	{"solve", [][]int{{2, 3, 3}, {3, 2}}, -1, 1, func(x []ten) ten { return positive(x[0]).Solve(x[1]).Sqr() }},
	{"inverse", [][]int{{2, 3, 3}}, -1, 1, func(x []ten) ten { return positive(x[0]).Inverse().Sqr() }},
	{"det", [][]int{{2, 3, 3}}, -1, 1, func(x []ten) ten { return x[0].Det().Sqr() }},
	{"log det", [][]int{{2, 3, 3}}, -1, 1, func(x []ten) ten { sign, log := x[0].LogDet(); return log.Mul(sign) }},
	{"qr", [][]int{{2, 4, 3}}, -1, 1, func(x []ten) ten { q, r := x[0].QR(); return q.Sqr().Sum().Add(r.Sqr().Sum(-1)).Add(q.Exp().Sum(-2)) }},
	{"fft", [][]int{{2, 6, 2}}, -1, 1, func(x []ten) ten { return x[0].FFT(1).Sqr().Sum().Add(x[0].FFT(0).Exp()).Add(x[0].IFFT(1).Sqr()) }},
	{"rfft", [][]int{{2, 6}}, -1, 1, func(x []ten) ten { return x[0].RFFT(1).Sqr().Sum().Add(x[0].Narrow(1, 0, 5).RFFT(-1).Exp()) }},
	{"irfft", [][]int{{2, 4, 2}}, -1, 1, func(x []ten) ten { return x[0].IRFFT(6, 1).Sqr().Sum().Add(x[0].IRFFT(7, 1).Exp()) }},
	sampling("zero", tensor.Sampling{}),
	sampling("edge", tensor.Sampling{Padding: tensor.PadEdge, AlignCorners: true}),
	sampling("reflect", tensor.Sampling{Padding: tensor.PadReflect}),
	sampling("nearest", tensor.Sampling{Mode: tensor.SampleNearest}),
	sampling("bicubic zero", tensor.Sampling{Mode: tensor.SampleBicubic}),
	sampling("bicubic edge", tensor.Sampling{Mode: tensor.SampleBicubic, Padding: tensor.PadEdge, AlignCorners: true}),
	sampling("bicubic reflect", tensor.Sampling{Mode: tensor.SampleBicubic, Padding: tensor.PadReflect, AlignCorners: true}),
	{"im2col", [][]int{{2, 5, 4}}, -2, 2, func(x []ten) ten {
		return x[0].Im2Col(tensor.Windows{Kernel: []int{2, 3}, Stride: []int{2, 1}, Padding: []int{1, 1}}).Sqr().Sum().Add(x[0].Im2Col(tensor.Windows{Kernel: []int{2}, Dilation: []int{2}}))
	}},
	{"col2im", [][]int{{12, 4}}, -2, 2, func(x []ten) ten {
		return x[0].Col2Im(tensor.Windows{Kernel: []int{2, 3}, Stride: []int{2, 1}, Padding: []int{1, 0}}, 3, 4).Sqr()
	}},
	{"conv bias", [][]int{{2, 4, 6}, {4, 2, 3}, {4}}, -1, 1, func(x []ten) ten {
		return x[0].ConvBias(x[1], x[2], tensor.Convolution{Padding: []int{1}, Groups: 2}).Sqr()
	}},
	{"conv transpose bias", [][]int{{2, 4, 3, 2}, {4, 1, 3, 2}, {2}}, -1, 1, func(x []ten) ten {
		return x[0].ConvTransposeBias(x[1], x[2], tensor.Convolution{Stride: []int{2, 1}, Groups: 2}).Sqr()
	}},
	{"layer norm over two", [][]int{{2, 3, 4}, {3, 4}, {3, 4}}, -2, 2, func(x []ten) ten {
		return x[0].LayerNormOver(tensor.Shape{3, 4}, x[1], x[2], 1e-3).Sqr()
	}},
	{"rms norm over two", [][]int{{2, 3, 4}, {3, 4}}, -2, 2, func(x []ten) ten { return x[0].RMSNormOver(tensor.Shape{3, 4}, x[1], 1e-3).Sqr() }},
	{"pad all", [][]int{{2, 3, 4}}, -2, 2, func(x []ten) ten {
		pads := [][2]int{{2, 1}, {0, 3}}
		return x[0].PadAll(pads, tensor.PadReflect, 0).Sqr().Add(x[0].PadAll(pads, tensor.PadConstant, 1)).Add(x[0].PadAll(pads, tensor.PadEdge, 1).Exp()).Add(x[0].PadAll(pads, tensor.PadCircular, 1))
	}},
	{"einsum of size 1", [][]int{{3, 1}, {3, 4}}, -2, 2, func(x []ten) ten { return tensor.Einsum("ij,ij->j", x[0], x[1]).Sqr() }},
	{"sums in a type", [][]int{{3, 4}}, -1, 1, func(x []ten) ten {
		return x[0].Sqr().SumAs(tensor.F64, 0).Add(x[0].ProdAs(tensor.F64, 0)).Add(x[0].CumSumAs(tensor.F64, 1).Sqr()).Add(x[0].CumProdAs(tensor.F64, 1))
	}},
	{"narrow from the end", [][]int{{3, 4}}, -1, 1, func(x []ten) ten { return x[0].Narrow(1, -3, 2).Sqr().Expand(2, -1, -1) }},
	{"dot", [][]int{{5}, {5}}, -2, 2, func(x []ten) ten { return x[0].Dot(x[1]) }},
}

// at returns indices in a shape, on the device of x.
func at(x ten, shape []int, list ...int64) ten { return tensor.From(x.Device(), list, shape...) }

// TestGradients compares the gradients of every operation with finite differences, for
// operands that are dense, transposed, part of something larger, and broadcast.
func TestGradients(t *testing.T) {
	d := open(t)
	for _, c := range gradients {
		for _, kind := range []string{"dense", "transposed", "narrowed", "broadcast"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				require.NoError(t, c.check(d, kind))
			})
		}
	}
}

// check compares all gradients of the formula at one point.
func (c gradient) check(d *tensor.Device, kind string) error {
	points := c.point(rand.New(rand.NewPCG(7, 8)))
	vars, loss, err := c.loss(d, kind, points)
	if err != nil {
		return err
	}
	grads, err := loss.Backward()
	if err != nil {
		return err
	}
	return differences(vars, grads, points, 1e-6, func() (*tensor.Tensor, error) {
		_, l, err := c.loss(d, kind, points)
		return l, err
	})
}

// point draws the elements of the operands.
func (c gradient) point(rng *rand.Rand) [][]float64 {
	points := make([][]float64, len(c.shapes))
	for i, s := range c.shapes {
		for range tensor.Shape(s).Count() {
			points[i] = append(points[i], c.low+(c.high-c.low)*rng.Float64())
		}
	}
	return points
}

// differences compares gradients at a point with finite differences of a function of it, within
// a part of them.
func differences(vars []*tensor.Tensor, grads *tensor.Gradients, points [][]float64, within float64, f func() (*tensor.Tensor, error)) error {
	const h = 1e-5
	for i, v := range vars {
		g := grads.Of(v)
		if g == nil { // the result does not change with it
			g = v.ZerosLike()
		}
		got, err := tensor.ToSlice[float64](g)
		if err != nil {
			return err
		}
		for k, x := range points[i] {
			var ends [2]float64
			for e, at := range [2]float64{x - h, x + h} {
				points[i][k] = at
				l, err := f()
				if err != nil {
					return err
				}
				if ends[e], err = tensor.To0[float64](l); err != nil {
					return err
				}
			}
			points[i][k] = x
			if want := (ends[1] - ends[0]) / (2 * h); math.Abs(got[k]-want) > within*(1+math.Abs(want)) {
				return fmt.Errorf("operand %d, element %d: %v, finite differences %v", i, k, got[k], want)
			}
		}
	}
	return nil
}

// loss is a weighted sum of the formula's result at a point, with the variables.
func (c gradient) loss(d *tensor.Device, kind string, points [][]float64) (vars []*tensor.Tensor, loss *tensor.Tensor, err error) {
	operands := make([]*tensor.Tensor, len(points))
	for i, p := range points {
		v := tensor.NewVar(tensor.From(d, p, c.shapes[i]...)).Tensor()
		vars = append(vars, v)
		operands[i] = laid(v, kind)
	}
	y := c.f(operands)
	if err := y.Err(); err != nil {
		return nil, nil, err
	}
	rng := rand.New(rand.NewPCG(1, 1))
	w := make([]float64, y.Count())
	for i := range w {
		w[i] = rng.Float64() + 0.5
	}
	loss = y.Mul(tensor.From(d, w, y.Shape()...)).Sum()
	return vars, loss, loss.Err()
}

// laid returns the elements of a variable in another layout, still with gradient.
func laid(v *tensor.Tensor, kind string) *tensor.Tensor {
	last := v.Rank() - 1
	switch {
	case last < 0:
		return v
	case kind == "transposed" && last > 0:
		return v.Transpose(0, last).Contiguous().Transpose(0, last)
	case kind == "narrowed":
		return tensor.Cat(last, v.ZerosLike(), v, v.ZerosLike()).Narrow(last, v.Size(last), v.Size(last))
	case kind == "broadcast":
		s := append([]int{2}, v.Shape()...)
		return v.Unsqueeze(0).BroadcastTo(s...).Get(1)
	}
	return v
}

// The cases of training and of variables.
func TestBackward(t *testing.T) {
	d := open(t)
	x := tensor.NewVar(tensor.From(d, []float32{3, 1, 4}))
	y := x.Tensor().Sqr().Add(x.Tensor().MulScalar(5)).AddScalar(4)
	require.Equal(t, []float32{28, 10, 40}, list[float32](t, y))
	g, err := y.Backward()
	require.NoError(t, err)
	require.Equal(t, []float32{11, 7, 13}, list[float32](t, g.Of(x.Tensor())))
	require.Equal(t, 1, g.Len())
	require.Nil(t, g.Of(y))

	_, err = tensor.From(d, []float32{1}).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	_, err = tensor.Map(func(x float32) float32 { return x * x }, x.Tensor()).Backward()
	require.ErrorIs(t, err, tensor.ErrNoGradient)
	require.True(t, x.Tensor().Exp().RequiresGrad())
	require.False(t, x.Tensor().Exp().Detach().RequiresGrad())
	require.False(t, x.Tensor().GtScalar(1).RequiresGrad())

	require.ErrorIs(t, x.Set(tensor.From(d, []float32{1, 2})), tensor.ErrVar)
	require.ErrorIs(t, x.Set(x.Tensor().Narrow(0, 0, 3)), tensor.ErrVar)
	require.ErrorIs(t, tensor.NewVar(tensor.From(d, []int32{1})).Err(), tensor.ErrDType)

	// 100 steps of gradient descent on (x - 4.2)².
	z := tensor.NewVar(tensor.From(d, []float32{0}))
	for range 100 {
		g, err := z.Tensor().SubScalar(4.2).Sqr().Backward()
		require.NoError(t, err)
		require.NoError(t, z.Set(z.Tensor().Sub(g.Of(z.Tensor()).MulScalar(0.1))))
	}
	require.InDelta(t, 4.199999, list[float32](t, z.Tensor())[0], 1e-6)
}

// TestGradientsAtZero has operations where their slope is not one number, or beyond all.
func TestGradientsAtZero(t *testing.T) {
	d := open(t)
	zero := tensor.NewVar(tensor.From(d, []float64{0, 0, 0}))
	tiny := tensor.NewVar(tensor.From(d, []float64{3e-200, 3, 0}))
	x, y := zero.Tensor(), tiny.Tensor()
	for _, c := range []struct {
		name   string
		of     *tensor.Tensor
		dx, dy []float64 // nil is none
	}{
		{"norm", x.Norm(), []float64{0, 0, 0}, nil},
		{"std", x.Std(), []float64{0, 0, 0}, nil},
		{"hypot", x.Hypot(y), []float64{0, 0, 0}, []float64{1, 1, 0}},
		{"atan2", x.Atan2(y).MulScalar(3e-200), []float64{1, 1e-200, 0}, []float64{0, 0, 0}},
		{"pow of 0", x.Pow(y), []float64{math.Inf(1), 0, 0}, []float64{0, 0, 0}},
		{"pow to the 0", y.Pow(x), []float64{math.Log(3e-200), math.Log(3), 0}, []float64{0, 0, 0}},
	} {
		g, err := c.of.Backward()
		require.NoError(t, err, c.name)
		for of, want := range map[*tensor.Tensor][]float64{x: c.dx, y: c.dy} {
			if want != nil {
				require.InDeltaSlice(t, want, list[float64](t, g.Of(of)), 1e-12, c.name)
			}
		}
	}
}

// Where an infinite base gives 0 the exponent's gradient is its limit 0, and not 0 times infinity.
func TestGradientOfInfinitePower(t *testing.T) {
	d := open(t)
	inf := math.Inf(1)
	x := tensor.NewVar(tensor.From(d, []float64{inf, inf, inf})).Tensor()
	y := tensor.NewVar(tensor.From(d, []float64{-1, 1, 0.5})).Tensor()
	g, err := x.Pow(y).Backward()
	require.NoError(t, err)
	require.Equal(t, []float64{0, 1, 0}, list[float64](t, g.Of(x).Abs()))
	require.Equal(t, []float64{0, inf, inf}, list[float64](t, g.Of(y)))
}
