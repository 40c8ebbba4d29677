package quantized

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// Tensor is numbers of a block format in a shape, on a device; or the error of the operation that
// should have made it, which all that is computed from it reports. Blocks lie along the last
// dimension, rows one after another. It is never changed, and safe for use by several goroutines.
type Tensor struct {
	of    format.Type
	shape tensor.Shape
	data  *tensor.Tensor // the bytes, of type U8 in one dimension; or the error
	first int            // the block of data that is the first one of the tensor
}

// FromBytes returns a tensor with a copy of blocks as files have them. The last dimension is whole
// blocks, see [format.Type.RowBytes]; another count of bytes than that of the shape is an error of
// kind [format.ErrSize]. Types without blocks are for [tensor.FromBytes].
func FromBytes(d *tensor.Device, of format.Type, data []byte, shape ...int) *Tensor {
	const op = "quantized from bytes"
	want, err := sizeOf(of, shape)
	if err == nil && want != len(data) {
		err = fmt.Errorf("%w: %v of %v has %d bytes, not %d",
			format.ErrSize, tensor.Shape(shape), of, want, len(data))
	}
	if err != nil {
		return failed(op, err)
	}
	return &Tensor{of, slices.Clone(shape), tensor.FromBytes(d, tensor.U8, data), 0}
}

// FromTensor returns a tensor whose blocks are the bytes of data, which has type U8 and is all of
// its memory: nothing is copied. It is for what was loaded into device memory already.
func FromTensor(of format.Type, data *tensor.Tensor, shape ...int) *Tensor {
	const op = "quantized from tensor"
	if err := data.Err(); err != nil {
		return failed(op, err)
	}
	want, err := sizeOf(of, shape)
	switch {
	case err != nil:
	case data.DType() != tensor.U8:
		err = fmt.Errorf("%w: blocks in a tensor of %v, not %v", tensor.ErrDType, data.DType(), tensor.U8)
	case want != data.Count():
		err = fmt.Errorf("%w: %v of %v has %d bytes, not %d",
			format.ErrSize, tensor.Shape(shape), of, want, data.Count())
	case data.Count() > 0 && (!data.IsContiguous() || data.Layout().Offset() != 0):
		err = fmt.Errorf("%w: blocks begin where their memory does, and have no gaps", tensor.ErrShape)
	}
	if err != nil {
		return failed(op, err)
	}
	return &Tensor{of, slices.Clone(shape), data, 0}
}

func failed(op string, err error) *Tensor { return &Tensor{data: tensor.Fail(op, err)} }

// sizeOf returns the bytes of a shape in a format with blocks.
func sizeOf(of format.Type, shape tensor.Shape) (int, error) {
	if _, err := of.Block(); err != nil {
		return 0, err
	}
	if err := shape.Check(); err != nil {
		return 0, err
	}
	if len(shape) == 0 {
		return 0, fmt.Errorf("%w: a single number has no blocks of %v", tensor.ErrRank, of)
	}
	last := len(shape) - 1
	row, err := of.RowBytes(int64(shape[last]))
	if err != nil {
		return 0, err
	}
	return layout.Shape(shape[:last]).Count() * int(row), nil
}

// Err returns the error that the tensor holds, nil if none.
func (q *Tensor) Err() error {
	if q == nil || q.data == nil {
		return fmt.Errorf("quantized: %w: a Tensor that no function made", tensor.ErrArgument)
	}
	return q.data.Err()
}

// Format is the format of the blocks, 0 of a nil tensor.
func (q *Tensor) Format() format.Type {
	if q == nil {
		return 0
	}
	return q.of
}

// Shape is the size of each dimension, in elements, nil of a nil tensor.
func (q *Tensor) Shape() tensor.Shape {
	if q == nil {
		return nil
	}
	return slices.Clone(q.shape)
}

// Device is where the blocks are, nil if the tensor holds an error.
func (q *Tensor) Device() *tensor.Device {
	if q.Err() != nil {
		return nil
	}
	return q.data.Device()
}

