package front

import (
	"fmt"
	"go/types"

	"github.com/gokiln/kiln/compiler/ir"
)

var basicTypes = map[types.BasicKind]*ir.Type{
	types.Bool: ir.Bool, types.UntypedBool: ir.Bool,
	types.Int8: ir.I8, types.Int16: ir.I16, types.Int32: ir.I32, types.Int64: ir.I64, types.Int: ir.I64,
	types.Uint8: ir.U8, types.Uint16: ir.U16, types.Uint32: ir.U32, types.Uint64: ir.U64, types.Uint: ir.U64, types.Uintptr: ir.U64,
	types.Float32: ir.F32, types.Float64: ir.F64,
	types.UntypedInt: ir.I64, types.UntypedRune: ir.I32, types.UntypedFloat: ir.F64,
}

// scalarType returns the IR type of a Go type that is one scalar, else nil.
func scalarType(t types.Type) *ir.Type {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
		case float16Path + ".Float16":
			return ir.F16
		case dslPath + ".BF16":
			return ir.BF16
		}
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return basicTypes[b.Kind()]
	}
	return nil
}

// float8 returns the name of an 8-bit floating-point type without F8, "" for other
// types. In IR they are u8, and package dsl converts them.
func float8(t types.Type) string {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != dslPath {
		return ""
	}
	switch name := n.Obj().Name(); name {
	case "F8E4M3", "F8E5M2":
		return name[2:]
	}
	return ""
}

// isTF32 reports whether t is the type whose products of matrices are those of fewer bits. In IR it
// is f32.
func isTF32(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == dslPath && n.Obj().Name() == "TF32"
}

// isStorage reports whether t is a scalar that has no arithmetic.
func isStorage(t types.Type) bool {
	s := scalarType(t)
	return s != nil && s.IsHalf() || float8(t) != ""
}

// storageIn returns a type among the parts of t that has no arithmetic, nil if
// there is none.
func storageIn(t types.Type) types.Type {
	if isStorage(t) {
		return t
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return storageIn(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if s := storageIn(f.Type()); s != nil {
				return s
			}
		}
	}
	return nil
}

// maxObject bounds the size of one object in memory, in bytes.
const maxObject = 1 << 30

// memType returns the type that values of t have in memory, nil if they hold
// pointers, which memory cannot: the type of a pointer names its space, and Go
// types do not.
func memType(t types.Type) *ir.Type {
	if s := scalarType(t); s != nil {
		return s
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		elem := memType(u.Elem())
		if elem == nil || u.Len() < 0 || u.Len() > maxObject/int64(max(elem.Size(), 1)) {
			return nil
		}
		return ir.ArrayOf(int(u.Len()), elem)
	case *types.Struct:
		fields := make([]*ir.Type, u.NumFields())
		for i := range fields {
			if fields[i] = memType(u.Field(i).Type()); fields[i] == nil {
				return nil
			}
		}
		return ir.StructOf(fields...)
	}
	return nil
}

// maxLeaves bounds how many scalars one Go value is taken apart into.
const maxLeaves = 256

// leaves returns how many scalars and pointers a value of type t consists of,
// at most a little more than maxLeaves.
func leaves(t types.Type) int {
	switch u := t.Underlying().(type) {
	case *types.Array:
		if u.Len() > maxLeaves {
			return maxLeaves + 1
		}
		return int(u.Len()) * leaves(u.Elem())
	case *types.Struct:
		n := 0
		for f := range u.Fields() {
			if n += leaves(f.Type()); n > maxLeaves {
				break
			}
		}
		return n
	case *types.Tuple:
		n := 0
		for v := range u.Variables() {
			n += leaves(v.Type())
		}
		return n
	case *types.Slice:
		return 2
	}
	return 1
}

// hasPointers reports whether values of type t contain pointers, slices or
// functions.
func hasPointers(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Array:
		return hasPointers(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			if hasPointers(f.Type()) {
				return true
			}
		}
		return false
	case *types.Basic:
		return false
	case *types.Tuple:
		for v := range u.Variables() {
			if hasPointers(v.Type()) {
				return true
			}
		}
		return false
	}
	return true
}

// typeName spells a type for people and for ir.Arg.Go: qualified by package
// name, half types by their names in package dsl.
func typeName(t types.Type) string {
	switch u := types.Unalias(t).(type) {
	case *types.Slice:
		return "[]" + typeName(u.Elem())
	case *types.Pointer:
		return "*" + typeName(u.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", u.Len(), typeName(u.Elem()))
	}
	if scalarType(t) == ir.F16 {
		return "dsl.F16"
	}
	return types.TypeString(types.Unalias(t), func(p *types.Package) string { return p.Name() })
}

func kindName(t types.Type) string { return fmt.Sprintf("%T", t) }

func deref(t types.Type) types.Type {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		return p.Elem()
	}
	return t
}
