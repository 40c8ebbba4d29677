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

// copyTensor is a bulk copy, whose bytes a barrier counts. The map is an argument of the kernel,
// which its first word stands for.
func copyTensor(c *callSite) val {
	dst, bar := c.element(0, ir.Shared), c.args[7].v
	words := c.args[3].parts
	switch {
	case dst == nil:
		return badVal
	case bar == nil || !bar.Type.IsPtr() || bar.Type.Space != ir.Shared:
		c.f.report(diag.AtomicOperand, "dsl.MBarrier is not in shared memory")
		return badVal
	case len(words) == 0:
		return badVal
	}
	c.f.emit(ir.OpCopyTensor, ir.Void, dst, words[0].v, c.f.field(bar, 0), c.scalar(3), c.scalar(4), c.scalar(5), c.scalar(7))
	return val{}
}

// storeTensor is the other way.
func storeTensor(c *callSite) val {
	src, words := c.element(0, ir.Shared), c.args[3].parts
	if src == nil || len(words) == 0 {
		return badVal
	}
	c.f.emit(ir.OpStoreTensor, ir.Void, src, words[0].v, c.scalar(3), c.scalar(4), c.scalar(5))
	return val{}
}