// Bytes returns the blocks as files have them.
func (q *Tensor) Bytes() ([]byte, error) {
	if err := q.Err(); err != nil {
		return nil, err
	}
	return q.data.Bytes()
}

// Size is how many bytes the blocks have, 0 if the tensor holds an error.
func (q *Tensor) Size() int {
	if q.Err() != nil {
		return 0
	}
	return q.data.Count()
}

// To brings the tensor to a device; one that is there is returned as it is.
func (q *Tensor) To(d *tensor.Device) *Tensor {
	if err := q.Err(); err != nil {
		return failed("to", err)
	}
	return &Tensor{q.of, q.shape, q.data.To(d), 0}
}

// ToDevice is [Tensor.To] for package nn, whose parameters hold quantized numbers of several types.
func (q *Tensor) ToDevice(d *tensor.Device) any { return q.To(d) }

// Free gives the memory back when the work so far is done; that of rows that were joined with
// others (see [Tensor.JoinRows]) when none of them is used any more.
func (q *Tensor) Free() error {
	if err := q.Err(); err != nil {
		return err
	}
	if b := q.data.Buffer(); b != nil && b.Size() != q.data.Count() {
		return nil
	}
	return q.data.Free()
}

// joinAlign is what blocks that are a part of others begin at a multiple of, in bytes: the widest
// loads of kernels.
const joinAlign = 16

// JoinRows returns a matrix of the rows of q and of others in one piece of memory, and each of them
// as a part of it. All are results of type *Tensor, as package nn has quantized numbers of several
// types; what it was called with is freed. It returns nil if others are of another type, format,
// device or number of columns, or if parts would begin where kernels cannot read them.
func (q *Tensor) JoinRows(others ...any) (whole any, parts []any) {
	all, shape := []*tensor.Tensor{}, tensor.Shape{0, 0}
	list := []*Tensor{}
	for _, other := range append([]any{q}, others...) {
		t, ok := other.(*Tensor)
		if !ok || t.Err() != nil || t.of != q.of || len(t.shape) != 2 || t.shape[1] != q.shape[1] ||
			t.Device() != q.Device() || t.first != 0 || t.data.Count()%joinAlign != 0 || t.data.Count() == 0 {
			return nil, nil
		}
		shape = tensor.Shape{shape[0] + t.shape[0], t.shape[1]}
		list, all = append(list, t), append(all, t.data)
	}
	data, at := tensor.Cat(0, all...), 0
	for _, t := range list {
		part := data.Narrow(0, at, t.data.Count())
		at += t.data.Count()
		parts = append(parts, &Tensor{of: q.of, shape: t.shape, data: part})
		if err := t.Free(); err != nil && data.Err() == nil {
			data = tensor.Fail("join rows", err)
		}
	}
	return &Tensor{of: q.of, shape: shape, data: data}, parts
}

// rows is a view of n rows of a matrix, from row i on.
func (q *Tensor) rows(i, n int) *Tensor {
	f, err := q.of.Block()
	if err != nil {
		return failed("rows", err)
	}
	first := q.first + i*(q.shape[1]/f.Elems())
	return &Tensor{q.of, tensor.Shape{n, q.shape[1]}, q.data, first}
}

// blocks are the bytes as kernels take them: as bytes, halves and words.
type blocks struct {
	b runtime.Slice[uint8]
	h runtime.Slice[uint16]
	w runtime.Slice[uint32]
}

// blocksOf is the bytes of a tensor; those that are a part of its memory begin where words do.
func blocksOf(data *tensor.Tensor) (v blocks, err error) {
	buf, at := data.Buffer(), data.Layout().Offset()
	n := data.Count()
	if v.b, err = runtime.View[uint8](buf); err != nil {
		return v, err
	}
	if v.h, err = runtime.View[uint16](buf); err != nil {
		return v, err
	}
	if v.w, err = runtime.View[uint32](buf); err != nil || n == buf.Size() {
		return v, err
	}
	v.b, v.h, v.w = v.b.Slice(at, at+n), v.h.Slice(at/2, (at+n)/2), v.w.Slice(at/4, (at+n)/4)
	return v, nil
}
