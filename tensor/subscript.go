package tensor

import (
	"fmt"
	"math"
)

// Range is a part of a dimension, for [Tensor.Index]. The zero Range is all of it.
type Range struct {
	from, to int
	bounded  bool // by to
	step     int  // 0 is 1
}

// All is all of a dimension.
var All Range

// Slice is the indices from one up to another, but not that itself. Negative ones count
// from the end of the dimension: Slice(-3, -1) is the two in front of the last. Where to
// is not behind from there are none.
func Slice(from, to int) Range { return Range{from: from, to: to, bounded: true} }

// SliceFrom is the indices from one on to the end of the dimension.
func SliceFrom(from int) Range { return Range{from: from} }

// SliceTo is the indices up to one, but not that itself.
func SliceTo(to int) Range { return Range{to: to, bounded: true} }

// By is every step-th index of the range, from the first one; with a negative step from
// the last one backwards: All.By(-1) turns a dimension around.
func (r Range) By(step int) Range {
	r.step = step
	if step == 0 {
		r.step = math.MinInt // no step that a Range has, and refused when it is used
	}
	return r
}

// String is the range as Python writes it.
func (r Range) String() string {
	text := ""
	if r.from != 0 {
		text = fmt.Sprint(r.from)
	}
	text += ":"
	if r.bounded {
		text += fmt.Sprint(r.to)
	}
	switch r.step {
	case 0:
	case math.MinInt:
		text += ":0"
	default:
		text += fmt.Sprintf(":%d", r.step)
	}
	return text
}

// bounds returns the first index in a dimension of n, and how many follow.
func (r Range) bounds(d, n int) (start, length int, err error) {
	from, to := r.from, n
	if r.bounded {
		to = r.to
	}
	if from < 0 {
		from += n
	}
	if to < 0 {
		to += n
	}
	switch {
	case from < 0 || from > n || to < 0 || to > n:
		return 0, 0, fmt.Errorf("%w: %v of dimension %d, of size %d", ErrRange, r, d, n)
	case r.step == math.MinInt:
		return 0, 0, fmt.Errorf("%w: %v: a step of 0", ErrArgument, r)
	}
	return from, max(to-from, 0), nil
}

// Axis is an item of [Tensor.Index] that picks nothing.
type Axis uint8

// The items of [Tensor.Index] that pick nothing.
const (
	Ellipsis Axis = iota // all of the dimensions that the other items leave over
	NewAxis              // a new dimension of size 1
)

// Masked is what [Mask] returns, an item of [Tensor.Index].
type Masked struct{ mask *Tensor }

// Mask stands for the indices where a tensor of integers is not 0, for [Tensor.Index].
func Mask(t *Tensor) Masked { return Masked{t} }

// Index picks a part of a tensor, with an item for each of its dimensions from the first
// on; all of those behind the last item are taken:
//
//	x.Index(1)                                  // x[1]
//	x.Index(tensor.All, tensor.SliceFrom(-2))   // x[:, -2:]
//	x.Index(tensor.Ellipsis, 0)                 // x[..., 0]
//	x.Index(tensor.NewAxis, tensor.Slice(1, 3)) // x[None, 1:3]
//	x.Index(rows, tensor.All.By(2))             // x[rows, ::2]
//	x.Index(tensor.Mask(x.GtScalar(0)))         // x[x > 0]
//
// The items are
//
//   - an int: one index, negative from the end; the dimension goes.
//   - a [Range], such as [All] and those that [Slice] makes: the dimension stays, with the
//     size of the range, which may be 0. A range that reaches beyond the dimension is an
//     error of kind [ErrRange].
//   - [Ellipsis], once: all of the dimensions that the items in front of and behind it leave.
//   - [NewAxis]: a new dimension of size 1.
//   - a []int or a [*Tensor] of integers: these indices, in this order; the dimension
//     becomes those of the tensor. Negative ones count from the end in a []int; for those
//     of a tensor see [Tensor.Gather]. Several such items pick rows and columns each by
//     themselves, as [Tensor.IndexSelect] one after the other does; [Tensor.Gather] picks
//     single elements.
//   - what [Mask] returns, of a tensor of integers with the shape of the next dimensions:
//     they become one, of the indices where the mask is not 0. It waits for the mask.
//
// With ints, ranges of positive steps, Ellipsis and NewAxis alone the result is a view:
// [Tensor.Assign] to it changes the tensor. Anything else makes a copy. The gradient goes
// to the elements that were picked, as often as they were.
func (t *Tensor) Index(items ...any) *Tensor {
	const op = "index"
	if bad := first(op, t); bad != nil {
		return bad
	}
	rest, err := covered(items, t)
	if err != nil {
		return failed(op, err)
	}
	x, d := t, 0 // what is left to do is from dimension d of x on
	for _, item := range items {
		if x.err != nil {
			break
		}
		switch item := item.(type) {
		case int:
			x = x.GetOn(d, item)
		case Range:
			x = x.ranged(d, item)
			d++
		case Axis:
			if item == Ellipsis {
				d += rest
				continue
			}
			x = x.Unsqueeze(d)
			d++
		case []int:
			x = x.IndexSelect(x.indices(d, item), d)
			d++
		case *Tensor:
			x = x.selected(d, item)
			d += item.Rank()
		case Masked:
			x = x.masked(d, item.mask)
			d++
		}
	}
	if x.err != nil {
		return failed(op, x.err.Err)
	}
	return x
}

