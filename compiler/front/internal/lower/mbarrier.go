package lower

import (
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
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
		if t := gotype.Scalar(c.result); t != nil {
			return val{v: c.f.emit(op, t, args...)}
		}
		c.f.emit(op, ir.Void, args...)
		return val{}
	}}
}

// copyTensor is a bulk copy, whose bytes a barrier counts. The map is an argument of the kernel,
// which its first word stands for.
func copyTensor(c *callSite) val {
	return c.bulkCopy(ir.OpCopyTensor, 7, c.scalar(3), c.scalar(4), c.scalar(5), c.scalar(7))
}

// copyPixels is one of pixels.
func copyPixels(c *callSite) val {
	at := c.args[5].flatten(nil)
	if len(at) != 8 {
		return badVal
	}
	return c.bulkCopy(ir.OpCopyPixels, 6, append(at, c.scalar(3), c.scalar(6))...)
}

// bulkCopy is a bulk copy that the barrier in argument bar counts, with operands behind these.
func (c *callSite) bulkCopy(op ir.Op, bar int, operands ...*ir.Value) val {
	dst, b, words := c.element(0, ir.Shared), c.args[bar].v, c.args[3].parts
	switch {
	case dst == nil:
		return badVal
	case b == nil || !b.Type.IsPtr() || b.Type.Space != ir.Shared:
		c.f.report(diag.AtomicOperand, "dsl.MBarrier is not in shared memory")
		return badVal
	case len(words) == 0:
		return badVal
	}
	c.f.emit(op, ir.Void, append([]*ir.Value{dst, words[0].v, c.f.field(b, 0)}, operands...)...)
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
