package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
)

// viewed returns a view with a layout that make gives, whose gradient back takes to the
// shape of t.
func (t *Tensor) viewed(op string, back backward, make func(l Layout) (Layout, error)) *Tensor {
	return t.viewedBy(op, back, make)
}

// viewedBy is viewed with any gradient.
func (t *Tensor) viewedBy(op string, back gradient, make func(l Layout) (Layout, error)) *Tensor {
	if bad := firstOf(op, t); bad != nil {
		return bad
	}
	l, err := make(t.layout)
	if err == nil && t.dtype.Size() == 0 && (!l.IsContiguous() || l.Offset() != 0) {
		err = fmt.Errorf("%w: elements of %s share bytes", ErrDType, t.dtype)
	}
	if err != nil {
		return failed(op, err)
	}
	return t.with(l).from(op, back, t)
}

// Narrow is the part of dimension d from start on, n long; a negative start counts from the end. It
// is a view.
func (t *Tensor) Narrow(d, start, n int) *Tensor {
	if start < 0 {
		start += max(t.extent(d), 0)
	}
	return t.viewedBy("narrow", narrowed{d, start}, func(l Layout) (Layout, error) { return l.Narrow(d, start, n) })
}

// extent is the size of dimension d, and -1 if there is none.
func (t *Tensor) extent(d int) int {
	if t == nil || t.err != nil {
		return -1
	}
	i, err := layout.Dim(d, t.Rank())
	if err != nil {
		return -1
	}
	return t.layout.Shape()[i]
}

// Step is every step-th index of dimension d, from the first. It is a view.
func (t *Tensor) Step(d, step int) *Tensor {
	return t.viewed("step", gradView(func(l Layout) (Layout, error) { return l.Step(d, step) }), func(l Layout) (Layout, error) { return l.Step(d, step) })
}

// Get is index i of dimension 0, without the dimension. It is a view.
func (t *Tensor) Get(i int) *Tensor { return t.GetOn(0, i) }

// GetOn is index i of dimension d, without the dimension; -1 is the last index. It is a
// view.
func (t *Tensor) GetOn(d, i int) *Tensor {
	const op = "get"
	d, bad := t.axis(op, d)
	if bad != nil {
		return bad
	}
	n := t.layout.Shape()[d]
	if i < -n || i >= n {
		return failf(op, ErrIndex, "%d of dimension %d of %v", i, d, t.layout.Shape())
	}
	if i < 0 {
		i += n
	}
	return t.Narrow(d, i, 1).Squeeze(d)
}

// Transpose swaps two dimensions. It is a view.
func (t *Tensor) Transpose(a, b int) *Tensor {
	return t.viewed("transpose", func(g, _ *Tensor, _ []*Tensor) []*Tensor { return []*Tensor{g.Transpose(a, b)} }, func(l Layout) (Layout, error) { return l.Transpose(a, b) })
}

// T swaps the last two dimensions. It is a view.
func (t *Tensor) T() *Tensor {
	if t != nil && t.err == nil && t.Rank() < 2 {
		return failf("t", ErrRank, "%v has %d dimensions, want 2 or more", t.layout.Shape(), t.Rank())
	}
	return t.Transpose(-2, -1)
}

// Permute puts the dimensions in another order: dimension i of the result is dimension
// order[i]. It is a view.
func (t *Tensor) Permute(order ...int) *Tensor {
	back := func(g, _ *Tensor, _ []*Tensor) []*Tensor {
		inverse := make([]int, len(order))
		for i, d := range order {
			d, _ = layout.Dim(d, len(order)) // was checked
			inverse[d] = i
		}
		return []*Tensor{g.Permute(inverse...)}
	}
	return t.viewed("permute", back, func(l Layout) (Layout, error) { return l.Permute(order...) })
}

// BroadcastTo repeats the elements along dimensions of size 1, and along new ones in
// front. A size of -1 is the one that the dimension has. It is a view.
func (t *Tensor) BroadcastTo(shape ...int) *Tensor {
	return t.viewed("broadcast", gradBroadcast, func(l Layout) (Layout, error) {
		to := slices.Clone(shape)
		for i, n := range to {
			d := i - (len(to) - l.Rank())
			switch {
			case n != Inferred:
			case d < 0:
				return l, fmt.Errorf("%w: %v to %v: dimension %d is new and has no size to keep", ErrBroadcast, l.Shape(), Shape(shape), i)
			default:
				to[i] = l.Shape()[d]
			}
		}
		return l.BroadcastTo(to)
	})
}

// Expand is [Tensor.BroadcastTo] by its other name.
func (t *Tensor) Expand(shape ...int) *Tensor { return t.BroadcastTo(shape...) }

// BroadcastLeft repeats the tensor along new dimensions in front. It is a view.
func (t *Tensor) BroadcastLeft(dims ...int) *Tensor {
	if bad := firstOf("broadcast", t); bad != nil {
		return bad
	}
	return t.BroadcastTo(append(append([]int(nil), dims...), t.layout.Shape()...)...)
}

// Unsqueeze adds a dimension of size 1 in front of dimension d; -1 adds it at the end. It
// is a view.
func (t *Tensor) Unsqueeze(d int) *Tensor {
	return t.viewed("unsqueeze", gradReshape, func(l Layout) (Layout, error) { return l.Insert(d) })
}

