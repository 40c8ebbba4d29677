package tensor

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// DType is the type of a tensor's elements: see package dtype.
type DType = dtype.DType

// Scalar is one number of an element type.
type Scalar = dtype.Scalar

// Element is a Go type that is an element type.
type Element = dtype.Element

// Shape is the size of each dimension, the outermost first.
type Shape = layout.Shape

// Layout is a shape, strides and an offset, in elements.
type Layout = layout.Layout

// Inferred is the size of a dimension that follows from the number of elements and the other sizes,
// as −1 does in NumPy and PyTorch.
const Inferred = layout.Inferred

// The element types. Those from F4 on are stored and moved only.
const (
	U8     = dtype.U8
	U32    = dtype.U32
	I8     = dtype.I8
	I16    = dtype.I16
	I32    = dtype.I32
	I64    = dtype.I64
	BF16   = dtype.BF16
	F16    = dtype.F16
	F32    = dtype.F32
	F64    = dtype.F64
	F8E4M3 = dtype.F8E4M3
	F8E5M2 = dtype.F8E5M2
	F4     = dtype.F4
	F6E2M3 = dtype.F6E2M3
	F6E3M2 = dtype.F6E3M2
	F8E8M0 = dtype.F8E8M0
)

// Tensor is numbers of one type in a shape, on a device; or the error of the operation
// that should have made it. It is safe for use by several goroutines.
type Tensor struct {
	dev    *Device
	buf    *runtime.Buffer // nil if there are no elements
	dtype  DType
	layout Layout
	err    *Error
	node   *node  // how it was made, if that is needed for gradients
	pin    uint64 // the version of the memory whose elements are meant, 0 is any
	noGrad bool   // nothing that is computed from it is recorded: see NoGrad
	scope  *Scope // what is computed from it belongs to it: see In
}

// Err returns the first error on the way to this tensor, nil if there was none. Kernels run
// later: that one of them failed is known when something was read or [Device.Synchronize]
// was called behind it, and whoever reads the tensor gets the error in any case.
func (t *Tensor) Err() error {
	if t == nil {
		return &Error{Op: "err", Pos: position(), Err: fmt.Errorf("%w: the tensor is nil", ErrArgument)}
	}
	if t.err != nil {
		return t.err
	}
	if t.dev == nil {
		return &Error{Op: "err", Pos: position(), Err: fmt.Errorf("%w: a Tensor that no function made", ErrArgument)}
	}
	if err := t.fault(); err != nil {
		return newError("err", err)
	}
	return nil
}

// whole reports whether the tensor is all of its memory.
func (t *Tensor) whole() bool {
	return t.buf != nil && t.IsContiguous() && t.layout.Offset() == 0 && t.dtype.Bytes(t.Count()) == t.buf.Size()
}

// renew prepares that all elements are set: then an error of what they were goes with it.
func (t *Tensor) renew() error {
	if !t.whole() {
		return t.fault()
	}
	return t.dev.stream.Discard(t.buf)
}

// Device is where the tensor is; nil of one that holds an error.
func (t *Tensor) Device() *Device { return t.dev }

// DType is the type of the elements, Invalid of a tensor that holds an error.
func (t *Tensor) DType() DType { return t.dtype }

// Shape is the size of each dimension.
func (t *Tensor) Shape() Shape { return slices.Clone(t.layout.Shape()) }

// Rank is the number of dimensions.
func (t *Tensor) Rank() int { return t.layout.Rank() }

// Size is the size of dimension d, and 0 if there is no such dimension.
func (t *Tensor) Size(d int) int {
	d, err := layout.Dim(d, t.Rank())
	if err != nil {
		return 0
	}
	return t.layout.Shape()[d]
}

// Count is the number of elements.
func (t *Tensor) Count() int {
	if t.err != nil {
		return 0
	}
	return t.layout.Count()
}

// Layout is where the elements are in memory.
func (t *Tensor) Layout() Layout { return t.layout }

// Strides is the distance of neighbours in each dimension, in elements.
func (t *Tensor) Strides() []int { return slices.Clone(t.layout.Strides()) }

// IsContiguous reports whether the elements lie in row-major order without gaps.
func (t *Tensor) IsContiguous() bool { return t.layout.IsContiguous() }

// IsFortranContiguous reports whether the elements lie in column-major order without
// gaps.
func (t *Tensor) IsFortranContiguous() bool { return t.layout.IsFortranContiguous() }

// Buffer is the memory that the tensor is a view of, nil if it has no elements: for
// programs that launch kernels of their own. It is shared with other tensors.
func (t *Tensor) Buffer() *runtime.Buffer { return t.buf }

// Free gives the memory back, of this tensor and of all that are views of it, when the
// work so far is done. Using one of them afterwards is an error. Without Free memory is
// given back when Go has collected all of them.
func (t *Tensor) Free() error {
	if t == nil || t.buf == nil {
		return nil
	}
	return wrap("free", t.buf.Free())
}

// view is the tensor as package ops knows it.
func (t *Tensor) view() ops.View { return ops.View{Buf: t.buf, DType: t.dtype, Layout: t.layout} }

// with returns a view with another layout, without gradient.
func (t *Tensor) with(l Layout) *Tensor {
	return &Tensor{dev: t.dev, buf: t.buf, dtype: t.dtype, layout: l, pin: t.pin, scope: t.scope}
}

// empty returns a tensor whose elements are not set.
func empty(d *Device, dt DType, s Shape) (*Tensor, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	if !dt.Valid() {
		return nil, fmt.Errorf("%w: %s", ErrDType, dt)
	}
	return packed(d, dt, layout.Contiguous(s))
}

// dropped is the failure of the operation that would have filled t, nil if there is no
// t: its memory is free at once, not when Go has collected it.
func (t *Tensor) dropped(op string, err error) *Tensor {
	if t != nil && t.buf != nil {
		// A device that cannot free has failed already, which err says.
		_ = t.buf.Free()
	}
	return failed(op, err)
}

// packed is empty with a layout of elements in row-major order without gaps.
func packed(d *Device, dt DType, l Layout) (*Tensor, error) {
	if err := l.Shape().Check(); err != nil {
		return nil, err
	}
	t := &Tensor{dev: d, dtype: dt, layout: l}
	if n := l.Count(); n > 0 {
		if n > maxBytes/max(dt.Size(), 1) {
			return nil, fmt.Errorf("%w: %v of %s", ErrTooLarge, l.Shape(), dt)
		}
		var err error
		if t.buf, err = d.stream.Alloc(dt.Bytes(n)); err != nil {
			return nil, fmt.Errorf("%v of %s: %w", l.Shape(), dt, err)
		}
		d.graph.writes(t.buf)
	}
	return t, nil
}

const maxBytes = 1<<63 - 1

// same reports how operands differ in element type or device.
func same(of ...*Tensor) error {
	for _, u := range of[1:] {
		switch t := of[0]; {
		case t.dev != u.dev:
			return fmt.Errorf("%w: %s and %s: To brings a tensor to another device", ErrDevice, t.dev, u.dev)
		case t.dtype != u.dtype:
			return fmt.Errorf("%w: %s and %s: Cast converts a tensor", ErrDTypeMismatch, t.dtype, u.dtype)
		}
	}
	return nil
}
