package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/scatter"
	"github.com/gokiln/kiln/runtime"
)

// produce returns a tensor of the type and on the device of t that run fills in.
func (t *Tensor) produce(op string, shape Shape, run func(out ops.View) error) *Tensor {
	return t.produceAs(op, t.dtype, shape, run)
}

// produceAs is produce of another type.
func (t *Tensor) produceAs(op string, d DType, shape Shape, run func(out ops.View) error) *Tensor {
	err := computes(t.dtype, d)
	if err != nil {
		return failed(op, err)
	}
	out, err := empty(t.dev, d, shape)
	if err == nil {
		err = run(out.view())
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.scoped(t)
}

// indices reports what is wrong with operands of which ids has indices into others.
func indices(op string, ids *Tensor, others ...*Tensor) *Tensor {
	if bad := first(op, append(others, ids)...); bad != nil {
		return bad
	}
	if err := same(others...); err != nil {
		return failed(op, err)
	}
	if err := computes(others[0].dtype); err != nil {
		return failed(op, err)
	}
	if ids.dev != others[0].dev {
		return failed(op, fmt.Errorf("%w: indices on %s, elements on %s: To brings a tensor to another device", ErrDevice, ids.dev, others[0].dev))
	}
	if !ids.dtype.IsInt() {
		return failf(op, ErrDType, "indices of %s: they are integers", ids.dtype)
	}
	return nil
}

// Gather returns the elements of t whose index in dimension d is that of ids, and whose
// other indices are their own in ids: the result has the shape of ids. The index that
// stands for none, see the package's documentation, gives 0; any other that is out of range is an
// error when the device is next waited for.
func (t *Tensor) Gather(ids *Tensor, d int) *Tensor {
	const op = "gather"
	if bad := indices(op, ids, t); bad != nil {
		return bad
	}
	ids = ids.kept()
	out := t.produce(op, ids.Shape(), func(out ops.View) error { return index.Gather(t.dev.stream, out, t.view(), ids.view(), d) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{in[0].ZerosLike().ScatterAdd(ids, g, d)}
	}), t).saves(ids)
}

// Scatter returns t with the elements of src at the index of ids in dimension d, and at
// their own indices in the others; src and ids have the same shape. Where indices are
// the same the last one, in row-major order, counts. Indices out of range: see
// [Tensor.Gather]; the one that stands for none skips the element.
func (t *Tensor) Scatter(ids, src *Tensor, d int) *Tensor {
	ids = ids.kept()
	return t.scatter("scatter", ids, src, d, func(out ops.View) error {
		return scatter.Scatter(t.dev.stream, out, ids.view(), src.view(), d)
	}, gradScatter(ids, d))
}

// gradScatter gives nothing to what a later element has overwritten: elements that are
// still there have their own number.
func gradScatter(ids *Tensor, d int) backward {
	return func(g, out *Tensor, in []*Tensor) []*Tensor {
		src := in[1]
		numbers := Arange(g.dev, 0, int64(src.Count())).scoped(g).Reshape(src.Shape()...)
		last := Full(g.dev, dtype.New(int64(-1)), in[0].Shape()...).scoped(g).Scatter(ids, numbers, d)
		base := last.LtScalar(0).Where(g, g.zero())
		return []*Tensor{base, last.Gather(ids, d).Eq(numbers).Where(g.Gather(ids, d), src.ZerosLike())}
	}
}

// ScatterAdd returns t with the elements of src added where [Tensor.Scatter] puts them,
// in row-major order.
func (t *Tensor) ScatterAdd(ids, src *Tensor, d int) *Tensor {
	ids = ids.kept()
	return t.scatter("scatter_add", ids, src, d, func(out ops.View) error {
		return scatter.ScatterAdd(t.dev.stream, out, ids.view(), src.view(), d)
	}, func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g, g.Gather(ids, d)} })
}

