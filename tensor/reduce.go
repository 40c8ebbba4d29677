package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
)

// reduce runs a reduction along dims, or along all dimensions if none are named. The
// dimensions go, or keep size 1.
func (t *Tensor) reduce(op *rowsops.Reduction, back reduced, dims []int, keep bool) *Tensor {
	return t.reduceCorrected(op, back, dims, keep, 1)
}

func (t *Tensor) reduceCorrected(op *rowsops.Reduction, back reduced, dims []int, keep bool, correction int) *Tensor {
	if bad := first(op.Name(), t); bad != nil {
		return bad
	}
	if err := op.Check(t.dtype); err != nil {
		return failed(op.Name(), err)
	}
	if len(dims) == 0 {
		dims = make([]int, t.Rank())
		for i := range dims {
			dims[i] = i
		}
	}
	dims, err := layout.Dims(dims, t.Rank())
	if err != nil {
		return failed(op.Name(), err)
	}
	kept := t.Shape()
	for _, d := range dims {
		kept[d] = 1
	}
	shape := kept
	if !keep {
		shape = slices.Clone(kept)
		for _, d := range slices.Backward(dims) {
			shape = slices.Delete(shape, d, d+1)
		}
	}
	out, err := empty(t.dev, op.Result(t.dtype), shape)
	if err == nil {
		err = op.RunCorrected(t.dev.stream, out.view(), t.view(), dims, correction)
	}
	if err != nil {
		return out.dropped(op.Name(), err)
	}
	if back == nil {
		return out.without(t)
	}
	n := 1
	for _, d := range dims {
		n *= t.layout.Shape()[d]
	}
	return out.from(op.Name(), backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{back(g.Reshape(kept...), in[0], out.Reshape(kept...), dims, n)}
	}), t)
}

// reduced is the gradient of a reduction along dims of n elements: of the result, out,
// the dimensions are there with size 1, as in g.
type reduced func(g, x, out *Tensor, dims []int, n int) *Tensor

// gradSum makes g as large as x.
func gradSum(g, x, out *Tensor, dims []int, n int) *Tensor {
	return g.BroadcastTo(x.layout.Shape()...)
}

func gradMean(g, x, out *Tensor, dims []int, n int) *Tensor {
	return g.DivScalar(float64(n)).BroadcastTo(x.layout.Shape()...)
}

// gradTied gives the elements that are the result equal parts.
func gradTied(g, x, out *Tensor, dims []int, n int) *Tensor {
	tied := x.Eq(out)
	return g.Div(tied.Cast(g.dtype).SumKeep(dims...)).where(tied)
}

// gradProd is the product of the other elements: the result over the element, but where
// elements are 0.
func gradProd(g, x, out *Tensor, dims []int, n int) *Tensor {
	zero := x.EqScalar(0)
	others := zero.Where(x.OnesLike(), x)
	p := others.ProdKeep(dims...)
	zeros := zero.Cast(x.dtype).SumKeep(dims...)
	none := p.Div(others).where(zeros.EqScalar(0)) // of the elements is 0
	one := p.where(zeros.EqScalar(1))
	return g.Mul(zero.Where(one, none))
}

func gradSumSqr(g, x, out *Tensor, dims []int, n int) *Tensor { return g.Mul(x).MulScalar(2) }

// gradNorm is 0 where the norm is.
func gradNorm(g, x, out *Tensor, dims []int, n int) *Tensor {
	return g.Mul(x).Div(out).where(out.NeScalar(0))
}

func gradLogSumExp(g, x, out *Tensor, dims []int, n int) *Tensor {
	return g.Mul(x.Sub(out).Exp().where(out.IsFinite()))
}

func gradVar(correction int) reduced {
	return func(g, x, out *Tensor, dims []int, n int) *Tensor {
		return g.Mul(x.Sub(x.MeanKeep(dims...))).MulScalar(2 / float64(n-correction))
	}
}

// gradStd is 0 where the deviation is.
func gradStd(correction int) reduced {
	return func(g, x, out *Tensor, dims []int, n int) *Tensor {
		return g.Mul(x.Sub(x.MeanKeep(dims...))).Div(out).DivScalar(float64(n - correction)).where(out.NeScalar(0))
	}
}

