package lower

import (
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

func intPointee(c *callSite) bool {
	t := gotype.Scalar(c.result)
	return t != nil && t.IsInt()
}

// target returns the pointer operand of an atomic operation.
func (c *callSite) target() *ir.Value {
	p := c.args[0].v
	if p == nil || !p.Type.IsPtr() || p.Type.Space == ir.Local {
		c.f.report(diag.AtomicOperand, "%s on a local variable", c.fn.Origin().Name())
		return nil
	}
	return p
}

func atomicOp(op ir.Op) *intrinsic { return orderedOp(op, ir.Relaxed) }

// orderedOp is an atomic operation of one order, for the device.
func orderedOp(op ir.Op, o ir.Order) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val { return c.atomic(op, c.args[1:], o, ir.DeviceScope) }}
}

// explicitOp is an atomic operation whose last arguments are its order and scope.
func explicitOp(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val {
		o, s, ok := c.order(op)
		if !ok {
			return badVal
		}
		return c.atomic(op, c.args[1:len(c.args)-2], o, s)
	}}
}

// order returns the order and scope that a call of op names last.
func (c *callSite) order(op ir.Op) (o ir.Order, s ir.Scope, ok bool) {
	order, scope, name := c.arg(len(c.args)-2), c.arg(len(c.args)-1), c.fn.Origin().Name()
	switch {
	case !order.IsConst() || !scope.IsConst():
		c.f.report(diag.AtomicOperand, "order or scope of %s is not a constant", name)
	case order.Imm > uint64(ir.AcquireRelease) || !ir.OrderAllowed(op, ir.Order(order.Imm)):
		c.f.report(diag.AtomicOperand, "%s cannot have this order", name)
	case scope.Imm > uint64(ir.BlockScope):
		c.f.report(diag.AtomicOperand, "%s cannot have this scope", name)
	default:
		return ir.Order(order.Imm), ir.Scope(scope.Imm), true
	}
	return 0, 0, false
}

// atomic lowers op on the target of the call and on operands.
func (c *callSite) atomic(op ir.Op, operands []val, o ir.Order, s ir.Scope) val {
	p := c.target()
	if p == nil {
		return badVal
	}
	args := []*ir.Value{p}
	for _, a := range operands {
		args = append(args, a.v)
	}
	t := p.Type.Elem
	if op.Info().NoValue {
		t = ir.Void
	}
	v := c.f.emitImm(op, t, ir.AtomicImm(o, s), args...)
	if op.Info().NoValue {
		return val{}
	}
	return val{v: v}
}