// IndexAdd returns t with the parts of src along dimension d added at the indices of ids,
// which has one dimension.
func (t *Tensor) IndexAdd(ids, src *Tensor, d int) *Tensor {
	ids = ids.kept()
	return t.scatter("index_add", ids, src, d, func(out ops.View) error {
		return scatter.IndexAdd(t.dev.stream, out, ids.view(), src.view(), d)
	}, func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g, g.IndexSelect(ids, d)} })
}

// scatter returns a copy of t that run changes.
func (t *Tensor) scatter(op string, ids, src *Tensor, d int, run func(out ops.View) error, back backward) *Tensor {
	if bad := indices(op, ids, t, src); bad != nil {
		return bad
	}
	out := t.Detach().Copy()
	if out.err != nil {
		return failed(op, out.err.Err)
	}
	if err := run(out.view()); err != nil {
		return failed(op, err)
	}
	return out.from(op, back, t, src).saves(ids)
}

// IndexSelect returns the parts of t along dimension d at the indices of ids, which has
// one dimension. Indices out of range: see [Tensor.Gather].
func (t *Tensor) IndexSelect(ids *Tensor, d int) *Tensor {
	const op = "index_select"
	if bad := indices(op, ids, t); bad != nil {
		return bad
	}
	ids = ids.kept()
	i, err := layout.Dim(d, t.Rank())
	if err != nil {
		return failed(op, err)
	}
	shape := t.Shape()
	shape[i] = ids.Count()
	out := t.produce(op, shape, func(out ops.View) error { return index.IndexSelect(t.dev.stream, out, t.view(), ids.view(), i) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{in[0].ZerosLike().IndexAdd(ids, g, i)}
	}), t).saves(ids)
}

// Embedding returns the rows of t, which has two dimensions, at the indices of ids: the
// result has the shape of ids and the dimension of a row.
func (t *Tensor) Embedding(ids *Tensor) *Tensor {
	const op = "embedding"
	if bad := indices(op, ids, t); bad != nil {
		return bad
	}
	ids = ids.kept()
	if t.Rank() != 2 {
		return failf(op, ErrRank, "%v: a table has 2 dimensions", t.layout.Shape())
	}
	out := t.produce(op, append(ids.Shape(), t.Size(1)), func(out ops.View) error { return index.Embedding(t.dev.stream, out, t.view(), ids.view()) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{in[0].ZerosLike().IndexAdd(ids.FlattenAll(), g.Reshape(ids.Count(), in[0].Size(1)), 0)}
	}), t).saves(ids)
}

// Take returns the elements of t that ids count in row-major order: the result has the
// shape of ids. Indices out of range: see [Tensor.Gather].
func (t *Tensor) Take(ids *Tensor) *Tensor {
	const op = "take"
	if bad := indices(op, ids, t); bad != nil {
		return bad
	}
	ids = ids.kept()
	flat := t.FlattenAll()
	if flat.err != nil {
		return failed(op, flat.err.Err)
	}
	out := t.produce(op, ids.Shape(), func(out ops.View) error { return index.Take(t.dev.stream, out, flat.view(), ids.view()) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{in[0].ZerosLike().ScatterAdd(ids.FlattenAll(), g.FlattenAll(), 0)}
	}), flat).saves(ids)
}

// MaskedFill is x where mask, integers, is not 0, and t elsewhere. The mask is broadcast.
func (t *Tensor) MaskedFill(mask *Tensor, x float64) *Tensor {
	const op = "masked_fill"
	if bad := indices(op, mask, t); bad != nil {
		return bad
	}
	s, err := t.number(x)
	if err != nil {
		return failed(op, err)
	}
	m := mask.kept().BroadcastTo(t.Shape()...)
	if m.err != nil {
		return failed(op, m.err.Err)
	}
	out := t.produce(op, t.Shape(), func(out ops.View) error {
		return index.MaskedFill(t.dev.stream, out, m.view(), t.view(), s.Convert(t.dtype))
	})
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g.MaskedFill(m, 0)} }), t).saves(m)
}

