package quantized

import (
	"fmt"

	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// Load copies the blocks of a tensor of a file, such as package gguf opens, to a device. They go there
// in parts, so that the host needs memory for some of these parts only. A type that has no blocks is
// an error of kind [format.ErrType]: it is for [tensor.Load]. One whose fields have the most
// significant byte first is an error of kind [file.ErrUnsupported].
func Load(d *tensor.Device, e *file.Entry) *Tensor {
	const op = "load"
	if e == nil {
		return failed(op, fmt.Errorf("%w: no entry of a file", tensor.ErrArgument))
	}
	of, err := typeOf(e)
	if err != nil {
		return failed(op, &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: err})
	}
	data := tensor.LoadRaw(d, e)
	if data.Err() != nil {
		return failed(op, data.Err())
	}
	return FromTensor(of, data, e.Shape()...)
}

// typeOf is the format of what a file stores.
func typeOf(e *file.Entry) (format.Type, error) {
	of, err := format.Parse(e.Stored)
	if err == nil {
		_, err = of.Block()
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w: tensor.Load is for types without blocks", err)
	case e.Encoding().Big:
		return 0, fmt.Errorf("%w: blocks of %v with the most significant byte first", file.ErrUnsupported, of)
	}
	return of, nil
}
