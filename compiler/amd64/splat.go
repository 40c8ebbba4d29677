package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// aluOps has the operations that are one instruction.
var aluOps = map[ir.Op]asm.Op{
	ir.OpAdd: asm.ADD, ir.OpSub: asm.SUB, ir.OpMul: asm.IMUL, ir.OpAnd: asm.AND, ir.OpOr: asm.OR, ir.OpXor: asm.XOR,
}

// inInstruction reports whether operand i of an operation on general registers is a
// constant that the instruction holds.
func (c *code) inInstruction(v *ir.Value, i int) bool {
	x := v.Args[i]
	if i != 1 || x.Op != ir.OpConst {
		return false
	}
	if v.Op == ir.OpShl || v.Op == ir.OpShr {
		return true
	}
	_, alu := aluOps[v.Op]
	return (alu || v.Op >= ir.OpEq && v.Op <= ir.OpGe) && int64(x.Imm) == int64(int32(x.Imm))
}

// immediate returns the operand for a value: a constant that fits, or its register.
func (c *code) immediate(v *ir.Value, x val) asm.Arg {
	if n := int64(v.Imm); v.Op == ir.OpConst && n == int64(int32(n)) {
		return asm.I(n)
	}
	return asm.R(x.reg[0])
}

// canonical extends the value of type t in the low bits of r.
func (c *code) canonical(r asm.Reg, t *ir.Type) {
	switch {
	case t.Kind == ir.KBool || t.Size() == 8:
	case t.Size() == 4 && t.IsSigned():
		c.op(asm.MOVSXD, 64, asm.R(r), asm.R(r))
	case t.Size() == 4:
		c.op(asm.MOV, 32, asm.R(r), asm.R(r))
	case t.Size() == 2 && t.IsSigned():
		c.op(asm.MOVSXW, 64, asm.R(r), asm.R(r))
	case t.Size() == 2:
		c.op(asm.MOVZXW, 32, asm.R(r), asm.R(r))
	case t.IsSigned():
		c.op(asm.MOVSXB, 64, asm.R(r), asm.R(r))
	default:
		c.op(asm.MOVZXB, 32, asm.R(r), asm.R(r))
	}
}

// condition returns the flags under which a comparison of values of type t holds.
func condition(op ir.Op, t *ir.Type) asm.Cond {
	signed := t.IsSigned()
	switch op {
	case ir.OpEq:
		return asm.CondE
	case ir.OpNe:
		return asm.CondNE
	case ir.OpLt:
		return pickCond(signed, asm.CondL, asm.CondB)
	case ir.OpLe:
		return pickCond(signed, asm.CondLE, asm.CondBE)
	case ir.OpGt:
		return pickCond(signed, asm.CondG, asm.CondA)
	}
	return pickCond(signed, asm.CondGE, asm.CondAE)
}

func pickCond(signed bool, s, u asm.Cond) asm.Cond {
	if signed {
		return s
	}
	return u
}

// splat returns the vectors, or the mask, with the value of a general register in
// all lanes. What is in a vector stays there.
func (c *code) splat(x val, t *ir.Type) val {
	r := x.reg[0]
	if inVector(t) {
		return x
	}
	switch {
	case t.Kind == ir.KBool:
		m := c.mask()
		c.op(asm.XOR, 32, asm.R(asm.RAX), asm.R(asm.RAX))
		c.op(asm.SUB, 32, asm.R(asm.RAX), asm.R(r))
		if c.isa == v3 {
			c.broadcastGeneral(m, asm.RAX)
		} else {
			c.op(asm.KMOVW, 32, asm.R(m), asm.R(asm.RAX))
		}
		return one(m)
	case t.Size() == 8:
		v := c.vec()
		if c.isa == v4 {
			c.op(asm.VPBROADCASTQR, 512, asm.R(v), asm.R(r))
		} else {
			x := c.vec()
			c.op(asm.VMOVQ, 128, asm.R(x), asm.R(r))
			c.op(asm.VPBROADCASTQ, 256, asm.R(v), asm.R(x))
		}
		return val{reg: [2]asm.Reg{v, v}, n: 2}
	}
	v := c.vec()
	c.broadcastGeneral(v, r)
	return one(v)
}

// lowLane returns the value of lane 0 as what is the same in all lanes is kept.
func (c *code) lowLane(x val, t *ir.Type) val {
	if inVector(t) {
		x.splat, x.n = true, 1
		return x
	}
	r := c.gpr()
	switch {
	case t.Kind == ir.KBool:
		c.bits(r, x.reg[0])
		c.op(asm.AND, 32, asm.R(r), asm.I(1))
	case t.Size() == 8:
		c.op(asm.VMOVQ, 128, asm.R(r), asm.R(x.reg[0]))
	default:
		c.op(asm.VMOVD, 128, asm.R(r), asm.R(x.reg[0]))
		c.canonical(r, t)
	}
	return one(r)
}
