package tensor

import (
	"io"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor/file"
)

// Load copies a tensor of a file to a device, in row-major order:
//
//	set, err := safetensors.Open("model.safetensors")
//	defer set.Close()
//	e, err := set.Get("embed.weight")
//	x := tensor.Load(dev, e)
//
// Elements that are stored as they are read go from the file to the device in parts, so that the host
// needs memory for some of these parts only, see [runtime.Slice.CopyFromReader]. Part of a tensor is
// loaded by [file.Entry.Narrow].
func Load(d *Device, e *file.Entry) *Tensor {
	const op = "load"
	if e == nil {
		return failf(op, ErrArgument, "no entry of a file")
	}
	if !e.DType.Valid() {
		_, err := e.View() // says why
		return failed(op, err)
	}
	shape := append(Shape(nil), e.Layout.Shape()...)
	if e.Layout.IsContiguous() {
		return read(d, e, shape)
	}
	// The elements as they lie there, and a copy of them in order.
	whole := read(d, e, Shape{e.Layout.Span()})
	if whole.err != nil {
		return whole
	}
	l, err := layout.New(shape, e.Layout.Strides(), e.Layout.Offset())
	if err != nil {
		return failed(op, err)
	}
	return whole.with(l).Contiguous()
}

// LoadRaw copies the bytes of a tensor of a file to a device as the file has them, see
// [file.Entry.Raw]: the blocks of a quantized type. The result has one dimension of type U8.
func LoadRaw(d *Device, e *file.Entry) *Tensor {
	if e == nil {
		return failf("load", ErrArgument, "no entry of a file")
	}
	if r := e.ReaderAt(); r != nil && e.Layout.IsContiguous() {
		return fromReader(d, U8, r, Shape{int(r.Size())})
	}
	v, err := e.Raw()
	if err != nil {
		return failed("load", err)
	}
	defer v.Release()
	return fromBytes("load", d, U8, v.Bytes(), len(v.Bytes()), Shape{len(v.Bytes())})
}

// read makes a tensor of the elements that an entry has memory for, in a shape of as many.
func read(d *Device, e *file.Entry, shape Shape) *Tensor {
	if r := e.ReaderAt(); r != nil {
		return fromReader(d, e.DType, r, shape)
	}
	v, err := e.View()
	if err != nil {
		return failed("load", err)
	}
	defer v.Release()
	n := shape.Count()
	return fromBytes("load", d, e.DType, v.Bytes()[:e.DType.Bytes(n)], n, shape)
}

// fromReader makes a tensor of all that is read.
func fromReader(d *Device, dt DType, r *io.SectionReader, shape Shape) *Tensor {
	return filled("load", d, dt, shape, func(mem runtime.Slice[byte]) error {
		return mem.CopyFromReader(d.stream, r, 0)
	})
}

// LoadAll loads all tensors of a file, by their names. The first error is returned.
func LoadAll(d *Device, set *file.Set) (map[string]*Tensor, error) {
	all := make(map[string]*Tensor, set.Len())
	for e := range set.All() {
		t := Load(d, e)
		if t.err != nil {
			return nil, t.err
		}
		all[e.Name] = t
	}
	return all, nil
}

// Entry returns the tensor under a name to write it into a file; its numbers are copied
// to the host when they are written:
//
//	e, err := x.Entry("embed.weight")
//	err = safetensors.WriteFile("model.safetensors", nil, e)
func (t *Tensor) Entry(name string) (*file.Entry, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	e, err := file.FromFunc(name, t.dtype, t.Shape(), t.Bytes)
	return e, wrap("entry", err)
}
