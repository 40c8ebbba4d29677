package tensor

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/ops/sort"
	"github.com/gokiln/kiln/runtime"
)

// What works along one dimension: softmax, cumulative sums, sorting.

// axis is the number of dimension d, or what is wrong with the tensor or with d.
func (t *Tensor) axis(op string, d int) (i int, bad *Tensor) {
	if bad := first(op, t); bad != nil {
		return 0, bad
	}
	i, err := layout.Dim(d, t.Rank())
	if err != nil {
		return 0, failed(op, err)
	}
	return i, nil
}

// along runs an operation of one operand along dimension d, whose result has its shape.
func (t *Tensor) along(op string, d int, back func(g, x, out *Tensor, d int) *Tensor, run func(out ops.View, d int) error) *Tensor {
	d, bad := t.axis(op, d)
	if bad != nil {
		return bad
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err)
	}
	out := t.produce(op, t.Shape(), func(out ops.View) error { return run(out, d) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor { return back(g, x, out, d) }), t)
}

// Softmax is exp(t) over its sum along dimension d, without overflow.
func (t *Tensor) Softmax(d int) *Tensor {
	return t.along("softmax", d, gradSoftmax, func(out ops.View, d int) error {
		return rowsops.Softmax(t.dev.stream, out, t.view(), d, false)
	})
}

func gradSoftmax(g, x, out *Tensor, d int) *Tensor {
	p := g.Mul(out)
	return p.Sub(out.Mul(p.SumKeep(d)))
}

// LogSoftmax is the logarithm of [Tensor.Softmax], as exact where that is near 0.
func (t *Tensor) LogSoftmax(d int) *Tensor {
	return t.along("log_softmax", d, gradLogSoftmax, func(out ops.View, d int) error {
		return rowsops.Softmax(t.dev.stream, out, t.view(), d, true)
	})
}

func gradLogSoftmax(g, x, out *Tensor, d int) *Tensor {
	return g.Sub(out.Exp().Mul(g.SumKeep(d)))
}

// scanned runs a scan along dimension d.
func (t *Tensor) scanned(op *rowsops.Scan, d int, back func(g, x, out *Tensor, d int) *Tensor) *Tensor {
	return t.along(op.Name(), d, back, func(out ops.View, d int) error { return op.Run(t.dev.stream, out, t.view(), d) })
}

// CumSum is the sum of the elements along dimension d up to each: of type I64 for integers, as
// with [Tensor.Sum].
func (t *Tensor) CumSum(d int) *Tensor { return t.wide().scanned(rowsops.CumSum, d, gradCumSum) }

// CumSumAs is [Tensor.CumSum] of the elements as numbers of type dt: see [Tensor.SumAs].
func (t *Tensor) CumSumAs(dt DType, d int) *Tensor {
	return t.as("cumsum", dt).scanned(rowsops.CumSum, d, gradCumSum)
}

func gradCumSum(g, x, out *Tensor, d int) *Tensor { return g.Flip(d).CumSum(d).Flip(d) }

// CumProd is the product of the elements along dimension d up to each: of type I64 for integers,
// as with [Tensor.Sum]. Its gradient takes room for a square of the dimension.
func (t *Tensor) CumProd(d int) *Tensor { return t.wide().scanned(rowsops.CumProd, d, gradCumProd) }

// CumProdAs is [Tensor.CumProd] of the elements as numbers of type dt: see [Tensor.SumAs].
func (t *Tensor) CumProdAs(dt DType, d int) *Tensor {
	return t.as("cumprod", dt).scanned(rowsops.CumProd, d, gradCumProd)
}

// wide is the tensor in the type that integers are added up in.
func (t *Tensor) wide() *Tensor {
	if t != nil && t.dtype.IsInt() {
		return t.Cast(I64)
	}
	return t
}

