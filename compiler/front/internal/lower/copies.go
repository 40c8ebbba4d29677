package lower

import (
	"go/types"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

func copyAsync(c *callSite) val {
	to, from := c.args[0].v, c.args[1].v
	if c.copies(to, from) {
		c.f.emit(ir.OpCopyAsync, ir.Void, to, from)
		return val{}
	}
	return badVal
}

// copies reports whether to and from can be operands of an asynchronous copy.
func (c *callSite) copies(to, from *ir.Value) bool {
	for _, o := range []struct {
		p    *ir.Value
		is   string
		want ir.Space
	}{{to, "destination", ir.Shared}, {from, "source", ir.Global}} {
		if o.p == nil || !o.p.Type.IsPtr() || o.p.Type.Space != o.want {
			c.f.report(diag.CopyOperand, "%s of dsl.%s is not in %s memory", o.is, c.fn.Origin().Name(), o.want)
			return false
		}
	}
	return true
}

// copyVec lowers the copies of vectors. Where nothing is read the source is its first vector,
// which need not exist.
func copyVec(c *callSite) val {
	f, to, from := c.f, c.args[0], c.args[2]
	if !c.copies(to.part(0).v, from.part(0).v) {
		return badVal
	}
	n := f.int(c.fn.TypeArgs()[0].Underlying().(*types.Array).Len())
	at, limit, ok := c.arg(3), from.part(1).v, f.konst(ir.Bool, 1)
	if len(c.args) > 4 {
		ok = c.arg(4)
		at, limit = f.emit(ir.OpSelect, ir.I64, ok, at, f.int(0)), f.emit(ir.OpSelect, ir.I64, ok, limit, n)
	}
	x := f.vector(from.part(0).v, at, n, limit)
	f.emit(ir.OpCopyVec, ir.Void, f.vector(to.part(0).v, c.arg(1), n, to.part(1).v), x, ok).Imm = n.Imm
	return val{}
}

// vector returns the address of vector i of n elements, a power of two, of a slice that begins at
// p. The last element is in the slice only if all are.
func (f *funcLower) vector(p, i, n, limit *ir.Value) *ir.Value {
	i = f.emit(ir.OpMul, ir.I64, i, n)
	f.emitImm(ir.OpBounds, ir.Void, uint64(devlog.Index), f.emit(ir.OpAdd, ir.I64, i, f.int(int64(n.Imm)-1)), limit)
	return f.emit(ir.OpOffset, p.Type, p, i)
}