// sumTo adds up what a tensor of shape s was broadcast to.
func (t *Tensor) sumTo(s Shape) *Tensor {
	if t.err != nil || t.layout.Shape().Equal(s) {
		return t
	}
	lead := t.Rank() - len(s)
	var dims []int
	for d, n := range t.layout.Shape() {
		if d < lead || s[d-lead] == 1 && n != 1 {
			dims = append(dims, d)
		}
	}
	return t.SumKeep(dims...).Reshape(s...)
}

// widened is the reduction that t wants: that of I64 for integers.
func (t *Tensor) widened(op, ints *rowsops.Reduction) *rowsops.Reduction {
	if t != nil && t.dtype.IsInt() {
		return ints
	}
	return op
}

// as is the tensor in a type that numbers are reduced in.
func (t *Tensor) as(op string, dt DType) *Tensor {
	if bad := first(op, t); bad != nil {
		return bad
	}
	if err := computes(dt); err != nil {
		return failed(op, err)
	}
	return t.Cast(dt)
}

// Sum adds up the elements along dims, or all if none are named. The dimensions go. The sum of
// integers is of type I64, in which it wraps: what comparisons give can be counted. [Tensor.SumAs]
// is for other types. The sum of no elements is 0.
func (t *Tensor) Sum(dims ...int) *Tensor {
	return t.reduce(t.widened(rowsops.Sum, rowsops.SumWide), gradSum, dims, false)
}

// SumKeep is [Tensor.Sum] where the dimensions keep size 1.
func (t *Tensor) SumKeep(dims ...int) *Tensor {
	return t.reduce(t.widened(rowsops.Sum, rowsops.SumWide), gradSum, dims, true)
}

// SumAs is [Tensor.Sum] of the elements as numbers of type dt, of which the result is: integers
// wrap in it.
func (t *Tensor) SumAs(dt DType, dims ...int) *Tensor {
	return t.as("sum", dt).reduce(rowsops.Sum, gradSum, dims, false)
}

// Mean is the mean of the elements along dims, or of all; NaN of no elements. It is for
// floating-point types, as the mean of integers is none: [Tensor.Cast] says in which type it is
// wanted.
func (t *Tensor) Mean(dims ...int) *Tensor { return t.reduce(rowsops.Average, gradMean, dims, false) }

// MeanKeep is [Tensor.Mean] where the dimensions keep size 1.
func (t *Tensor) MeanKeep(dims ...int) *Tensor {
	return t.reduce(rowsops.Average, gradMean, dims, true)
}

// Prod is the product of the elements along dims, or of all; 1 of no elements. That of integers is
// of type I64, as with [Tensor.Sum].
func (t *Tensor) Prod(dims ...int) *Tensor {
	return t.reduce(t.widened(rowsops.Prod, rowsops.ProdWide), gradProd, dims, false)
}

// ProdKeep is [Tensor.Prod] where the dimensions keep size 1.
func (t *Tensor) ProdKeep(dims ...int) *Tensor {
	return t.reduce(t.widened(rowsops.Prod, rowsops.ProdWide), gradProd, dims, true)
}

// ProdAs is [Tensor.Prod] of the elements as numbers of type dt: see [Tensor.SumAs].
func (t *Tensor) ProdAs(dt DType, dims ...int) *Tensor {
	return t.as("prod", dt).reduce(rowsops.Prod, gradProd, dims, false)
}

// Max is the largest element along dims, or of all, NaN if one is; of no elements it is
// an error. Elements that tie share the gradient equally.
func (t *Tensor) Max(dims ...int) *Tensor { return t.reduce(rowsops.Max, gradTied, dims, false) }

// MaxKeep is [Tensor.Max] where the dimensions keep size 1.
func (t *Tensor) MaxKeep(dims ...int) *Tensor { return t.reduce(rowsops.Max, gradTied, dims, true) }

// Min is the smallest element along dims, or of all, NaN if one is; of no elements it is
// an error. Elements that tie share the gradient equally.
func (t *Tensor) Min(dims ...int) *Tensor { return t.reduce(rowsops.Min, gradTied, dims, false) }

// MinKeep is [Tensor.Min] where the dimensions keep size 1.
func (t *Tensor) MinKeep(dims ...int) *Tensor { return t.reduce(rowsops.Min, gradTied, dims, true) }