// gradCumProd adds up, for each element, the products without it: those of rows in which
// the element is 1, so that elements may be 0.
func gradCumProd(g, x, out *Tensor, d int) *Tensor {
	if g.err != nil {
		return g
	}
	n := x.Size(d)
	last := x.Transpose(d, -1)
	square := last.Unsqueeze(-2).BroadcastTo(append(last.Shape()[:last.Rank()-1], n, n)...)
	without := Eye(x.dev, U8, n).scoped(g, x).Where(square.OnesLike(), square).CumProd(-1).Triu(0)
	return without.Mul(g.Transpose(d, -1).Unsqueeze(-2)).Sum(-1).Transpose(d, -1)
}

// CumMax is the largest element along dimension d up to each, NaN behind one. Of elements
// that tie the last has the gradient.
func (t *Tensor) CumMax(d int) *Tensor { return t.scanned(rowsops.CumMax, d, gradCumBest) }

// CumMin is the smallest element along dimension d up to each, NaN behind one. Of elements
// that tie the last has the gradient.
func (t *Tensor) CumMin(d int) *Tensor { return t.scanned(rowsops.CumMin, d, gradCumBest) }

// gradCumBest gives each result's gradient to the element that it is.
func gradCumBest(g, x, out *Tensor, d int) *Tensor {
	if g.err != nil || x.Size(d) == 0 {
		return g
	}
	shape := make(Shape, x.Rank())
	for i := range shape {
		shape[i] = 1
	}
	shape[d] = x.Size(d)
	own := Arange(x.dev, uint32(0), uint32(shape[d])).scoped(x, g).Reshape(shape...)
	places := x.Eq(out).LogicalOr(x.IsNaN()).Where(own, own.zero()).CumMax(d)
	return x.ZerosLike().ScatterAdd(places, g, d)
}

// LogCumSumExp is log Σ exp(t) of the elements along dimension d up to each, without
// overflow.
func (t *Tensor) LogCumSumExp(d int) *Tensor {
	return t.scanned(rowsops.LogCumSumExp, d, gradLogCumSumExp)
}

// gradLogCumSumExp gives element i what exp(x[i] - out[k]) is of the gradients of all k from
// i on. That is added up in logarithms, those of negative gradients by themselves.
func gradLogCumSumExp(g, x, out *Tensor, d int) *Tensor {
	least := math.Inf(-1)
	some := out.NeScalar(least) // elements of which the sum is not 0
	part := func(g *Tensor) *Tensor {
		above := g.GtScalar(0)
		logs := above.Where(g, g.OnesLike()).Log().Sub(out)
		logs = above.LogicalAnd(some).Where(logs, g.FullLike(least))
		return logs.Flip(d).LogCumSumExp(d).Flip(d).Add(x).Exp()
	}
	return part(g).Sub(part(g.Neg()))
}

// MaxWithIndices is the largest elements along dimension d, NaN if one is, and where they are, of
// type U32: the first if several are. The dimension goes. Those elements alone have the
// gradient, other than with [Tensor.Max].
func (t *Tensor) MaxWithIndices(d int) (values, places *Tensor) {
	return t.most("max", d, (*Tensor).ArgMaxKeep)
}

// MinWithIndices is the smallest elements along dimension d, and where they are: see
// [Tensor.MaxWithIndices].
func (t *Tensor) MinWithIndices(d int) (values, places *Tensor) {
	return t.most("min", d, (*Tensor).ArgMinKeep)
}

func (t *Tensor) most(op string, d int, find func(*Tensor, ...int) *Tensor) (values, places *Tensor) {
	i, bad := t.axis(op, d)
	if bad != nil {
		return bad, bad
	}
	at := find(t.Detach(), i)
	return t.Gather(at, i).Squeeze(i), at.Squeeze(i).without(t)
}

