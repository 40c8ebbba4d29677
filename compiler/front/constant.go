package front

import (
	"go/constant"
	"go/types"
	"math"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// constant lowers a constant. Constants are exact up to here and are rounded
// once, to the type they have.
func (f *funcLower) constant(c *ssa.Const) val {
	t := scalarType(c.Type())
	if c.Value == nil {
		return f.zero(c.Type())
	}
	if t == nil {
		f.report(diag.Unsupported, "constant of type %s in a kernel", typeName(c.Type()))
		return badVal
	}
	return val{v: f.konst(t, constBits(c.Value, t))}
}

func constBits(v constant.Value, t *ir.Type) uint64 {
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

// zero returns the zero value of t. Pointers, slices and functions have none
// that a kernel could use; they are marked, and their use is an error.
func (f *funcLower) zero(t types.Type) val {
	if leaves(t) > maxLeaves {
		f.report(diag.LargeValue, "value of type %s is too large to be copied", typeName(t))
		return badVal
	}
	return typed(t, func(t *ir.Type) *ir.Value { return f.konst(t, 0) })
}

// empty turns a nil slice into an empty one, which needs an address to name;
// nothing is ever read there.
func (f *funcLower) empty(v val, t types.Type) val {
	s, ok := t.Underlying().(*types.Slice)
	if !ok || !v.isNil {
		return v
	}
	elem := memType(s.Elem())
	if elem == nil {
		return v
	}
	return val{parts: []val{{v: f.local(elem)}, {v: f.int(0)}}}
}