// Any is 1 where an element along dims, or of all, is not 0, of type U8.
func (t *Tensor) Any(dims ...int) *Tensor { return t.reduce(rowsops.AnyOf, nil, dims, false) }

// AnyKeep is [Tensor.Any] where the dimensions keep size 1.
func (t *Tensor) AnyKeep(dims ...int) *Tensor { return t.reduce(rowsops.AnyOf, nil, dims, true) }

// All is 1 where no element along dims, or of all, is 0, of type U8.
func (t *Tensor) All(dims ...int) *Tensor { return t.reduce(rowsops.AllOf, nil, dims, false) }

// AllKeep is [Tensor.All] where the dimensions keep size 1.
func (t *Tensor) AllKeep(dims ...int) *Tensor { return t.reduce(rowsops.AllOf, nil, dims, true) }

// ArgMax is where the largest element along dims, or of all, is, counted in row-major
// order of these: the first if several are, or the first NaN. It is of type U32.
func (t *Tensor) ArgMax(dims ...int) *Tensor { return t.reduce(rowsops.ArgMax, nil, dims, false) }

// ArgMaxKeep is [Tensor.ArgMax] where the dimensions keep size 1.
func (t *Tensor) ArgMaxKeep(dims ...int) *Tensor { return t.reduce(rowsops.ArgMax, nil, dims, true) }

// ArgMin is where the smallest element along dims, or of all, is: see [Tensor.ArgMax].
func (t *Tensor) ArgMin(dims ...int) *Tensor { return t.reduce(rowsops.ArgMin, nil, dims, false) }

// ArgMinKeep is [Tensor.ArgMin] where the dimensions keep size 1.
func (t *Tensor) ArgMinKeep(dims ...int) *Tensor { return t.reduce(rowsops.ArgMin, nil, dims, true) }

// Var is the variance of the elements along dims, or of all: the mean squared distance
// from the mean, divided by one less than the number of elements.
func (t *Tensor) Var(dims ...int) *Tensor { return t.reduce(rowsops.Var, gradVar(1), dims, false) }

// VarKeep is [Tensor.Var] where the dimensions keep size 1, divided by the number of
// elements less the correction.
func (t *Tensor) VarKeep(correction int, dims ...int) *Tensor {
	return t.reduceCorrected(rowsops.Var, gradVar(correction), dims, true, correction)
}

// Std is the square root of [Tensor.Var]. Its gradient is 0 where it is 0.
func (t *Tensor) Std(dims ...int) *Tensor { return t.reduce(rowsops.Std, gradStd(1), dims, false) }

// StdKeep is the square root of [Tensor.VarKeep].
func (t *Tensor) StdKeep(correction int, dims ...int) *Tensor {
	return t.reduceCorrected(rowsops.Std, gradStd(correction), dims, true, correction)
}

// LogSumExp is log Σ exp(t) along dims, or of all, without overflow; -Inf of no elements.
func (t *Tensor) LogSumExp(dims ...int) *Tensor {
	return t.reduce(rowsops.LogSumExp, gradLogSumExp, dims, false)
}

// LogSumExpKeep is [Tensor.LogSumExp] where the dimensions keep size 1.
func (t *Tensor) LogSumExpKeep(dims ...int) *Tensor {
	return t.reduce(rowsops.LogSumExp, gradLogSumExp, dims, true)
}

// Norm is √Σt² along dims, or of all. Its gradient is 0 where it is 0.
func (t *Tensor) Norm(dims ...int) *Tensor { return t.reduce(rowsops.Norm2, gradNorm, dims, false) }

// SumSqr is Σt² along dims, or of all. That of integers is of type I64, as with [Tensor.Sum].
func (t *Tensor) SumSqr(dims ...int) *Tensor {
	return t.reduce(t.widened(rowsops.SumSqr, rowsops.SumSqrWide), gradSumSqr, dims, false)
}

// Dot is the sum of the products of two tensors of one dimension and the same length, of their
// type: integers wrap.
func (t *Tensor) Dot(u *Tensor) *Tensor {
	const op = "dot"
	if bad := first(op, t, u); bad != nil {
		return bad
	}
	if t.Rank() != 1 || !t.layout.Shape().Equal(u.layout.Shape()) {
		return failf(op, ErrShape, "%v and %v", t.layout.Shape(), u.layout.Shape())
	}
	return t.Mul(u).SumAs(t.dtype)
}
