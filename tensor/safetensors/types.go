package safetensors

import (
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor/file"
)

// elementType is an element type of the format.
type elementType struct {
	bits int
	enc  file.Encoding
}

// types is the element types in the order that the reference implementation writes
// them in, backwards.
var types = []elementType{
	{8, file.From("BOOL", file.Bool)},
	{4, file.As("F4", dtype.F4)},
	{6, file.As("F6_E2M3", dtype.F6E2M3)},
	{6, file.As("F6_E3M2", dtype.F6E3M2)},
	{8, file.As("U8", dtype.U8)},
	{8, file.As("I8", dtype.I8)},
	{8, file.As("F8_E5M2", dtype.F8E5M2)},
	{8, file.As("F8_E4M3", dtype.F8E4M3)},
	{8, file.As("F8_E8M0", dtype.F8E8M0)},
	{8, file.Encoding{Name: "F8_E4M3FNUZ"}},
	{8, file.Encoding{Name: "F8_E5M2FNUZ"}},
	{16, file.As("I16", dtype.I16)},
	{16, file.From("U16", file.Uint16)},
	{16, file.As("F16", dtype.F16)},
	{16, file.As("BF16", dtype.BF16)},
	{32, file.As("I32", dtype.I32)},
	{32, file.As("U32", dtype.U32)},
	{32, file.As("F32", dtype.F32)},
	{64, file.Encoding{Name: "C64"}},
	{64, file.As("F64", dtype.F64)},
	{64, file.As("I64", dtype.I64)},
	{64, file.From("U64", file.Uint64)},
}

// typeNamed returns an element type; of one that the format has got since, only the
// name is known.
func typeNamed(name string) elementType {
	for _, t := range types {
		if t.enc.Name == name {
			return t
		}
	}
	return elementType{enc: file.Encoding{Name: name}}
}

// rankOf is the index in types of a type that can be written, -1 if it is not there.
func rankOf(d dtype.DType) int {
	for i, t := range types {
		if t.enc.Kind == file.Same && t.enc.DType == d && d.Valid() {
			return i
		}
	}
	return -1
}
