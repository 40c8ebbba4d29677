package tensor

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// FromOwned is [From] of data that the program gives up: it must not be read or written
// afterwards. The CPU uses it as it is, without a copy; other devices copy it.
func FromOwned[T Element](d *Device, data []T, shape ...int) *Tensor {
	const op = "from owned"
	if err := d.check(); err != nil {
		return failed(op, err)
	}
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	s, err := Shape(shape).Fill(len(data))
	if err != nil {
		return failed(op, err)
	}
	t := &Tensor{dev: d, dtype: dtype.Of[T](), layout: layout.Contiguous(slices.Clone(s))}
	if len(data) == 0 {
		return t
	}
	mem, err := runtime.FromOwned(d.rt, data)
	if err != nil {
		return failed(op, err)
	}
	t.buf = mem.Buffer()
	return t
}

// FromSeq returns a tensor with the numbers of a sequence, in one dimension or in a shape
// of which one size may be [Inferred]. Another count than that of the shape is an error of
// kind [ErrShape].
//
//	x := tensor.FromSeq(dev, maps.Values(scores))
func FromSeq[T Element](d *Device, seq iter.Seq[T], shape ...int) *Tensor {
	if seq == nil {
		return failf("from sequence", ErrArgument, "no sequence")
	}
	return From(d, slices.Collect(seq), shape...)
}

// FromBuffer returns a tensor of memory that a program has allocated on the device, for
// results of kernels that it launches itself: nothing is copied, and the memory is freed
// as that of other tensors is. A layout that reaches beyond the memory is an error of kind
// [ErrRange], memory of another device of kind [ErrDevice].
//
//	buf, err := dev.Stream().Alloc(4 * n)
//	x := tensor.FromBuffer(dev, buf, tensor.F32, layout.Contiguous(tensor.Shape{n}))
func FromBuffer(d *Device, buf *runtime.Buffer, dt DType, l Layout) *Tensor {
	const op = "from buffer"
	switch err := d.check(); {
	case err != nil:
		return failed(op, err)
	case buf == nil:
		return failf(op, ErrArgument, "no buffer")
	case buf.Device() != d.rt:
		return failf(op, ErrDevice, "memory of %s, a tensor on %s", buf.Device().Name(), d)
	case !dt.Valid():
		return failf(op, ErrDType, "%s", dt)
	case dt.Size() == 0 && (!l.IsContiguous() || l.Offset() != 0):
		return failf(op, ErrDType, "elements of %s share bytes", dt)
	case l.Count() == 0:
		buf = nil
	case dt.Bytes(l.Offset()+l.Span()) > buf.Size():
		return failf(op, ErrRange, "%v of %s reaches to byte %d of %d", l, dt, dt.Bytes(l.Offset()+l.Span()), buf.Size())
	}
	return &Tensor{dev: d, buf: buf, dtype: dt, layout: l}
}

// EmptyLike returns a tensor of the shape, type and device of t whose elements are not set.
func (t *Tensor) EmptyLike() *Tensor {
	if bad := firstOf("empty", t); bad != nil {
		return bad
	}
	return Empty(t.dev, t.dtype, t.layout.Shape()...).scoped(t)
}

// Logspace returns n numbers of a floating-point type from base to the start to base to
// the end, both included, each the same multiple of the one before.
func Logspace(d *Device, dt DType, start, end float64, n int, base float64) *Tensor {
	const op = "logspace"
	if !(base > 0) || math.IsInf(base, 1) {
		return failf(op, ErrArgument, "a base of %v", base)
	}
	if !dt.IsFloat() {
		return failf(op, ErrDType, "%s: it is for floating-point types", dt)
	}
	compute := dt.Compute() // exponents are not rounded to fewer bits
	powers := Linspace(d, compute, start, end, n)
	switch base {
	case 2:
		powers = powers.Exp2()
	case math.E:
		powers = powers.Exp()
	default:
		powers = Full(d, dtype.FromFloat(compute, base)).Pow(powers)
	}
	if powers.err != nil {
		return failed(op, powers.err.Err)
	}
	return powers.Cast(dt)
}

