package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Operations on general registers: of integers, pointers and bools that are the
// same in all lanes. Narrow ones are kept extended to 64 bits.

// uniform emits an operation on values that are the same in all lanes, as they are
// kept. Operands that are constants which the operation takes may be missing.
func (c *code) uniform(v *ir.Value, args []val) (val, error) {
	if !c.inVectors(v) {
		return c.scalar(v, args)
	}
	return c.throughVector(v, args)
}

// scalar emits an operation on general registers.
func (c *code) scalar(v *ir.Value, args []val) (val, error) {
	t := v.Type
	r := c.gpr()
	x := func(i int) asm.Reg { return args[i].reg[0] }
	if op, ok := aluOps[v.Op]; ok {
		if y := c.immediate(v.Args[1], args[1]); op == asm.IMUL && y.Kind == asm.ImmArg {
			c.op(op, 64, asm.R(r), asm.R(x(0)), y)
		} else {
			c.copy(r, x(0))
			c.op(op, 64, asm.R(r), y)
		}
		c.canonical(r, t)
		return one(r), nil
	}
	switch v.Op {
	case ir.OpNeg:
		c.copy(r, x(0))
		c.op(asm.NEG, 64, asm.R(r))
	case ir.OpNot:
		c.copy(r, x(0))
		if t.Kind == ir.KBool {
			c.op(asm.XOR, 32, asm.R(r), asm.I(1))
			return one(r), nil
		}
		c.op(asm.NOT, 64, asm.R(r))
	case ir.OpAndNot:
		c.copy(r, x(1))
		c.op(asm.NOT, 64, asm.R(r))
		c.op(asm.AND, 64, asm.R(r), asm.R(x(0)))
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		c.op(asm.CMP, 64, asm.R(x(0)), c.immediate(v.Args[1], args[1]))
		c.setcc(condition(v.Op, v.Args[0].Type), r)
	case ir.OpMin, ir.OpMax:
		c.copy(r, x(0))
		c.op(asm.CMP, 64, asm.R(x(1)), asm.R(x(0)))
		op := ir.OpLt
		if v.Op == ir.OpMax {
			op = ir.OpGt
		}
		c.cmov(condition(op, t), r, x(1))
	case ir.OpSelect:
		c.copy(r, x(2))
		c.op(asm.TEST, 32, asm.R(x(0)), asm.R(x(0)))
		c.cmov(asm.CondNE, r, x(1))
	case ir.OpShl, ir.OpShr:
		c.shiftGeneral(r, v, args)
	case ir.OpConvert, ir.OpBitcast:
		if t.Size() == 8 {
			return args[0], nil
		}
		c.copy(r, x(0))
	case ir.OpDiv, ir.OpRem:
		c.divideGeneral(r, v, x(0), x(1))
	case ir.OpMulHi:
		c.mulHighGeneral(r, t, x(0), x(1))
		return one(r), nil
	case ir.OpPopcount, ir.OpClz, ir.OpCtz:
		c.countGeneral(r, v, x(0))
		return one(r), nil
	default:
		return c.throughVector(v, args)
	}
	if v.Op < ir.OpEq || v.Op > ir.OpGe {
		c.canonical(r, t)
	}
	return one(r), nil
}

// shiftGeneral shifts all 64 bits: what leaves a narrow value's range goes with
// canonical, what comes in is its extension.
func (c *code) shiftGeneral(r asm.Reg, v *ir.Value, args []val) {
	x, n := args[0].reg[0], args[1].reg[0]
	signed := v.Type.IsSigned()
	if k := v.Args[1]; k.IsConst() {
		c.copy(r, x)
		switch {
		case v.Op == ir.OpShr && signed:
			c.op(asm.SAR, 64, asm.R(r), asm.I(int64(min(k.Imm, 63))))
		case k.Imm > 63:
			c.op(asm.MOV, 32, asm.R(r), asm.I(0))
		case v.Op == ir.OpShl:
			c.op(asm.SHL, 64, asm.R(r), asm.I(int64(k.Imm)))
		default:
			c.op(asm.SHR, 64, asm.R(r), asm.I(int64(k.Imm)))
		}
		return
	}
	if v.Op == ir.OpShr && signed {
		c.op(asm.MOV, 64, asm.R(asm.RCX), asm.R(n))
		c.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(63))
		c.op(asm.CMP, 64, asm.R(asm.RCX), asm.R(asm.RAX))
		c.cmov(asm.CondA, asm.RCX, asm.RAX)
		c.op(asm.SARX, 64, asm.R(r), asm.R(x), asm.R(asm.RCX))
		return
	}
	op := asm.SHRX
	if v.Op == ir.OpShl {
		op = asm.SHLX
	}
	c.op(op, 64, asm.R(r), asm.R(x), asm.R(n))
	c.op(asm.MOV, 32, asm.R(asm.RAX), asm.I(0))
	c.op(asm.CMP, 64, asm.R(n), asm.I(63))
	c.cmov(asm.CondA, r, asm.RAX)
}

