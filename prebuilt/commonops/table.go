package commonops

import "github.com/gokiln/kiln/tensor"

// cases is the table. What is here is what models and ordinary programs with arrays use; what
// is rare is compiled when it is met.
var cases = []definition{
	{"add", numbers, binary((*tensor.Tensor).Add)},
	{"sub", numbers, binary((*tensor.Tensor).Sub)},
	{"mul", numbers, binary((*tensor.Tensor).Mul)},
	{"div", numbers, binary((*tensor.Tensor).Div)},
	{"maximum", numbers, flat((*tensor.Tensor).Maximum)},
	{"minimum", numbers, flat((*tensor.Tensor).Minimum)},
	{"pow", single, flat((*tensor.Tensor).Pow)},

	{"eq", numbers, flat((*tensor.Tensor).Eq)},
	{"ne", numbers, flat((*tensor.Tensor).Ne)},
	{"lt", numbers, flat((*tensor.Tensor).Lt)},
	{"le", numbers, flat((*tensor.Tensor).Le)},
	{"gt", numbers, flat((*tensor.Tensor).Gt)},
	{"ge", numbers, flat((*tensor.Tensor).Ge)},
	{"scalar comparisons", numbers, func(o operands) tensors {
		x := o.of(64, 48)
		return tensors{x.EqScalar(1), x.GtScalar(0), x.LtScalar(0)}
	}},

	{"neg", numbers, unary((*tensor.Tensor).Neg)},
	{"abs", numbers, unary((*tensor.Tensor).Abs)},
	{"sqr", floats, unary((*tensor.Tensor).Sqr)},
	{"sqrt", floats, unary((*tensor.Tensor).Sqrt)},
	{"rsqrt", floats, unary((*tensor.Tensor).Rsqrt)},
	{"recip", floats, unary((*tensor.Tensor).Recip)},
	{"exp", floats, unary((*tensor.Tensor).Exp)},
	{"log", floats, unary((*tensor.Tensor).Log)},
	{"sin", single, unary((*tensor.Tensor).Sin)},
	{"cos", single, unary((*tensor.Tensor).Cos)},
	{"floor", single, unary((*tensor.Tensor).Floor)},
	{"round", single, unary((*tensor.Tensor).Round)},
	{"tanh", floats, unary((*tensor.Tensor).Tanh)},
	{"sigmoid", floats, unary((*tensor.Tensor).Sigmoid)},
	{"relu", floats, unary((*tensor.Tensor).Relu)},
	{"silu", floats, unary((*tensor.Tensor).Silu)},
	{"gelu", floats, unary((*tensor.Tensor).Gelu)},
	{"gelu erf", floats, unary((*tensor.Tensor).GeluErf)},
	{"affine", numbers, unary(func(x *tensor.Tensor) *tensor.Tensor { return x.AddScalar(1).MulScalar(2) })},
	{"clamp", numbers, unary(func(x *tensor.Tensor) *tensor.Tensor { return x.Clamp(-1, 1) })},
	{"where", numbers, func(o operands) tensors {
		return tensors{zeros(o.d, tensor.U8, 64, 48).Where(o.of(64, 48), o.of(64, 48)), o.of(64, 48).MaskedFill(zeros(o.d, tensor.U8, 64, 48), 1)}
	}},

	{"fill", numbers, func(o operands) tensors {
		return tensors{tensor.Zeros(o.d, o.dt, 64), tensor.Ones(o.d, o.dt, 64), o.of(64).FullLike(3)}
	}},
	{"arange", integer, func(o operands) tensors { return one(tensor.Arange[int64](o.d, 0, 64)) }},
	{"rand", single, func(o operands) tensors {
		return tensors{tensor.Rand(o.d, o.dt, 0, 1, 64), tensor.Randn(o.d, o.dt, 0, 1, 64)}
	}},
	{"copy", numbers, func(o operands) tensors {
		return tensors{o.of(64, 48).Copy(), o.of(64, 48).T().Contiguous(), o.of(4, 8, 16, 8).Permute(0, 2, 1, 3).Contiguous(), o.of(64, 48).Narrow(1, 4, 40).Contiguous()}
	}},
	{"cast", numbers, func(o operands) (list tensors) {
		for _, to := range append(numbers, tensor.U8) {
			if to != o.dt {
				list = append(list, o.of(64, 48).Cast(to))
			}
		}
		return append(list, zeros(o.d, tensor.U8, 64, 48).Cast(o.dt))
	}},
	{"cat", numbers, func(o operands) tensors {
		return tensors{tensor.Cat(0, o.of(64, 48), o.of(64, 48)), tensor.Cat(1, o.of(64, 48), o.of(64, 48)), tensor.Stack(0, o.of(64), o.of(64))}
	}},

	{"sum", numbers, reduction((*tensor.Tensor).Sum)},
	{"mean", floats, reduction((*tensor.Tensor).Mean)},
	{"max", numbers, reduction((*tensor.Tensor).Max)},
	{"min", single, reduction((*tensor.Tensor).Min)},
	{"var", single, reduction((*tensor.Tensor).Var)},
	{"argmax", single, reduction((*tensor.Tensor).ArgMax)},
	{"softmax", floats, rows(func(x *tensor.Tensor, _ int) tensors { return tensors{x.Softmax(1), x.LogSoftmax(1)} })},
	{"norms", floats, func(o operands) (list tensors) {
		return rows(func(x *tensor.Tensor, n int) tensors {
			return tensors{x.RMSNorm(1, o.of(n), 1e-5), x.LayerNorm(1, o.of(n), o.of(n), 1e-5)}
		})(o)
	}},
	{"cumsum", single, rows(func(x *tensor.Tensor, _ int) tensors { return one(x.CumSum(1)) })},

	{"matmul", floats, func(o operands) tensors {
		return tensors{
			o.of(8, 8).MatMul(o.of(8, 8)), o.of(64, 128).MatMul(o.of(128, 96)), o.of(64, 128).MatMul(o.of(96, 128).T()),
			o.of(128, 64).T().MatMul(o.of(128, 96)), o.of(1, 256).MatMul(o.of(256, 256)), o.of(1, 256).MatMul(o.of(256, 256).T()),
			o.of(256, 256).MV(o.of(256)), o.of(4, 32, 64).MatMul(o.of(4, 64, 32)),
		}
	}},
	{"conv", single, func(o operands) tensors {
		one, two := tensor.Convolution{}, tensor.Convolution{Stride: []int{2, 2}, Padding: []int{1, 1}}
		same := tensor.Convolution{Padding: []int{1, 1}}
		x := o.of(1, 16, 16, 16)
		return tensors{x.Conv(o.of(32, 16, 1, 1), one), x.Conv(o.of(32, 16, 3, 3), same), x.Conv(o.of(32, 16, 3, 3), two), o.of(1, 3, 32, 32).Conv(o.of(16, 3, 3, 3), same)}
	}},
	{"pool", single, func(o operands) tensors {
		p := tensor.Pooling{Kernel: []int{2, 2}, Stride: []int{2, 2}}
		return tensors{o.of(1, 8, 16, 16).MaxPool(p), o.of(1, 8, 16, 16).AvgPool(p)}
	}},
	{"index", numbers, func(o operands) tensors {
		x := o.of(64, 48)
		return tensors{x.Embedding(o.ids(16)), x.IndexSelect(o.ids(16), 0), x.IndexSelect(o.ids(16), 1), x.Gather(o.ids(16).Reshape(4, 4), 1)}
	}},
	{"index add", floats, func(o operands) tensors {
		return one(o.of(64, 48).IndexAdd(o.ids(16), o.of(16, 48), 0))
	}},
	{"triangle", single, func(o operands) tensors { return tensors{o.of(32, 32).Tril(0), o.of(32, 32).Triu(1)} }},
	{"topk", single, func(o operands) tensors {
		values, indices := o.of(8, 256).TopK(5, 1, false)
		return tensors{values, indices}
	}},
}