// Squeeze removes dimension d if its size is 1. It is a view.
func (t *Tensor) Squeeze(d int) *Tensor {
	return t.viewed("squeeze", gradReshape, func(l Layout) (Layout, error) { return l.Remove(d) })
}

// Unfold slides a window along dimension d: the dimension counts the windows, step apart,
// and a new last one goes through a window. It is a view.
func (t *Tensor) Unfold(d, size, step int) *Tensor {
	make := func(l Layout) (Layout, error) { return l.Unfold(d, size, step) }
	return t.viewed("unfold", gradUnfold(d, size, step), make)
}

// Diagonal is the elements whose indices in dimensions a and b differ by offset: both
// dimensions go, and a new last one goes along the diagonal. It is a view.
func (t *Tensor) Diagonal(offset, a, b int) *Tensor {
	make := func(l Layout) (Layout, error) { return l.Diagonal(offset, a, b) }
	return t.viewed("diagonal", gradView(make), make)
}

// Reshape gives the elements, in row-major order, another shape, of which one size may
// be [Inferred]. It is a view where strides allow, and else a copy.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	const op = "reshape"
	if bad := firstOf(op, t); bad != nil {
		return bad
	}
	l, ok, err := t.layout.Reshape(shape)
	switch {
	case err != nil:
		return failed(op, err)
	case !ok:
		return t.Contiguous().Reshape(shape...)
	}
	return t.with(l).from(op, backward(gradReshape), t)
}

// Flatten makes one dimension of dimensions from to to, both included. A number becomes
// a tensor of one dimension.
func (t *Tensor) Flatten(from, to int) *Tensor {
	const op = "flatten"
	if bad := firstOf(op, t); bad != nil {
		return bad
	}
	if t.Rank() == 0 {
		return t.Reshape(1)
	}
	a, err := layout.Dim(from, t.Rank())
	if err != nil {
		return failed(op, err)
	}
	b, err := layout.Dim(to, t.Rank())
	if err != nil {
		return failed(op, err)
	}
	if a > b {
		return failf(op, ErrArgument, "dimensions from %d to %d", from, to)
	}
	s := t.layout.Shape()
	shape := append(append(Shape(nil), s[:a]...), s[a:b+1].Count())
	return t.Reshape(append(shape, s[b+1:]...)...)
}

// FlattenAll makes one dimension of all.
func (t *Tensor) FlattenAll() *Tensor { return t.Flatten(0, -1) }

// Chunk cuts dimension d into n parts, of which the first are longer by 1 where n does
// not divide the size; into fewer, of size 1, where it is less than n. They are views. If it
// cannot be done there are n parts, which all hold the error.
func (t *Tensor) Chunk(n, d int) []*Tensor {
	const op = "chunk"
	if bad := firstOf(op, t); bad != nil {
		return allBad(bad, n)
	}
	i, err := layout.Dim(d, t.Rank())
	if err == nil && n < 1 {
		err = fmt.Errorf("%w: %d parts", ErrArgument, n)
	}
	if err != nil {
		return allBad(failed(op, err), n)
	}
	size := t.layout.Shape()[i]
	n = max(1, min(n, size))
	out := make([]*Tensor, n)
	at := 0
	for k := range out {
		length := size / n
		if k < size%n {
			length++
		}
		out[k] = t.Narrow(i, at, length)
		at += length
	}
	return out
}

// allBad is n parts that hold an error, at least one, and no more than anybody looks at.
func allBad(bad *Tensor, n int) []*Tensor {
	return slices.Repeat([]*Tensor{bad}, max(1, min(n, 1<<16)))
}

// Split cuts dimension d into parts of such sizes, which add up to its size. They are
// views. If it cannot be done there are as many parts, which all hold the error.
func (t *Tensor) Split(sizes []int, d int) []*Tensor {
	const op = "split"
	if bad := firstOf(op, t); bad != nil {
		return allBad(bad, len(sizes))
	}
	i, err := layout.Dim(d, t.Rank())
	sum := 0
	for _, n := range sizes {
		sum += n
	}
	if err == nil && sum != t.layout.Shape()[i] {
		err = fmt.Errorf("%w: sizes %v of dimension %d of %v", ErrShape, sizes, i, t.layout.Shape())
	}
	if err != nil {
		return allBad(failed(op, err), len(sizes))
	}
	out := make([]*Tensor, len(sizes))
	at := 0
	for k, n := range sizes {
		out[k] = t.Narrow(i, at, n)
		at += n
	}
	return out
}

// Contiguous is the tensor with its elements in row-major order without gaps: itself, or
// a copy.
func (t *Tensor) Contiguous() *Tensor {
	if bad := first("contiguous", t); bad != nil || t.IsContiguous() {
		return either(bad, t)
	}
	return t.copied("contiguous")
}

// Copy is a copy of the elements, in row-major order without gaps.
func (t *Tensor) Copy() *Tensor {
	if bad := first("copy", t); bad != nil {
		return bad
	}
	return t.copied("copy")
}

func (t *Tensor) copied(op string) *Tensor {
	out, err := empty(t.dev, t.dtype, t.layout.Shape())
	if err == nil {
		err = t.dev.copyInto(out, t)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, backward(gradCopy), t)
}

// Detach is the tensor without what gradients need: none goes through it. It is a view, without
// the mark of [Tensor.NoGrad].
func (t *Tensor) Detach() *Tensor {
	if bad := firstOf("detach", t); bad != nil || t.node == nil && !t.noGrad {
		return either(bad, t)
	}
	return t.with(t.layout)
}
