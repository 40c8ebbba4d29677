package gotype

import (
	"fmt"
	"go/constant"
	"go/types"
	"math"
	"strings"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

var basicTypes = map[types.BasicKind]*ir.Type{types.Bool: ir.Bool, types.UntypedBool: ir.Bool, types.Int8: ir.I8, types.Int16: ir.I16, types.Int32: ir.I32, types.Int64: ir.I64, types.Int: ir.I64,
	types.Uint8: ir.U8, types.Uint16: ir.U16, types.Uint32: ir.U32, types.Uint64: ir.U64, types.Uint: ir.U64, types.Uintptr: ir.U64,
	types.Float32: ir.F32, types.Float64: ir.F64,
	types.UntypedInt: ir.I64, types.UntypedRune: ir.I32, types.UntypedFloat: ir.F64,
}

// Scalar returns the IR type of a Go type that is one scalar, else nil.
func Scalar(t types.Type) *ir.Type {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
		case input.Float16 + ".Float16":
			return ir.F16
		case input.DSL + ".BF16":
			return ir.BF16
		}
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return basicTypes[b.Kind()]
	}
	return nil
}

// Float8 returns the name of an 8-bit floating-point type without F8, "" for other
// types. In IR they are u8, and package dsl converts them.
func Float8(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != input.DSL {
		return ""
	}
	switch name := n.Obj().Name(); name {
	case "F8E4M3", "F8E5M2":
		return name[2:]
	}
	return ""
}

// IsTF32 reports whether t is the type whose products of matrices are those of fewer bits. In IR it
// is f32.
func IsTF32(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == input.DSL && n.Obj().Name() == "TF32"
}

// IsStorage reports whether t is a scalar that has no arithmetic.
func IsStorage(t types.Type) bool {
	s := Scalar(t)
	return s != nil && s.IsHalf() || Float8(t) != ""
}

// StorageIn returns a type among the parts of t that has no arithmetic, nil if
// there is none.
func StorageIn(t types.Type) types.Type {
	if IsStorage(t) {
		return t
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return StorageIn(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if s := StorageIn(f.Type()); s != nil {
				return s
			}
		}
	}
	return nil
}

// maxObject bounds the size of one object in memory, in bytes.
const maxObject = 1 << 30

// Memory returns the type that values of t have in memory, nil if they hold
// pointers, which memory cannot: the type of a pointer names its space, and Go
// types do not.
func Memory(t types.Type) *ir.Type {
	if s := Scalar(t); s != nil {
		return s
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		elem := Memory(u.Elem())
		if elem == nil || u.Len() < 0 || u.Len() > maxObject/int64(max(elem.Size(), 1)) {
			return nil
		}
		return ir.ArrayOf(int(u.Len()), elem)
	case *types.Struct:
		fields := make([]*ir.Type, u.NumFields())
		for i := range fields {
			if fields[i] = Memory(u.Field(i).Type()); fields[i] == nil {
				return nil
			}
		}
		return ir.StructOf(fields...)
	}
	return nil
}

// MaxLeaves bounds how many scalars one Go value is taken apart into.
const MaxLeaves = 256

// Leaves returns how many scalars and pointers a value of type t consists of,
// at most a little more than MaxLeaves.
func Leaves(t types.Type) int {
	switch u := t.Underlying().(type) {
	case *types.Array:
		if u.Len() > MaxLeaves {
			return MaxLeaves + 1
		}
		return int(u.Len()) * Leaves(u.Elem())
	case *types.Struct:
		n := 0
		for f := range u.Fields() {
			if n += Leaves(f.Type()); n > MaxLeaves {
				break
			}
		}
		return n
	case *types.Tuple:
		n := 0
		for v := range u.Variables() {
			n += Leaves(v.Type())
		}
		return n
	case *types.Slice:
		return 2
	}
	return 1
}

// HasPointers reports whether values of type t contain pointers, slices or
// functions.
func HasPointers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return HasPointers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if HasPointers(f.Type()) {
				return true
			}
		}
		return false
	case *types.Basic:
		return false
	case *types.Tuple:
		for v := range u.Variables() {
			if HasPointers(v.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// Name spells a type for people and for ir.Arg.Go: qualified by package
// name, half types by their names in package dsl.
func Name(t types.Type) string {
	switch u := types.Unalias(t).(type) {
	case *types.Slice:
		return "[]" + Name(u.Elem())
	case *types.Pointer:
		return "*" + Name(u.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", u.Len(), Name(u.Elem()))
	}
	if Scalar(t) == ir.F16 {
		return "dsl.F16"
	}
	return types.TypeString(types.Unalias(t), func(p *types.Package) string { return p.Name() })
}

func kindName(t types.Type) string { return fmt.Sprintf("%T", t) }

// Deref returns what a pointer points to, and other types as they are.
func Deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}

// SignatureName spells the type of a function parameter, without names.
func SignatureName(s *types.Signature) string {
	list := func(t *types.Tuple) string {
		names := make([]string, t.Len())
		for i := range names {
			names[i] = Name(t.At(i).Type())
		}
		return strings.Join(names, ",")
	}
	out := "func(" + list(s.Params()) + ")"
	switch s.Results().Len() {
	case 0:
		return out
	case 1:
		return out + list(s.Results())
	}
	return out + "(" + list(s.Results()) + ")"
}

// Bits returns a constant as the bits of a value of type t.
func Bits(v constant.Value, t *ir.Type) uint64 {
	switch {
	case t == ir.Bool:
		if constant.BoolVal(v) {
			return 1
		}
		return 0
	case t == ir.F32:
		x, _ := constant.Float32Val(v)
		return uint64(math.Float32bits(x))
	case t == ir.F64:
		x, _ := constant.Float64Val(v)
		return math.Float64bits(x)
	}
	v = constant.ToInt(v)
	if n, ok := constant.Uint64Val(v); ok {
		return n
	}
	n, _ := constant.Int64Val(v)
	return uint64(n)
}

// IsPrintable reports whether t is a number or bool, or may be one.
func IsPrintable(t types.Type) bool {
	return IsParam(t) || Scalar(t) != nil && !IsStorage(t)
}

// MaxFields bounds the fields of a struct, with those of its fields.
const MaxFields = 1 << 12
