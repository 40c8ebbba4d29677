package llvm

import (
	"fmt"
	"math"
	"strconv"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/metadata"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler/ir"
)

// pointer is the type of pointers to an address space. Those of the library have the
// type of what they point to, which LLVM reads no more.
type pointer types.AddrSpace

func (p pointer) String() string {
	if p == 0 {
		return "ptr"
	}
	return "ptr addrspace(" + strconv.FormatUint(uint64(p), 10) + ")"
}

// LLString is the definition of the type, of which there is no other.
func (p pointer) LLString() string { return p.String() }

// Equal reports whether t is the same type.
func (p pointer) Equal(t types.Type) bool { return t == types.Type(p) }

// Name is empty: the type is written as it is.
func (p pointer) Name() string { return "" }

// SetName does nothing.
func (p pointer) SetName(string) {}

// address is a value that the library gives one of its pointer types: a variable of the
// module, one of the function, the null pointer.
type address struct {
	value.Value
	to pointer
}

// Type is the type of the pointer.
func (a address) Type() types.Type { return a.to }

func (a address) String() string { return a.to.String() + " " + a.Ident() }

// IsConstant makes constants of addresses of variables.
func (a address) IsConstant() {}

// comment is a line that LLVM does not read, between the instructions of a block.
type comment struct {
	llir.Instruction
	text string
}

// LLString returns the comment.
func (c comment) LLString() string { return "; " + c.text }

// scalarTypes are the types of values by kind. Halves are patterns.
var scalarTypes = [...]types.Type{
	ir.KBool: types.I1, ir.KI8: types.I8, ir.KU8: types.I8, ir.KI16: types.I16, ir.KU16: types.I16, ir.KI32: types.I32, ir.KU32: types.I32,
	ir.KI64: types.I64, ir.KU64: types.I64, ir.KF16: types.I16, ir.KBF16: types.I16, ir.KF32: types.Float, ir.KF64: types.Double,
}

// pointer returns the type of pointers into a space.
func (d *dialect) pointer(s ir.Space) pointer { return pointer(d.spaces[s]) }

// typeOf returns the type of values of t, nil of none.
func (d *dialect) typeOf(t *ir.Type) types.Type {
	switch {
	case t.IsPtr():
		return d.pointer(t.Space)
	case t.IsValue():
		return scalarTypes[t.Kind]
	}
	return nil
}

// objectType is the type of an object of t in memory. LLVM keeps small arrays in
// registers if it knows their elements.
func objectType(t *ir.Type) types.Type {
	n, elem := 1, t
	for elem.Kind == ir.KArray {
		n, elem = n*elem.Len, elem.Elem
	}
	if n == 0 || !elem.IsValue() {
		n, elem = max(t.Size(), 1), ir.U8
	}
	return array(n, elementType(elem))
}

// integer is the type of integers of so many bits; types of the library are compared as
// pointers.
func integer(bits int) *types.IntType {
	return map[int]*types.IntType{8: types.I8, 16: types.I16, 32: types.I32, 64: types.I64, 128: types.I128}[bits]
}

func array(n int, elem types.Type) *types.ArrayType { return types.NewArray(uint64(n), elem) }

// elementType is the type that indexes are counted in.
func elementType(t *ir.Type) types.Type {
	switch {
	case t.Kind == ir.KBool:
		return types.I8
	case t.IsPtr():
		return types.I64
	case t.IsValue():
		return scalarTypes[t.Kind]
	}
	return array(t.Size(), types.I8)
}

// whole is an integer constant of type t.
func whole(t types.Type, n int64) *constant.Int {
	if t == types.I1 {
		return constant.NewBool(n != 0)
	}
	return constant.NewInt(t.(*types.IntType), n)
}

// Constants of the types that rows write.
func i8(n int64) *constant.Int       { return whole(types.I8, n) }
func i16(n int64) *constant.Int      { return whole(types.I16, n) }
func i32(n int64) *constant.Int      { return whole(types.I32, n) }
func i64(n int64) *constant.Int      { return whole(types.I64, n) }
func f32(x float64) *constant.Float  { return constant.NewFloat(types.Float, x) }
func null(p pointer) address         { return address{&constant.Null{}, p} }
func ulps(x float64) llir.Metadata   { return llir.Metadata{{Name: "fpmath", Node: tuple(-1, f32(x))}} }
func text(s string) *metadata.String { return &metadata.String{Value: s} }

// tuple is a node of metadata: number id of the module, or written where it is used if
// that is -1.
func tuple(id int64, fields ...metadata.Field) *metadata.Tuple {
	return &metadata.Tuple{MetadataID: metadata.MetadataID(id), Fields: fields}
}

// scalar is the constant of scalar type t with the given bits.
func scalar(t *ir.Type, bits uint64) constant.Constant {
	switch t.Kind {
	case ir.KF32:
		x := math.Float32frombits(uint32(bits))
		if x != x { // of which the library keeps the sign alone
			return constant.NewBitCast(i32(int64(int32(bits))), types.Float)
		}
		return f32(float64(x))
	case ir.KF64:
		x := math.Float64frombits(bits)
		if x != x {
			return constant.NewBitCast(i64(int64(bits)), types.Double)
		}
		return constant.NewFloat(types.Double, x)
	}
	n := 64 - t.Bits()
	return whole(scalarTypes[t.Kind], int64(bits<<n)>>n)
}

// constantOf is a constant, which may be a pointer.
func (d *dialect) constantOf(t *ir.Type, bits uint64) value.Value {
	switch {
	case !t.IsPtr():
		return scalar(t, bits)
	case bits == 0:
		return null(d.pointer(t.Space))
	}
	return constant.NewIntToPtr(i64(int64(bits)), d.pointer(t.Space))
}

// overload is how the names of intrinsics write a type.
func overload(t types.Type) string {
	switch t {
	case types.Float:
		return "f32"
	case types.Double:
		return "f64"
	}
	return fmt.Sprint(t)
}
