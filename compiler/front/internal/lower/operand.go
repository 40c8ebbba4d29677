package lower

import (
	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// val returns the value of an SSA operand.
func (f *funcLower) val(x ssa.Value) val {
	if v, ok := f.env[x]; ok {
		return v
	}
	switch x := x.(type) {
	case *ssa.Const:
		return f.constant(x)
	case *ssa.Function:
		return val{fn: x}
	case *ssa.Global:
		return f.table(x)
	}
	return badVal
}

// scalar returns the value of an operand that is one scalar. For a bad one it
// returns a stand-in: the module will not be used.
func (f *funcLower) scalar(x ssa.Value) *ir.Value { return f.one(f.val(x), gotype.Scalar(x.Type())) }