// MaskedSelect returns the elements of t where mask, integers of the same shape, is not 0,
// in row-major order. It waits for the mask, whose numbers the size of the result depends
// on.
func (t *Tensor) MaskedSelect(mask *Tensor) *Tensor {
	const op = "masked_select"
	if bad := indices(op, mask, t); bad != nil {
		return bad
	}
	mask = mask.kept()
	if !mask.layout.Shape().Equal(t.layout.Shape()) {
		return failf(op, ErrShape, "a mask of %v for %v", mask.layout.Shape(), t.layout.Shape())
	}
	sel, err := index.Select(t.dev.stream, mask.view())
	if err != nil {
		return failed(op, err)
	}
	out := t.produce(op, Shape{sel.Count()}, func(out ops.View) error { return sel.Masked(t.dev.stream, out, t.view()) })
	if err := sel.Free(t.dev.stream); err != nil && out.err == nil {
		return failed(op, err)
	}
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		at := mask.beside(g).FlattenAll().Nonzero().Squeeze(1)
		return []*Tensor{in[0].ZerosLike().FlattenAll().Scatter(at, g, 0).Reshape(in[0].Shape()...)}
	}), t).saves(mask)
}

// Nonzero returns the indices of the elements of t, integers, that are not 0: a row for
// each, in order, with an index for each dimension, of type I64. It waits for t.
func (t *Tensor) Nonzero() *Tensor {
	const op = "nonzero"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if !t.dtype.IsInt() {
		return t.NeScalar(0).Nonzero()
	}
	sel, err := index.Select(t.dev.stream, t.view())
	if err != nil {
		return failed(op, err)
	}
	out, err := empty(t.dev, I64, Shape{sel.Count(), t.Rank()})
	if err == nil {
		err = sel.Nonzero(t.dev.stream, out.view())
	}
	if wrong := sel.Free(t.dev.stream); err == nil {
		err = wrong
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.without(t)
}

// OneHot returns rows of n numbers of type dt, one for each index in t: on at the index
// and off elsewhere. The index that stands for none gives a row of
// off.
func (t *Tensor) OneHot(n int, dt DType, on, off float64) *Tensor {
	const op = "one_hot"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if !t.dtype.IsInt() {
		return failf(op, ErrDType, "indices of %s: they are integers", t.dtype)
	}
	out, err := empty(t.dev, dt, append(t.Shape(), n))
	if err == nil {
		err = index.OneHot(t.dev.stream, out.view(), t.view(), dtype.FromFloat(dt, on), dtype.FromFloat(dt, off))
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.without(t)
}

// Flip turns dimensions backwards.
func (t *Tensor) Flip(dims ...int) *Tensor {
	const op = "flip"
	if bad := first(op, t); bad != nil {
		return bad
	}
	out := t.produce(op, t.Shape(), func(out ops.View) error { return index.Flip(t.dev.stream, out, t.view(), dims...) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g.Flip(dims...)} }), t)
}

// Roll moves the elements by shift positions along dimension d; what leaves at one end comes
// in at the other.
func (t *Tensor) Roll(shift, d int) *Tensor {
	const op = "roll"
	if bad := first(op, t); bad != nil {
		return bad
	}
	out := t.produce(op, t.Shape(), func(out ops.View) error { return index.Roll(t.dev.stream, out, t.view(), shift, d) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g.Roll(-shift, d)} }), t)
}

// Repeat is t so many times along each dimension. Counts are for the last dimensions; if
// there are more than t has, t gets dimensions of size 1 in front.
func (t *Tensor) Repeat(counts ...int) *Tensor {
	const op = "repeat"
	if bad := first(op, t); bad != nil {
		return bad
	}
	for _, n := range counts {
		if n < 0 {
			return failf(op, ErrArgument, "counts %v", counts)
		}
	}
	for len(counts) < t.Rank() {
		counts = append([]int{1}, counts...)
	}
	x := t
	for x.Rank() < len(counts) {
		x = x.Unsqueeze(0)
	}
	shape := x.Shape()
	for d := range shape {
		shape[d] *= counts[d]
	}
	out := x.produce(op, shape, func(out ops.View) error { return index.Repeat(t.dev.stream, out, x.view(), counts...) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		// Each dimension as the count and the size, of which the first is added up.
		var split, sums []int
		for d, n := range in[0].Shape() {
			split, sums = append(split, counts[d], n), append(sums, 2*d)
		}
		return []*Tensor{g.Reshape(split...).Sum(sums...)}
	}), x)
}