// divideGeneral divides 64 bits. Of what the instruction traps on it keeps clear.
func (c *code) divideGeneral(r asm.Reg, v *ir.Value, x, y asm.Reg) {
	done := c.newLabel()
	if v.Op == ir.OpRem {
		c.copy(r, x)
	} else {
		c.op(asm.MOV, 32, asm.R(r), asm.I(0))
	}
	c.op(asm.TEST, 64, asm.R(y), asm.R(y))
	c.jcc(asm.CondE, done)
	c.op(asm.MOV, 64, asm.R(asm.RAX), asm.R(x))
	if !v.Type.IsSigned() {
		c.op(asm.XOR, 32, asm.R(asm.RDX), asm.R(asm.RDX))
		c.op(asm.DIV, 64, asm.R(y))
	} else {
		divide, over := c.newLabel(), c.newLabel()
		c.op(asm.CMP, 64, asm.R(y), asm.I(-1))
		c.jcc(asm.CondNE, divide)
		c.op(asm.NEG, 64, asm.R(asm.RAX)) // x/-1, which wraps for the least
		c.op(asm.XOR, 32, asm.R(asm.RDX), asm.R(asm.RDX))
		c.jump(over)
		c.bind(divide)
		c.op(asm.CQO, 64)
		c.op(asm.IDIV, 64, asm.R(y))
		c.bind(over)
	}
	from := asm.RAX
	if v.Op == ir.OpRem {
		from = asm.RDX
	}
	c.op(asm.MOV, 64, asm.R(r), asm.R(from))
	c.bind(done)
}

func (c *code) mulHighGeneral(r asm.Reg, t *ir.Type, x, y asm.Reg) {
	if t.Size() < 8 {
		c.copy(r, x)
		c.op(asm.IMUL, 64, asm.R(r), asm.R(y))
		op := asm.SHR
		if t.IsSigned() {
			op = asm.SAR
		}
		c.op(op, 64, asm.R(r), asm.I(int64(t.Bits())))
		return
	}
	c.op(asm.MOV, 64, asm.R(asm.RAX), asm.R(x))
	op := asm.MUL
	if t.IsSigned() {
		op = asm.IMUL1
	}
	c.op(op, 64, asm.R(y))
	c.op(asm.MOV, 64, asm.R(r), asm.R(asm.RDX))
}

// countGeneral emits popcount, clz and ctz.
func (c *code) countGeneral(r asm.Reg, v *ir.Value, x asm.Reg) {
	t := v.Args[0].Type
	n := t.Bits()
	c.copy(r, x)
	if n < 64 && t.IsSigned() { // the bits alone
		c.op(asm.SHL, 64, asm.R(r), asm.I(int64(64-n)))
		c.op(asm.SHR, 64, asm.R(r), asm.I(int64(64-n)))
	}
	switch v.Op {
	case ir.OpPopcount:
		c.op(asm.POPCNT, 64, asm.R(r), asm.R(r))
	case ir.OpClz:
		c.op(asm.LZCNT, 64, asm.R(r), asm.R(r))
		if n < 64 {
			c.op(asm.SUB, 64, asm.R(r), asm.I(int64(64-n)))
		}
	default:
		if n < 64 { // one more bit ends the count
			c.op(asm.MOV, 64, asm.R(asm.RAX), asm.I(1<<n))
			c.op(asm.OR, 64, asm.R(r), asm.R(asm.RAX))
		}
		c.op(asm.TZCNT, 64, asm.R(r), asm.R(r))
	}
}

// throughVector does an operation in a vector of equal lanes.
func (c *code) throughVector(v *ir.Value, args []val) (val, error) {
	in := make([]val, len(args))
	for i, a := range args {
		if a.n > 0 {
			in[i] = c.splat(a, v.Args[i].Type)
			in[i].splat = true
		}
	}
	r, err := c.vector(v, in)
	if err != nil {
		return val{}, err
	}
	return c.lowLane(r, v.Type), nil
}
