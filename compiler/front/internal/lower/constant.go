package lower

import (
	"go/constant"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// constant lowers a constant. Constants are exact up to here and are rounded
// once, to the type they have.
func (f *funcLower) constant(c *ssa.Const) val {
	t := gotype.Scalar(c.Type())
	if c.Value == nil {
		return f.zero(c.Type())
	}
	if t == nil {
		f.report(diag.Unsupported, "constant of type %s in a kernel", gotype.Name(c.Type()))
		return badVal
	}
	return val{v: f.konst(t, gotype.Bits(c.Value, t))}
}

// zero returns the zero value of t. Pointers, slices and functions have none
// that a kernel could use; they are marked, and their use is an error.
func (f *funcLower) zero(t types.Type) val {
	if gotype.Leaves(t) > gotype.MaxLeaves {
		f.report(diag.LargeValue, "value of type %s is too large to be copied", gotype.Name(t))
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
	elem := gotype.Memory(s.Elem())
	if elem == nil {
		return v
	}
	return val{parts: []val{{v: f.local(elem)}, {v: f.int(0)}}}
}

// inRange reports whether x is a constant index below n.
func inRange(x ssa.Value, n int64) (int, bool) {
	c, ok := x.(*ssa.Const)
	if !ok || c.Value == nil {
		return 0, false
	}
	i, exact := constant.Int64Val(constant.ToInt(c.Value))
	return int(i), exact && i >= 0 && i < n
}
