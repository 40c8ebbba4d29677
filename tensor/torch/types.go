package torch

import (
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor/file"
)

// element is an element type of PyTorch.
type element struct {
	size int // in bytes
	enc  file.Encoding
}

func as(d dtype.DType) element { return element{d.Bits() / 8, file.Encoding{DType: d}} }

func from(k file.Kind) element {
	e := file.From("", k)
	return element{e.Bits() / 8, e}
}

// unknown is an element type that nothing can hold.
func unknown(size int) element { return element{size: size} }

// dtypes is the element types by the names that torch.dtype has.
var dtypes = map[string]element{
	"float64": as(dtype.F64), "double": as(dtype.F64),
	"float32": as(dtype.F32), "float": as(dtype.F32),
	"float16": as(dtype.F16), "half": as(dtype.F16),
	"bfloat16":      as(dtype.BF16),
	"float8_e4m3fn": as(dtype.F8E4M3), "float8_e5m2": as(dtype.F8E5M2), "float8_e8m0fnu": as(dtype.F8E8M0),
	"float8_e4m3fnuz": unknown(1), "float8_e5m2fnuz": unknown(1), "float4_e2m1fn_x2": unknown(1),
	"uint8": as(dtype.U8), "int8": as(dtype.I8), "bool": from(file.Bool),
	"int16": as(dtype.I16), "short": as(dtype.I16), "uint16": from(file.Uint16),
	"int32": as(dtype.I32), "int": as(dtype.I32), "uint32": as(dtype.U32),
	"int64": as(dtype.I64), "long": as(dtype.I64), "uint64": from(file.Uint64),
	"complex32": unknown(4), "complex64": unknown(8), "complex128": unknown(16),
	"qint8": unknown(1), "quint8": unknown(1), "qint32": unknown(4), "quint4x2": unknown(1), "quint2x4": unknown(1),
}

// untyped is a storage that only its tensors know the element type of; its size is in
// bytes.
const untyped = "UntypedStorage"

// storages is the classes of storages by name, and the names of their element types.
var storages = map[string]string{
	"DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
	"ByteStorage": "uint8", "CharStorage": "int8", "BoolStorage": "bool",
	"ShortStorage": "int16", "IntStorage": "int32", "LongStorage": "int64",
	"UInt16Storage": "uint16", "UInt32Storage": "uint32", "UInt64Storage": "uint64",
	"Float8_e4m3fnStorage": "float8_e4m3fn", "Float8_e5m2Storage": "float8_e5m2",
	"Float8_e4m3fnuzStorage": "float8_e4m3fnuz", "Float8_e5m2fnuzStorage": "float8_e5m2fnuz",
	"ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128",
	"QInt8Storage": "qint8", "QUInt8Storage": "quint8", "QInt32Storage": "qint32", "QUInt4x2Storage": "quint4x2", "QUInt2x4Storage": "quint2x4",
	untyped: "uint8", "_UntypedStorage": "uint8",
}
