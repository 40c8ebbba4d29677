package lower

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/ir"
)

// intrinsic says how calls of a function without a compiled body are lowered.
type intrinsic struct {
	accepts func(*callSite) bool // nil for always; false: use the dispatch function
	lower   func(*callSite) val
}

// callSite is one call of an intrinsic.
type callSite struct {
	f      *funcLower
	in     *ssa.Call
	fn     *ssa.Function
	args   []val
	result types.Type
}

// arg returns scalar argument i.
func (c *callSite) arg(i int) *ir.Value {
	if i < len(c.args) && c.args[i].v != nil {
		return c.args[i].v
	}
	return c.f.int(0)
}

// scalar returns scalar argument i behind the thread.
func (c *callSite) scalar(i int) *ir.Value { return c.arg(i + 1) }
