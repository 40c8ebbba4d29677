package tensor

import (
	"fmt"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/scatter"
)

// copyInto copies the elements of src, of the same shape, type and device, over those of
// dst.
func (d *Device) copyInto(dst, src *Tensor) error {
	if dst.buf == src.buf && dst.buf != nil {
		src = src.Detach().Copy() // the two may overlap
		if src.err != nil {
			return src.err
		}
	}
	to, err := dst.stored()
	if err != nil {
		return err
	}
	from, err := src.stored()
	if err != nil {
		return err
	}
	return elementwise.Copy(d.stream, to, from)
}

// stored is the tensor as copies take it: types for storage only as bytes. Of a type whose
// elements share bytes it is an error if they do not begin at the first bit of memory and
// follow each other.
func (t *Tensor) stored() (ops.View, error) {
	v := t.view()
	switch {
	case t.dtype.Computes():
	case t.dtype.Size() == 1:
		v.DType = U8
	case !t.IsContiguous() || t.layout.Offset() != 0:
		return v, fmt.Errorf("%w: elements of %s share bytes: only whole tensors are copied", ErrDType, t.dtype)
	default:
		v.DType, v.Layout = U8, layout.Contiguous(Shape{t.dtype.Bytes(t.Count())})
	}
	return v, nil
}

// inPlace reports why the elements of t cannot be changed one by one.
func (t *Tensor) inPlace(op string) error {
	if bad := made(op, t); bad != nil {
		return bad.err
	}
	if t.layout.Overlaps() {
		return failf(op, ErrArgument, "indices of the tensor share elements, as it is broadcast: Copy it first").err
	}
	return nil
}

// ConstSet sets all elements to x, which is converted to their type. It changes the
// memory that views share: see [Tensor.Assign].
func (t *Tensor) ConstSet(x Scalar) error {
	const op = "const set"
	if bad := made(op, t); bad != nil {
		return bad.err
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err).err
	}
	if t.buf == nil {
		return nil
	}
	if err := t.renew(); err != nil {
		return wrapped(op, err)
	}
	return t.changed(op, elementwise.Fill(t.dev.stream, t.view(), x.Convert(t.dtype)))
}

// ZeroSet sets all elements to 0: see [Tensor.ConstSet].
func (t *Tensor) ZeroSet() error { return t.ConstSet(dtype.Zero(F32)) }

// OneSet sets all elements to 1: see [Tensor.ConstSet].
func (t *Tensor) OneSet() error { return t.ConstSet(dtype.One(F32)) }

// Assign copies the elements of src, which is broadcast to the shape of t, over those of
// t. It changes the memory that views share, and is not recorded for gradients: those that need the
// elements that were there before, and those that would go through them, are an error of kind
// [ErrChanged] of [Tensor.Backward], which names the line that needs them and the line that has
// changed them.
func (t *Tensor) Assign(src *Tensor) error {
	const op = "assign"
	if err := t.inPlace(op); err != nil {
		return err
	}
	if bad := first(op, src); bad != nil {
		return bad.err
	}
	if err := same(t, src); err != nil {
		return failed(op, err).err
	}
	b := src.Detach().BroadcastTo(t.layout.Shape()...)
	if b.err != nil {
		return failed(op, b.err.Err).err
	}
	if t.buf == nil {
		return nil
	}
	if b.buf == t.buf {
		b = b.Copy() // the two may overlap
	}
	if b.err != nil {
		return b.err
	}
	if err := t.renew(); err != nil {
		return wrapped(op, err)
	}
	return t.changed(op, t.dev.copyInto(t, b))
}

// SliceSet copies src over the part of dimension d of t that begins at start, from the end where it
// is negative; all other dimensions have the same size. It changes the memory that views share: see
// [Tensor.Assign]. The two must not share memory.
func (t *Tensor) SliceSet(src *Tensor, d, start int) error {
	const op = "slice set"
	if bad := first(op, t, src); bad != nil {
		return bad.err
	}
	if t.buf == src.buf && t.buf != nil {
		return failf(op, ErrArgument, "source and destination share memory: Copy the source first").err
	}
	d, err := layout.Dim(d, t.Rank())
	switch {
	case err != nil:
		return failed(op, err).err
	case src.Rank() != t.Rank():
		return failf(op, ErrRank, "%v into %v", src.layout.Shape(), t.layout.Shape()).err
	}
	part := t.Detach().Narrow(d, start, src.Size(d))
	if part.err != nil {
		return failed(op, part.err.Err).err
	}
	if !part.layout.Shape().Equal(src.layout.Shape()) {
		return failed(op, fmt.Errorf("%w: %v into %v along dimension %d", ErrShape, src.layout.Shape(), t.layout.Shape(), d)).err
	}
	return part.Assign(src)
}

// ScatterSet is [Tensor.Scatter] into t itself. It changes the memory that views share: see
// [Tensor.Assign].
func (t *Tensor) ScatterSet(ids, src *Tensor, d int) error {
	return t.scatterInto("scatter set", ids, src, func(ids, src *Tensor) error {
		return scatter.Scatter(t.dev.stream, t.view(), ids.view(), src.view(), d)
	})
}

// ScatterAddSet is [Tensor.ScatterAdd] into t itself: see [Tensor.ScatterSet].
func (t *Tensor) ScatterAddSet(ids, src *Tensor, d int) error {
	return t.scatterInto("scatter add set", ids, src, func(ids, src *Tensor) error {
		return scatter.ScatterAdd(t.dev.stream, t.view(), ids.view(), src.view(), d)
	})
}

// IndexAddSet is [Tensor.IndexAdd] into t itself: see [Tensor.ScatterSet].
func (t *Tensor) IndexAddSet(ids, src *Tensor, d int) error {
	return t.scatterInto("index add set", ids, src, func(ids, src *Tensor) error {
		return scatter.IndexAdd(t.dev.stream, t.view(), ids.view(), src.view(), d)
	})
}

// scatterInto changes t by run, whose operands share no memory with it.
func (t *Tensor) scatterInto(op string, ids, src *Tensor, run func(ids, src *Tensor) error) error {
	if err := t.inPlace(op); err != nil {
		return err
	}
	if bad := first(op, t); bad != nil {
		return bad.err
	}
	if bad := indices(op, ids, t, src); bad != nil {
		return bad.err
	}
	apart := func(u *Tensor) *Tensor {
		if u.buf == t.buf {
			return u.Detach().Copy()
		}
		return u.Detach()
	}
	ids, src = apart(ids), apart(src)
	if bad := first(op, ids, src); bad != nil {
		return bad.err
	}
	return t.changed(op, run(ids, src))
}