// covered checks the number of dimensions that items are for, and returns how many are
// left for the ellipsis.
func covered(items []any, t *Tensor) (rest int, err error) {
	n, dots := 0, 0
	for i, item := range items {
		switch item := item.(type) {
		case Axis:
			if item == Ellipsis {
				dots++
			}
		case Masked:
			if bad := first("index", item.mask); bad != nil {
				return 0, bad.err
			}
			n += item.mask.Rank()
		case *Tensor:
			if bad := first("index", item); bad != nil {
				return 0, bad.err
			}
			n++
		case int, Range, []int:
			n++
		default:
			return 0, fmt.Errorf("%w: item %d is a %T: want int, Range, Ellipsis, NewAxis, []int, *Tensor or Masked", ErrArgument, i, item)
		}
	}
	switch {
	case dots > 1:
		return 0, fmt.Errorf("%w: %d ellipses: it is not known which dimensions each is for", ErrArgument, dots)
	case n > t.Rank():
		return 0, fmt.Errorf("%w: items for %d dimensions of %v", ErrRank, n, t.layout.Shape())
	}
	return t.Rank() - n, nil
}

// ranged is the range of dimension d.
func (t *Tensor) ranged(d int, r Range) *Tensor {
	start, n, err := r.bounds(d, t.Size(d))
	if err != nil {
		return failed("index", err)
	}
	x := t.Narrow(d, start, n)
	step := r.step
	if step < 0 {
		x, step = x.Flip(d), -step
	}
	if step > 1 {
		x = x.Step(d, step)
	}
	return x
}

// indices returns indices of dimension d as a tensor.
func (t *Tensor) indices(d int, list []int) *Tensor {
	n := t.Size(d)
	out := make([]int64, len(list))
	for i, x := range list {
		if x < -n || x >= n {
			return failf("index", ErrIndex, "%d of dimension %d, of size %d", x, d, n)
		}
		if x < 0 {
			x += n
		}
		out[i] = int64(x)
	}
	return From(t.dev, out).scoped(t)
}

// selected is t at the indices ids of dimension d, which becomes the dimensions of ids.
func (t *Tensor) selected(d int, ids *Tensor) *Tensor {
	x := t.IndexSelect(ids.Reshape(ids.Count()), d)
	if ids.Rank() == 1 || x.err != nil {
		return x
	}
	return x.Reshape(replace(t.layout.Shape(), d, 1, ids.layout.Shape()...)...)
}

// masked is t where mask is not 0, which is for dimensions from d on: they become one.
func (t *Tensor) masked(d int, mask *Tensor) *Tensor {
	n := mask.Rank()
	s := t.layout.Shape()[d : d+n]
	if !s.Equal(mask.layout.Shape()) {
		return failf("index", ErrShape, "a mask of %v for %v of %v", mask.layout.Shape(), s, t.layout.Shape())
	}
	if mask.dev != t.dev {
		return failed("index", fmt.Errorf("%w: a mask on %s, elements on %s: To brings a tensor to another device", ErrDevice, mask.dev, t.dev))
	}
	flat := t.Reshape(replace(t.layout.Shape(), d, n, s.Count())...)
	return flat.IndexSelect(mask.Reshape(s.Count()).Nonzero().Squeeze(1), d)
}

// replace returns a shape with other sizes in place of n of them from d on.
func replace(s Shape, d, n int, by ...int) Shape {
	out := append(append(Shape(nil), s[:d]...), by...)
	return append(out, s[d+n:]...)
}

// Dims1 returns the size of a tensor of one dimension. Another number of dimensions is an
// error of kind [ErrRank].
func (t *Tensor) Dims1() (int, error) {
	s, err := t.dims(1)
	return s[0], err
}

// Dims2 returns the sizes of a tensor of two dimensions: see [Tensor.Dims1].
func (t *Tensor) Dims2() (a, b int, err error) {
	s, err := t.dims(2)
	return s[0], s[1], err
}

// Dims3 returns the sizes of a tensor of three dimensions: see [Tensor.Dims1].
func (t *Tensor) Dims3() (a, b, c int, err error) {
	s, err := t.dims(3)
	return s[0], s[1], s[2], err
}

// Dims4 returns the sizes of a tensor of four dimensions: see [Tensor.Dims1].
func (t *Tensor) Dims4() (a, b, c, d int, err error) {
	s, err := t.dims(4)
	return s[0], s[1], s[2], s[3], err
}

// Dims5 returns the sizes of a tensor of five dimensions: see [Tensor.Dims1].
func (t *Tensor) Dims5() (a, b, c, d, e int, err error) {
	s, err := t.dims(5)
	return s[0], s[1], s[2], s[3], s[4], err
}

// dims returns the sizes of a tensor of n dimensions.
func (t *Tensor) dims(n int) (s [5]int, err error) {
	if err := t.Err(); err != nil {
		return s, err
	}
	if t.Rank() != n {
		return s, wrap("dims", fmt.Errorf("%w: %v has %d dimensions, want %d", ErrRank, t.layout.Shape(), t.Rank(), n))
	}
	copy(s[:], t.layout.Shape())
	return s, nil
}
