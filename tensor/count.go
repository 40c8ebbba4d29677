package tensor

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index"
)

// Bincount returns how many elements of t, integers, are 0, 1 and so on, of type U32: n
// numbers, or, if n is 0, up to the largest element, which is waited for. Elements out of
// range are an error when the device is next waited for; the index that stands for none
// counts nowhere.
func (t *Tensor) Bincount(n int) *Tensor {
	const op = "bincount"
	if bad := indices(op, t, t); bad != nil {
		return bad
	}
	n, err := t.binsFor(n)
	if err != nil {
		return failed(op, err)
	}
	return t.counted(op, n, func(counts ops.View) error { return index.Bincount(t.dev.stream, counts, t.view()) })
}

// BincountOf returns the sums of the elements of weights whose indices in t, of the same
// shape, are 0, 1 and so on: otherwise it is as [Tensor.Bincount].
func (t *Tensor) BincountOf(weights *Tensor, n int) *Tensor {
	const op = "bincount"
	if bad := indices(op, t, weights); bad != nil {
		return bad
	}
	if !t.layout.Shape().Equal(weights.layout.Shape()) {
		return failf(op, ErrShape, "weights of %v for %v", weights.layout.Shape(), t.layout.Shape())
	}
	n, err := t.binsFor(n)
	if err != nil {
		return failed(op, err)
	}
	return Zeros(t.dev, weights.dtype, n).scoped(t, weights).ScatterAdd(t.Detach().FlattenAll(), weights.FlattenAll(), 0)
}

// binsFor is how many bins there are for indices.
func (t *Tensor) binsFor(n int) (int, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("%w: %d bins", ErrArgument, n)
	case n > 0 || t.Count() == 0:
		return n, nil
	}
	most, err := t.Max().Item()
	if err != nil {
		return 0, err
	}
	if most.Int() >= math.MaxInt32 {
		return 0, fmt.Errorf("%w: bins up to %v", ErrTooLarge, most)
	}
	return max(0, int(most.Int())) + 1, nil
}

// Histc returns how many elements of t are in each of n parts, of one size, of the numbers
// from low to high, of type U32. The last part has high as well; numbers outside and NaN
// count nowhere.
func (t *Tensor) Histc(n int, low, high float64) *Tensor {
	const op = "histc"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if n < 1 || !(low < high) || math.IsInf(high-low, 0) {
		return failf(op, ErrArgument, "%d parts from %v to %v", n, low, high)
	}
	return t.counted(op, n, func(counts ops.View) error { return index.Histc(t.dev.stream, counts, t.view(), low, high) })
}

// counted returns n counters, which run adds to.
func (t *Tensor) counted(op string, n int, run func(counts ops.View) error) *Tensor {
	counts := Zeros(t.dev, U32, n)
	if counts.err != nil {
		return failed(op, counts.err.Err)
	}
	if err := run(counts.view()); err != nil {
		return failed(op, err)
	}
	return counts.without(t)
}

// SearchSorted returns for each element of x where it belongs in t, which is sorted along
// its last dimension: how many elements are less, or, with right, not more, of type U32. T
// has one dimension, or the others of x: then each of its lines is for those of x. NaN is
// more than all numbers.
func (t *Tensor) SearchSorted(x *Tensor, right bool) *Tensor {
	const op = "searchsorted"
	if bad := first(op, t, x); bad != nil {
		return bad
	}
	if err := same(t, x); err != nil {
		return failed(op, err)
	}
	out, err := empty(t.dev, U32, x.Shape())
	if err == nil {
		err = index.SearchSorted(t.dev.stream, out.view(), x.view(), t.view(), right)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.without(t, x)
}

// Bucketize returns for each element of t where it belongs among bounds, of one dimension
// and sorted: see [Tensor.SearchSorted].
func (t *Tensor) Bucketize(bounds *Tensor, right bool) *Tensor {
	if bad := first("bucketize", t, bounds); bad != nil {
		return bad
	}
	if bounds.Rank() != 1 {
		return failf("bucketize", ErrRank, "bounds of %v, want one dimension", bounds.layout.Shape())
	}
	return bounds.SearchSorted(t, right)
}

// Unique returns the different elements of t in order, in one dimension, where each
// element of t is among them, of type I64 and the shape of t, and how often each one is
// there, of type I64. Each NaN differs from all others. It waits for t. The gradient of
// the values goes to the first one of equal elements.
func (t *Tensor) Unique() (values, inverse, counts *Tensor) {
	const op = "unique"
	if bad := first(op, t); bad != nil {
		return bad, bad, bad
	}
	n := t.Count()
	if n == 0 {
		return t.FlattenAll(), Zeros(t.dev, I64, t.Shape()...).scoped(t), Zeros(t.dev, I64, 0).scoped(t)
	}
	sorted, places := t.Detach().FlattenAll().Sort(0, false)
	begins := Cat(0, Ones(t.dev, U8, 1).scoped(t), sorted.Narrow(0, 1, max(n-1, 0)).Ne(sorted.Narrow(0, 0, max(n-1, 0))))
	number := begins.Cast(I64).CumSum(0).SubScalar(1)
	inverse = number.ZerosLike().Scatter(places, number, 0).Reshape(t.Shape()...)
	first := begins.Nonzero()
	if first.err != nil {
		bad := failed(op, first.err.Err)
		return bad, bad, bad
	}
	first = first.Squeeze(1)
	inverse = inverse.without(t)
	behind := Cat(0, first.Narrow(0, 1, first.Count()-1), Full(t.dev, dtype.FromInt(I64, int64(n)), 1).scoped(t))
	counts = behind.Sub(first).without(t)
	if t.RequiresGrad() {
		return t.FlattenAll().IndexSelect(places.IndexSelect(first, 0), 0), inverse, counts
	}
	return sorted.IndexSelect(first, 0).without(t), inverse, counts
}
