package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
)

// Cat joins tensors along dimension d; all other dimensions have the same size.
func Cat(d int, list ...*Tensor) *Tensor {
	const op = "cat"
	if len(list) == 0 {
		return failf(op, ErrArgument, "no tensors")
	}
	if bad := first(op, list...); bad != nil {
		return bad
	}
	t := list[0]
	i, err := layout.Dim(d, t.Rank())
	if err == nil {
		err = same(list...)
	}
	if err != nil {
		return failed(op, err)
	}
	shape := t.Shape()
	for k, u := range list[1:] {
		want := slices.Clone(shape)
		if u.Rank() == t.Rank() {
			want[i] = u.Size(i)
		}
		if !want.Equal(u.layout.Shape()) {
			return failf(op, ErrShape, "tensor %d of %v beside %v along dimension %d", k+1, u.layout.Shape(), t.layout.Shape(), i)
		}
		if u.Size(i) > math.MaxInt-shape[i] {
			return failf(op, ErrTooLarge, "%d tensors along dimension %d, tensor %d of %v", len(list), i, k+1, u.layout.Shape())
		}
		shape[i] += u.Size(i)
	}
	out, err := empty(t.dev, t.dtype, shape)
	at := 0
	for _, u := range list {
		var l Layout
		if err == nil {
			l, err = out.layout.Narrow(i, at, u.Size(i))
		}
		if err == nil {
			err = t.dev.copyInto(out.with(l), u)
		}
		at += u.Size(i)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, gradCat(i), list...)
}

func gradCat(d int) backward {
	return func(g, out *Tensor, in []*Tensor) []*Tensor {
		sizes := make([]int, len(in))
		for i, x := range in {
			sizes[i] = x.Size(d)
		}
		return g.Split(sizes, d)
	}
}

// Stack joins tensors of one shape along a new dimension in front of dimension d.
func Stack(d int, list ...*Tensor) *Tensor {
	const op = "stack"
	if len(list) == 0 {
		return failf(op, ErrArgument, "no tensors")
	}
	if bad := first(op, list...); bad != nil {
		return bad
	}
	i, err := layout.Dim(d, list[0].Rank()+1)
	if err != nil {
		return failed(op, err)
	}
	rows := make([]*Tensor, len(list))
	for k, t := range list {
		if !t.layout.Shape().Equal(list[0].layout.Shape()) {
			return failed(op, fmt.Errorf("%w: tensor %d of %v beside %v", ErrShape, k, t.layout.Shape(), list[0].layout.Shape()))
		}
		rows[k] = t.Unsqueeze(i)
	}
	return Cat(i, rows...)
}
