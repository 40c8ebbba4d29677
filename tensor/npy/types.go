package npy

import (
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor/file"
)

// types is the element types by kind and size, as NumPy has them.
var types = map[string]file.Encoding{
	"f2": {DType: dtype.F16},
	"f4": {DType: dtype.F32},
	"f8": {DType: dtype.F64},
	"i1": {DType: dtype.I8},
	"i2": {DType: dtype.I16},
	"i4": {DType: dtype.I32},
	"i8": {DType: dtype.I64},
	"u1": {DType: dtype.U8},
	"u2": {DType: dtype.U32, Kind: file.Uint16},
	"u4": {DType: dtype.U32},
	"u8": {DType: dtype.I64, Kind: file.Uint64},
	"b1": {DType: dtype.U8, Kind: file.Bool},
	"?":  {DType: dtype.U8, Kind: file.Bool},
}

// encodingOf understands a type such as <f4. Of one that is not in the table only the
// name is known.
func encodingOf(descr string) file.Encoding {
	kind, big := descr, false
	if len(descr) > 0 {
		switch descr[0] {
		case '>':
			big = true
			fallthrough
		case '<', '|', '=': // = is the order of the machine, which is the small one
			kind = descr[1:]
		}
	}
	e := types[kind]
	e.Name, e.Big = descr, big
	return e
}

// descrOf is the name of an element type.
func descrOf(e *file.Entry) (string, error) {
	for kind, t := range types {
		if t.Kind != file.Same || t.DType != e.DType {
			continue
		}
		if e.DType.Size() == 1 {
			return "|" + kind, nil
		}
		return "<" + kind, nil
	}
	return "", &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: file.ErrUnsupported,
		Detail: fmt.Sprintf("NumPy has no element type for %s; convert it to f32, or write safetensors", e.DType)}
}
