package front

import (
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// mbarrier is an operation on a barrier that counts arrivals. A Thread among the arguments
// consists of no values.
func mbarrier(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		p := c.args[0].v
		if p == nil || !p.Type.IsPtr() || p.Type.Space != ir.Shared {
			c.f.report(diag.AtomicOperand, "dsl.MBarrier is not in shared memory")
			return badVal
		}
		args := []*ir.Value{c.f.field(p, 0)}
		for _, a := range c.args[1:] {
			args = a.flatten(args)
		}
		if t := scalarType(c.result); t != nil {
			return val{v: c.f.emit(op, t, args...)}
		}
		c.f.emit(op, ir.Void, args...)
		return val{}
	}}
}
