package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/index"
)

// MaskedScatter returns t with the elements of src, in row-major order, where mask,
// integers that are broadcast to the shape of t, is not 0. Elements of src that are left
// over stay out; too few are an error when the device is next waited for.
func (t *Tensor) MaskedScatter(mask, src *Tensor) *Tensor {
	const op = "masked_scatter"
	if bad := indices(op, mask, t, src); bad != nil {
		return bad
	}
	m := mask.beside(t, src).BroadcastTo(t.Shape()...)
	if m.err != nil {
		return failed(op, m.err.Err)
	}
	set := m.NeScalar(0)
	places := set.FlattenAll().Cast(I64).CumSum(0).SubScalar(1)
	none := Full(t.dev, dtype.FromInt(I64, -1)).scoped(m) // where the mask is 0
	taken := src.FlattenAll().Gather(set.FlattenAll().Where(places, none), 0)
	return set.Where(taken.Reshape(t.Shape()...), t)
}

// SliceAssign returns t with src in place of the part that ranges pick, one for each
// dimension from the first on. Src is broadcast to the part. Ranges have positive steps.
func (t *Tensor) SliceAssign(src *Tensor, ranges ...Range) *Tensor {
	const op = "slice_assign"
	if bad := first(op, t, src); bad != nil {
		return bad
	}
	if err := same(t, src); err != nil {
		return failed(op, err)
	}
	items := make([]any, len(ranges))
	for i, r := range ranges {
		if r.step < 0 {
			return failf(op, ErrArgument, "%v: steps are positive", r)
		}
		items[i] = r
	}
	out := t.Detach().Copy()
	part := out.Index(items...)
	if part.err != nil {
		return failed(op, part.err.Err)
	}
	if err := part.Assign(src.Detach()); err != nil {
		return failed(op, err)
	}
	return out.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		return []*Tensor{g.SliceAssign(g.zero(), ranges...), g.Index(items...)}
	}), t, src)
}

// IndexPut returns t with src at the indices of ids: tensor i of them has those of
// dimension i, negative ones from the end, and they are broadcast to one shape. Src is
// broadcast to that shape and the dimensions of t that are left. Where indices are the
// same the last element counts, or, with add, all are added to the element of t. Indices
// out of range are an error when the device is next waited for.
func (t *Tensor) IndexPut(ids []*Tensor, src *Tensor, add bool) *Tensor {
	const op = "index_put"
	at, bad := t.numbered(op, ids, src)
	if bad != nil {
		return bad
	}
	k := len(ids)
	left := t.Shape()[k:]
	rows := src.BroadcastTo(append(at.Shape(), left...)...).Reshape(append([]int{at.Count()}, left...)...)
	lines := t.Reshape(append([]int{t.Shape()[:k].Count()}, left...)...)
	at = at.FlattenAll()
	if add {
		return lines.IndexAdd(at, rows, 0).Reshape(t.Shape()...)
	}
	one := slices.Repeat([]int{1}, len(left))
	if rows.err != nil {
		return failed(op, rows.err.Err)
	}
	return lines.Scatter(at.Reshape(append([]int{at.Count()}, one...)...).BroadcastTo(rows.Shape()...), rows, 0).Reshape(t.Shape()...)
}

// numbered returns the numbers, in row-major order of the first dimensions of t, of the
// elements that indices name.
func (t *Tensor) numbered(op string, ids []*Tensor, src *Tensor) (at, bad *Tensor) {
	if bad := first(op, append([]*Tensor{t, src}, ids...)...); bad != nil {
		return nil, bad
	}
	if len(ids) < 1 || len(ids) > t.Rank() {
		return nil, failed(op, fmt.Errorf("%w: indices of %d dimensions of %v", ErrRank, len(ids), t.layout.Shape()))
	}
	for i, id := range ids {
		if bad := indices(op, id, t, src); bad != nil {
			return nil, bad
		}
		n := t.Size(i)
		place, err := empty(t.dev, I64, id.Shape())
		if err == nil {
			err = index.FromEnd(t.dev.stream, place.view(), id.view(), n)
		}
		if err != nil {
			return nil, failed(op, err)
		}
		place = place.without(id, t, src)
		if at == nil {
			at = place
		} else {
			at = at.MulScalar(float64(n)).Add(place)
		}
	}
	if at.err != nil {
		return nil, failed(op, at.err.Err)
	}
	return at, nil
}
