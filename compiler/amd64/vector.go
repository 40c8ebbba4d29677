package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// vector emits an operation on operands with a lane for each thread, or equal lanes.
func (c *code) vector(v *ir.Value, args []val) (val, error) {
	if v.Type.Kind == ir.KBool && len(v.Args) > 0 && v.Args[0].Type.Kind == ir.KBool && v.Op != ir.OpSelect {
		return c.logic(v, args)
	}
	if v.Op == ir.OpMul && v.Args[0].Type.IsInt() {
		if n := c.powerOfTwo(v); n >= 0 {
			return c.fitAlways(v.Type, c.shiftBy(v, args, asm.VPSLLD, asm.VPSLLQ, n)), nil
		}
	}
	if op := c.simpleOp(v); op != asm.NoOp {
		return c.fit(v.Type, c.binary(v, args, op), v.Op), nil
	}
	switch v.Op {
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		return c.comparison(v, args), nil
	case ir.OpSelect:
		return c.choose(v, args), nil
	case ir.OpConvert:
		return c.convert(v.Type, v.Args[0].Type, args[0]), nil
	case ir.OpBitcast:
		if from := v.Args[0].Type; from.IsInt() && !from.IsSigned() && !v.Type.IsSigned() { // no bits above
			return args[0], nil
		}
		return c.fitAlways(v.Type, args[0]), nil
	case ir.OpShl, ir.OpShr:
		return c.shift(v, args), nil
	}
	if v.Type.IsFloat() {
		return c.floatOp(v, args)
	}
	return c.intOp(v, args)
}

// logic emits an operation on bools that vary.
func (c *code) logic(v *ir.Value, args []val) (val, error) {
	r := c.mask()
	x := args[0].reg[0]
	k := func(on3, on4 asm.Op, y asm.Reg) {
		c.op(c.pick(on3, on4), c.maskWidth(), asm.R(r), asm.R(x), asm.R(y))
	}
	switch v.Op {
	case ir.OpAnd:
		k(asm.VPAND, asm.KANDW, args[1].reg[0])
	case ir.OpOr:
		k(asm.VPOR, asm.KORW, args[1].reg[0])
	case ir.OpXor, ir.OpNe:
		k(asm.VPXOR, asm.KXORW, args[1].reg[0])
	case ir.OpAndNot:
		c.maskAndNot(r, x, args[1].reg[0])
	case ir.OpEq:
		k(asm.VPXOR, asm.KXORW, args[1].reg[0])
		return one(c.maskNot(r)), nil
	case ir.OpNot:
		return one(c.maskNot(x)), nil
	case ir.OpBitcast:
		return args[0], nil
	default:
		return val{}, fmt.Errorf("masks have no %v", v.Op)
	}
	return one(r), nil
}
