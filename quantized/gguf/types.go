package gguf

import (
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor/file"
)

// plain has the formats whose elements are numbers by themselves.
var plain = map[format.Type]dtype.DType{
	format.F16: dtype.F16, format.BF16: dtype.BF16, format.F32: dtype.F32, format.F64: dtype.F64,
	format.I8: dtype.I8, format.I16: dtype.I16, format.I32: dtype.I32, format.I64: dtype.I64,
}

// Encoding is how tensors of a format are stored, for [file.New] and [file.FromBlocks].
func Encoding(t format.Type) (file.Encoding, error) {
	info, err := t.Info()
	if err != nil {
		return file.Encoding{}, err
	}
	if d, ok := plain[t]; ok {
		return file.As(info.Name, d), nil
	}
	return file.Blocks(info.Name, info.Elems, info.Bytes), nil
}

// TypeOf is the format that a tensor is written in, which may be one of another kind of file. It is
// an error if GGUF has none for its type.
func TypeOf(e *file.Entry) (format.Type, error) {
	enc := e.Encoding()
	for t, d := range plain {
		if d == e.DType {
			return t, nil
		}
	}
	fault := &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: file.ErrUnsupported}
	t, err := format.Parse(enc.Name)
	if err == nil && enc.Quantized() {
		switch want, err := Encoding(t); {
		case err == nil && enc.Big:
			fault.Detail = fmt.Sprintf("blocks of %s with the most significant byte first", enc.Name)
			return 0, fault
		case err == nil && want == enc:
			return t, nil
		}
	}
	fault.Detail = fmt.Sprintf("GGUF has no type for %s; convert it to a float type first", e.Stored)
	return 0, fault
}