// Sort sorts the elements along dimension d, the smallest or the largest first. It
// returns them and the indices that they had, of type U32. Equal elements stay in order,
// and NaN is larger than all numbers.
func (t *Tensor) Sort(d int, descending bool) (values, places *Tensor) {
	const op = "sort"
	i, bad := t.axis(op, d)
	if bad != nil {
		return bad, bad
	}
	return t.sorted(op, sort.Sort, i, t.layout.Shape()[i], descending)
}

// TopK returns the k largest elements along dimension d, the largest first, and their
// indices, of type U32; the smallest ones with smallest.
func (t *Tensor) TopK(k, d int, smallest bool) (values, places *Tensor) {
	const op = "topk"
	if bad := first(op, t); bad != nil {
		return bad, bad
	}
	i, err := layout.Dim(d, t.Rank())
	if err == nil && (k < 0 || k > t.layout.Shape()[i]) {
		err = fmt.Errorf("%w: %d of dimension %d of %v", ErrRange, k, i, t.layout.Shape())
	}
	if err != nil {
		bad := failed(op, err)
		return bad, bad
	}
	return t.sorted(op, sort.TopK, i, k, !smallest)
}

// sorter is sort.Sort or sort.TopK.
type sorter = func(s *runtime.Stream, values, indices, x ops.View, dim int, descending bool) error

// sorted returns the first k elements along dimension d in order, and their indices.
func (t *Tensor) sorted(op string, run sorter, d, k int, descending bool) (values, places *Tensor) {
	shape := t.Shape()
	if n := shape[d]; n > math.MaxUint32 { // before there is memory for them
		bad := failf(op, ErrTooLarge, "%d elements, places are %v", n, U32)
		return bad, bad
	}
	shape[d] = k
	places, err := empty(t.dev, U32, shape)
	if err != nil {
		bad := failed(op, err)
		return bad, bad
	}
	values = t.produce(op, shape, func(out ops.View) error {
		return run(t.dev.stream, out, places.view(), t.view(), d, descending)
	})
	if values.err != nil {
		return values, values
	}
	own := places.kept()
	back := grad1(func(g, x, out *Tensor) *Tensor { return x.ZerosLike().ScatterAdd(own, g, d) })
	return values.from(op, back, t).saves(own), places.without(t)
}

// ArgSort returns the indices of [Tensor.Sort].
func (t *Tensor) ArgSort(d int, descending bool) *Tensor {
	_, places := t.Sort(d, descending)
	return places
}

// Quantile is what lies q, from 0 to 1, of the way from the smallest element along
// dimension d to the largest, between two elements in proportion. The dimension goes. Of
// elements with NaN it is NaN.
func (t *Tensor) Quantile(q float64, d int) *Tensor {
	const op = "quantile"
	if bad := first(op, t); bad != nil {
		return bad
	}
	i, err := layout.Dim(d, t.Rank())
	if err == nil && !(q >= 0 && q <= 1) {
		err = fmt.Errorf("%w: %v, want 0 to 1", ErrArgument, q)
	}
	if err != nil {
		return failed(op, err)
	}
	shape := t.Shape()
	n := shape[i]
	shape = append(shape[:i:i], shape[i+1:]...)
	out := t.produce(op, shape, func(out ops.View) error { return sort.Quantile(t.dev.stream, out, t.view(), i, q) })
	return out.from(op, grad1(func(g, x, out *Tensor) *Tensor {
		at := q * float64(n-1)
		below := int(math.Floor(at))
		part := at - float64(below)
		places := x.ArgSort(i, false)
		g = g.Unsqueeze(i)
		sum := x.ZerosLike().ScatterAdd(places.Narrow(i, below, 1), g.MulScalar(1-part), i)
		if part == 0 {
			return sum
		}
		return sum.ScatterAdd(places.Narrow(i, below+1, 1), g.MulScalar(part), i)
	}), t)
}

// Median is the middle element along dimension d, or the middle of two.
func (t *Tensor) Median(d int) *Tensor { return t.Quantile(0.5, d) }
