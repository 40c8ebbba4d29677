package tensor

import (
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// Load copies a tensor of a file to a device, in row-major order:
//
//	set, err := safetensors.Open("model.safetensors")
//	defer set.Close()
//	e, err := set.Get("embed.weight")
//	x := tensor.Load(dev, e)
//
// Part of a tensor is loaded by [file.Entry.Narrow].
func Load(d *Device, e *file.Entry) *Tensor {
	const op = "load"
	if e == nil {
		return failf(op, ErrArgument, "no entry of a file")
	}
	v, err := e.View()
	if err != nil {
		return failed(op, err)
	}
	defer v.Release()
	shape := append(Shape(nil), e.Layout.Shape()...)
	if e.Layout.IsContiguous() {
		return loaded(FromBytes(d, e.DType, v.Bytes(), shape...), shape)
	}
	// The elements as they lie there, and a copy of them in order.
	whole := FromBytes(d, e.DType, v.Bytes()[:e.DType.Bytes(e.Layout.Span())])
	if whole.err != nil {
		return failed(op, whole.err)
	}
	l, err := layout.New(shape, e.Layout.Strides(), e.Layout.Offset())
	if err != nil {
		return failed(op, err)
	}
	return whole.with(l).Contiguous()
}

// loaded gives a tensor without dimensions its shape: no shape is that of a list.
func loaded(t *Tensor, s Shape) *Tensor {
	if len(s) == 0 {
		return t.Reshape()
	}
	return t
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
