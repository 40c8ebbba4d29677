package tensor

import (
	"fmt"
	"io"
	"unsafe"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// Bytes returns the elements as memory has them, in row-major order and little-endian.
// It waits for them.
func (t *Tensor) Bytes() ([]byte, error) {
	const op = "bytes"
	if err := t.Err(); err != nil {
		return nil, err
	}
	if t.Count() == 0 {
		return []byte{}, nil
	}
	if err := t.stale(); err != nil {
		return nil, wrap(op, err)
	}
	c := t.Detach().Contiguous()
	if c.err != nil {
		return nil, c.err
	}
	mem, err := runtime.View[byte](c.buf)
	if err != nil {
		return nil, wrap(op, err)
	}
	first := c.dtype.Bytes(c.layout.Offset())
	out, err := mem.Slice(first, first+c.dtype.Bytes(c.Count())).Host()
	if err != nil {
		return nil, wrap(op, err)
	}
	if c.buf != t.buf {
		_ = c.Free() // a copy that nobody else has; it has been read
	}
	return out, nil
}

// WriteTo writes the elements as [Tensor.Bytes] returns them.
func (t *Tensor) WriteTo(w io.Writer) (int64, error) {
	b, err := t.Bytes()
	if err != nil {
		return 0, err
	}
	n, err := w.Write(b)
	return int64(n), wrap("write", err)
}

// ToSlice returns the elements in row-major order. It waits for them. T is the Go type
// of the tensor's elements: [Tensor.Cast] converts others, and [Tensor.Float64s] reads any.
func ToSlice[T Element](t *Tensor) ([]T, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if want := dtype.Of[T](); t.dtype != want {
		return nil, &Error{Op: "to slice", Pos: position(), Err: fmt.Errorf("%w: the tensor is of %s, not %s: Cast converts it", ErrDTypeMismatch, t.dtype, want)}
	}
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]T, t.Count())
	copy(asBytes(out), b)
	return out, nil
}

// Float64s returns the elements in row-major order as numbers of float64, whatever their type is.
// Integers beyond 2⁵³ are rounded. It waits for them.
func (t *Tensor) Float64s() ([]float64, error) {
	const op = "float64s"
	if err := t.Err(); err != nil {
		return nil, err
	}
	if err := computes(t.dtype); err != nil {
		return nil, wrap(op, err)
	}
	if t.dtype == F64 {
		return ToSlice[float64](t)
	}
	list, err := t.scalars()
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(list))
	for i, x := range list {
		out[i] = x.Float()
	}
	return out, nil
}

// rank reports a tensor of another number of dimensions.
func (t *Tensor) rank(n int) error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.Rank() != n {
		return &Error{Op: fmt.Sprintf("to %d", n), Pos: position(), Err: fmt.Errorf("%w: %d of %v, want %d", ErrRank, t.Rank(), t.layout.Shape(), n)}
	}
	return nil
}

// To0 returns the number of a tensor without dimensions.
func To0[T Element](t *Tensor) (x T, err error) {
	if err := t.rank(0); err != nil {
		return x, err
	}
	list, err := ToSlice[T](t)
	if err != nil {
		return x, err
	}
	return list[0], nil
}

// To1 returns the numbers of a tensor of one dimension.
func To1[T Element](t *Tensor) ([]T, error) {
	if err := t.rank(1); err != nil {
		return nil, err
	}
	return ToSlice[T](t)
}

// To2 returns the rows of a tensor of two dimensions.
func To2[T Element](t *Tensor) ([][]T, error) {
	if err := t.rank(2); err != nil {
		return nil, err
	}
	list, err := ToSlice[T](t)
	return rows(list, t.layout.Shape()[0], t.layout.Shape()[1]), err
}

// To3 returns the matrices of a tensor of three dimensions, by rows.
func To3[T Element](t *Tensor) ([][][]T, error) {
	if err := t.rank(3); err != nil {
		return nil, err
	}
	list, err := ToSlice[T](t)
	s := t.layout.Shape()
	return rows(rows(list, s[0]*s[1], s[2]), s[0], s[1]), err
}

// rows cuts a list into n rows of some length.
func rows[T any](list []T, n, length int) [][]T {
	if list == nil {
		return nil
	}
	out := make([][]T, n)
	for i := range out {
		out[i] = list[i*length : (i+1)*length : (i+1)*length]
	}
	return out
}

// Item returns the number of a tensor that has one element, whatever its dimensions.
func (t *Tensor) Item() (Scalar, error) {
	if err := t.Err(); err != nil {
		return Scalar{}, err
	}
	if t.Count() != 1 || !t.dtype.Computes() {
		return Scalar{}, &Error{Op: "item", Pos: position(), Err: fmt.Errorf("%w: %v of %s is not one number", ErrShape, t.layout.Shape(), t.dtype)}
	}
	list, err := t.scalars()
	if err != nil {
		return Scalar{}, err
	}
	return list[0], nil
}

// scalars returns the elements.
func (t *Tensor) scalars() ([]Scalar, error) {
	b, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	size := t.dtype.Size()
	out := make([]Scalar, t.Count())
	for i := range out {
		var word [8]byte
		copy(word[:], b[i*size:(i+1)*size])
		out[i] = dtype.FromBits(t.dtype, *(*uint64)(unsafe.Pointer(&word)))
	}
	return out, nil
}

// To brings the tensor to a device, in row-major order without gaps; one that is there
// is returned as it is.
func (t *Tensor) To(d *Device) *Tensor {
	const op = "to"
	if bad := first(op, t); bad != nil {
		return bad
	}
	if err := d.check(); err != nil || t.dev == d {
		if err != nil {
			return failed(op, err)
		}
		return t
	}
	c := t.Contiguous()
	if c.err != nil {
		return c
	}
	out, err := empty(d, t.dtype, t.layout.Shape())
	if err == nil && out.buf != nil {
		err = transfer(out, c)
	}
	if err != nil {
		return out.dropped(op, err)
	}
	return out.from(op, backward(gradTo), t)
}

// transfer copies between devices; the order of both is kept.
func transfer(dst, src *Tensor) error {
	to, err := runtime.View[byte](dst.buf)
	if err != nil {
		return err
	}
	from, err := runtime.View[byte](src.buf)
	if err != nil {
		return err
	}
	first := src.dtype.Bytes(src.layout.Offset())
	n := src.dtype.Bytes(src.Count())
	return runtime.Copy(to.Slice(0, n), from.Slice(first, first+n))
}