// DiagEmbed puts the last dimension on diagonal k of matrices that are 0 elsewhere: of
// (…, n) it is (…, n+|k|, n+|k|). Diagonal 1 is the one above the main diagonal. What
// takes a diagonal out is [Tensor.Diagonal].
func (t *Tensor) DiagEmbed(k int) *Tensor {
	const op = "diag_embed"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if t.Rank() == 0 {
		return failf(op, ErrRank, "a single number has no last dimension")
	}
	if err := computes(t.dtype); err != nil {
		return failed(op, err)
	}
	s := t.Shape()
	n := s[len(s)-1] + max(k, -k)
	if n < 0 {
		return failf(op, ErrTooLarge, "diagonal %d of %v", k, s)
	}
	s[len(s)-1] = n
	out := Zeros(t.dev, t.dtype, append(s, n)...).scoped(t)
	if out.err != nil {
		return failed(op, out.err.Err)
	}
	l, err := out.layout.Diagonal(k, -2, -1)
	if err == nil {
		err = t.dev.copyInto(out.with(l), t)
	}
	if err != nil {
		return failed(op, err)
	}
	return out.from(op, grad1(func(g, _, _ *Tensor) *Tensor { return g.Diagonal(k, -2, -1) }), t)
}

// Trace is the sum of the main diagonal of matrices: of (…, m, n) it is (…).
func (t *Tensor) Trace() *Tensor { return t.Diagonal(0, -2, -1).Sum(-1) }

// Copy2D copies a rectangle of rows times cols elements from src: from its element
// number from on, with srcPitch elements between the beginnings of two rows, to element
// number at of t on, with pitch elements between them. Elements are counted in row-major
// order, whatever the shapes are. Both have one type and are on one device. A rectangle
// that reaches beyond a tensor is an error of kind [ErrRange], as are rows that overlap.
// It changes the memory that views share, as [Tensor.Assign] does, so t must be contiguous.
func (t *Tensor) Copy2D(at, pitch int, src *Tensor, from, srcPitch, rows, cols int) error {
	const op = "copy 2d"
	if bad := first(op, t, src); bad != nil {
		return bad.err
	}
	if err := same(t, src); err != nil {
		return failed(op, err).err
	}
	switch {
	case t.dtype.Size() == 0:
		return failf(op, ErrDType, "elements of %s share bytes", t.dtype).err
	case !t.IsContiguous():
		return failf(op, ErrArgument, "the destination is not contiguous").err
	case pitch < cols && rows > 1:
		return failf(op, ErrRange, "rows of %d elements at a distance of %d", cols, pitch).err
	}
	to, err := t.rectangle(at, pitch, rows, cols)
	if err != nil {
		return failed(op, err).err
	}
	c := src.Detach().Contiguous()
	if c.err != nil {
		return c.err
	}
	with, err := c.rectangle(from, srcPitch, rows, cols)
	if err != nil {
		return failed(op, err).err
	}
	return t.changed(op, t.dev.copyInto(to, with))
}

// rectangle is a view of rows of the elements of a contiguous tensor.
func (t *Tensor) rectangle(at, pitch, rows, cols int) (*Tensor, error) {
	n := t.Count()
	if at < 0 || pitch < 0 || rows < 0 || cols < 0 {
		return nil, fmt.Errorf("%w: %d rows of %d elements from %d on, %d apart", ErrRange, rows, cols, at, pitch)
	}
	if rows > 0 && cols > 0 && (at > n-cols || pitch > 0 && rows-1 > (n-cols-at)/pitch) {
		return nil, fmt.Errorf("%w: %d rows of %d elements from %d on, %d apart, of %v", ErrRange, rows, cols, at, pitch, t.layout.Shape())
	}
	l, err := layout.New(Shape{rows, cols}, []int{pitch, 1}, t.layout.Offset()+at)
	if err != nil {
		return nil, err
	}
	return t.with(l), nil
}
