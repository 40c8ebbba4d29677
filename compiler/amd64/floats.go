package amd64

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// rounding has the mode of rounding instructions; 8 keeps them from raising the
// inexact flag.
var rounding = map[ir.Op]int64{ir.OpRint: 8, ir.OpFloor: 9, ir.OpCeil: 10, ir.OpTrunc: 11}

// floatOp emits an operation on floats that is more than one instruction.
func (c *code) floatOp(v *ir.Value, args []val) (val, error) {
	wide := v.Type.Size() == 8
	pick := func(s, d asm.Op) asm.Op {
		if wide {
			return d
		}
		return s
	}
	each := func(fn func(h int) asm.Reg) (val, error) { return c.halves(v, args, fn), nil }
	x := func(h int) asm.Reg { return half(args[0], h) }
	switch v.Op {
	case ir.OpNeg:
		return each(func(h int) asm.Reg { return c.signOp(wide, asm.VPXORD, x(h)) })
	case ir.OpAbs:
		return each(func(h int) asm.Reg { return c.magnitude(wide, x(h)) })
	case ir.OpCopysign:
		return each(func(h int) asm.Reg {
			s := c.signOp(wide, asm.VPANDD, half(args[1], h))
			return c.vxx(c.pick(asm.VPOR, asm.VPORD), c.magnitude(wide, x(h)), s)
		})
	case ir.OpMin, ir.OpMax:
		return each(func(h int) asm.Reg { return c.extreme(v.Op == ir.OpMax, wide, x(h), half(args[1], h)) })
	case ir.OpFMA:
		return each(func(h int) asm.Reg { return c.fma(v, wide, x(h), half(args[1], h), half(args[2], h)) })
	case ir.OpSqrt, ir.OpApproxSqrt:
		return each(func(h int) asm.Reg { return c.vxx(pick(asm.VSQRTPS, asm.VSQRTPD), x(h)) })
	case ir.OpFloor, ir.OpCeil, ir.OpTrunc, ir.OpRint:
		op := pick(c.pick(asm.VROUNDPS, asm.VRNDSCALEPS), c.pick(asm.VROUNDPD, asm.VRNDSCALEPD))
		return each(func(h int) asm.Reg { return c.vop(op, asm.R(x(h)), asm.I(rounding[v.Op])) })
	case ir.OpApproxRecip:
		return each(func(h int) asm.Reg { return c.vxx(asm.VDIVPS, c.constant32(math.Float32bits(1)), x(h)) })
	case ir.OpApproxRsqrt:
		return each(func(h int) asm.Reg {
			return c.vxx(asm.VDIVPS, c.constant32(math.Float32bits(1)), c.vxx(asm.VSQRTPS, x(h)))
		})
	}
	if v.Op.Info().Rule == ir.RuleApprox {
		return each(func(h int) asm.Reg { return c.approximate(v.Op, x(h)) })
	}
	return val{}, fmt.Errorf("vectors have no %v of %v", v.Op, v.Type)
}

// constant32 returns a vector of equal 32-bit lanes.
func (c *code) constant32(x uint32) asm.Reg {
	if x == 0 {
		return c.zero()
	}
	r := c.vec()
	mem := c.pool([]uint32{x})
	c.op(asm.VBROADCASTSS, c.width(), asm.R(r), mem)
	c.f.Remat[r] = c.cur.Insts[len(c.cur.Insts)-1]
	return r
}

// constant64 returns a vector of equal 64-bit lanes.
func (c *code) constant64(x uint64) asm.Reg {
	if x == 0 {
		return c.zero()
	}
	r := c.vec()
	mem := c.pool([]uint32{uint32(x), uint32(x >> 32)})
	c.op(asm.VBROADCASTSD, c.width(), asm.R(r), mem)
	c.f.Remat[r] = c.cur.Insts[len(c.cur.Insts)-1]
	return r
}

// signOp combines the sign bits of x with op.
func (c *code) signOp(wide bool, op asm.Op, x asm.Reg) asm.Reg {
	if c.isa == v3 {
		op = simple3[op]
	}
	if !wide {
		return c.vop(op, asm.R(x), c.all32(1<<31))
	}
	if c.isa == v4 {
		op = map[asm.Op]asm.Op{asm.VPXORD: asm.VPXORQ, asm.VPANDD: asm.VPANDQ}[op]
	}
	return c.vop(op, asm.R(x), c.all64(1<<63))
}

func (c *code) magnitude(wide bool, x asm.Reg) asm.Reg {
	if !wide {
		return c.vop(c.pick(asm.VPAND, asm.VPANDD), asm.R(x), c.all32(1<<31-1))
	}
	return c.vop(c.pick(asm.VPAND, asm.VPANDQ), asm.R(x), c.all64(1<<63-1))
}

// extreme is Go's min and max. The instructions give their second operand where the
// two are equal, or one is no number: taken in both orders, the bits of the two
// results together have the sign of -0 for min and that of +0 for max. A NaN stays
// one under or; where and could lose it, it is put back.
func (c *code) extreme(largest, wide bool, x, y asm.Reg) asm.Reg {
	op := map[[2]bool]asm.Op{{false, false}: asm.VMINPS, {false, true}: asm.VMINPD, {true, false}: asm.VMAXPS, {true, true}: asm.VMAXPD}[[2]bool{largest, wide}]
	a, b := c.vxx(op, x, y), c.vxx(op, y, x)
	if !largest {
		return c.vxx(c.pick(asm.VPOR, asm.VPORD), a, b)
	}
	both := c.vxx(c.pick(asm.VPAND, asm.VPANDD), a, b)
	add, cmp := asm.VADDPS, c.pick(asm.VCMPPS, asm.VCMPPSK)
	if wide {
		add, cmp = asm.VADDPD, c.pick(asm.VCMPPD, asm.VCMPPDK)
	}
	const unordered = 3
	m, r := c.mask(), c.vec()
	c.op(cmp, c.width(), asm.R(m), asm.R(x), asm.R(y), asm.I(unordered))
	if c.isa == v3 {
		c.op(asm.VBLENDVPS, 256, asm.R(r), asm.R(both), asm.R(c.vxx(add, x, y)), asm.R(m))
		return r
	}
	c.copy(r, both)
	c.op(add, 512, asm.R(r), asm.R(x), asm.R(y)).Mask = m
	return r
}

// fma emits x*y + z. It overwrites a copy of the addend, which in a loop is the sum
// that grows; of a constant addend the instruction reads memory.
func (c *code) fma(v *ir.Value, wide bool, x, y, z asm.Reg) asm.Reg {
	r := c.vec()
	op231, op213 := asm.VFMADD231PS, asm.VFMADD213PS
	if wide {
		op231, op213 = asm.VFMADD231PD, asm.VFMADD213PD
	}
	switch i := fmaConstant(v); i {
	case 2:
		c.copy(r, x)
		c.op(op213, c.width(), asm.R(r), asm.R(y), c.constantArg(v.Args[2]))
	case 1:
		c.copy(r, z)
		c.op(op231, c.width(), asm.R(r), asm.R(x), c.constantArg(v.Args[1]))
	case 0:
		c.copy(r, z)
		c.op(op231, c.width(), asm.R(r), asm.R(y), c.constantArg(v.Args[0]))
	default:
		c.copy(r, z)
		c.op(op231, c.width(), asm.R(r), asm.R(x), asm.R(y))
	}
	return r
}

// constantArg returns the operand for a constant float in all lanes.
func (c *code) constantArg(v *ir.Value) asm.Arg {
	if v.Type.Size() == 8 {
		return c.all64(v.Imm)
	}
	return c.all32(uint32(v.Imm))
}