// Tril is t with 0 above diagonal k of the last two dimensions. Diagonal 1 is the one
// above the main diagonal.
func (t *Tensor) Tril(k int) *Tensor { return t.triangle("tril", k, index.Tril, (*Tensor).Tril) }

// Triu is t with 0 below diagonal k of the last two dimensions.
func (t *Tensor) Triu(k int) *Tensor { return t.triangle("triu", k, index.Triu, (*Tensor).Triu) }

// triangle is index.Tril or index.Triu.
type triangle = func(s *runtime.Stream, out, x ops.View, k int) error

func (t *Tensor) triangle(op string, k int, run triangle, again func(*Tensor, int) *Tensor) *Tensor {
	if bad := first(op, t); bad != nil {
		return bad
	}
	out := t.produce(op, t.Shape(), func(out ops.View) error { return run(t.dev.stream, out, t.view(), k) })
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{again(g, k)} }), t)
}

// Eye returns the identity matrix of n rows.
func Eye(d *Device, dt DType, n int) *Tensor {
	const op = "eye"
	t, err := empty(d, dt, Shape{n, n})
	if err == nil {
		err = index.Eye(d.stream, t.view())
	}
	if err != nil {
		return t.dropped(op, err)
	}
	return t
}

// Tril2 returns the matrix of n rows with ones on and below the diagonal.
func Tril2(d *Device, dt DType, n int) *Tensor { return Ones(d, dt, n, n).Tril(0) }

// Triu2 returns the matrix of n rows with ones on and above the diagonal.
func Triu2(d *Device, dt DType, n int) *Tensor { return Ones(d, dt, n, n).Triu(0) }

// Meshgrid returns a grid for each of the tensors of one dimension: grid i has the
// numbers of tensor i along dimension i. With xy the first two dimensions are swapped. Of what
// makes no grids each grid holds the error.
func Meshgrid(xy bool, list ...*Tensor) []*Tensor {
	const op = "meshgrid"
	if len(list) < 2 {
		return []*Tensor{failf(op, ErrArgument, "%d tensors, want 2 or more", len(list))}
	}
	if bad := first(op, list...); bad != nil {
		return allBad(bad, len(list))
	}
	at := func(i int) int { // the dimension of tensor i
		if xy && i < 2 {
			return 1 - i
		}
		return i
	}
	shape := make(Shape, len(list))
	for i, t := range list {
		if t.Rank() != 1 {
			return allBad(failf(op, ErrRank, "tensor %d of %v, want one dimension", i, t.layout.Shape()), len(list))
		}
		shape[at(i)] = t.Count()
	}
	out := make([]*Tensor, len(list))
	for i, t := range list {
		one := slices.Repeat(Shape{1}, len(list))
		one[at(i)] = t.Count()
		out[i] = t.Reshape(one...).BroadcastTo(shape...)
	}
	return out
}

// SliceScatter returns t with src in place of the part of dimension d that begins at
// start.
func (t *Tensor) SliceScatter(src *Tensor, d, start int) *Tensor {
	const op = "slice_scatter"
	if bad := first(op, t, src); bad != nil {
		return bad
	}
	out := t.Detach().Copy()
	if err := out.SliceSet(src.Detach(), d, start); err != nil {
		return failed(op, err)
	}
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		n := in[1].Size(d)
		return []*Tensor{g.SliceScatter(in[1].ZerosLike(), d, start), g.Narrow(d, start, n)}
	}), t, src)
}
