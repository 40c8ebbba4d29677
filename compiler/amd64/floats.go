package amd64

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

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
		return each(func(h int) asm.Reg { return c.minMax(v, wide, x(h), half(args[1], h)) })
	case ir.OpFMA:
		return each(func(h int) asm.Reg { return c.fma(v, wide, args, h) })
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

func (c *code) minMax(v *ir.Value, wide bool, x, y asm.Reg) asm.Reg {
	largest := v.Op == ir.OpMax
	if k := v.Args[1]; k.IsConst() {
		if r, ok := c.extremeOf(largest, wide, k, y, x); ok {
			return r
		}
	} else if k := v.Args[0]; k.IsConst() {
		if r, ok := c.extremeOf(largest, wide, k, x, y); ok {
			return r
		}
	}
	return c.extreme(largest, wide, x, y)
}

// extreme is Go's min and max. The instructions give their second operand where the
// two are equal, or one is no number. Taken in both orders, the two results differ
// for zeros in the sign, and for a NaN, which has to stay: or gives that, and the
// sign of min; that of max is and.
func (c *code) extreme(largest, wide bool, x, y asm.Reg) asm.Reg {
	op := extremeOp(largest, wide)
	a, b := c.vxx(op, x, y), c.vxx(op, y, x)
	switch {
	case !largest:
		return c.vxx(c.pick(asm.VPOR, asm.VPORD), a, b)
	case c.isa == v3: // all ones are a NaN
		nan := c.compareFloat(wide, 256, x, asm.R(y), cmpUnordered)
		return c.vxx(asm.VPOR, c.vxx(asm.VPAND, a, b), nan)
	}
	r := c.vec()
	c.copy(r, a)
	const andOr = 0xd4 // c ? a & b : a | b
	if wide {
		c.op(asm.VPTERNLOGQ, 512, asm.R(r), asm.R(b), c.all64(1<<63), asm.I(andOr))
	} else {
		c.op(asm.VPTERNLOGD, 512, asm.R(r), asm.R(b), c.all32(1<<31), asm.I(andOr))
	}
	return r
}

func extremeOp(largest, wide bool) asm.Op {
	switch {
	case largest && wide:
		return asm.VMAXPD
	case largest:
		return asm.VMAXPS
	case wide:
		return asm.VMINPD
	}
	return asm.VMINPS
}

// extremeOf is min and max of which one operand is a constant, if that is easier: a
// NaN x is the result of the instruction as its second operand, and so is one of
// equal zeros.
func (c *code) extremeOf(largest, wide bool, k *ir.Value, constant, x asm.Reg) (asm.Reg, bool) {
	f := k.Type.Value(k.Imm)
	n, isDouble := f.(float64)
	if !isDouble {
		n = float64(f.(float32))
	}
	switch {
	case n != n || n == 0 && math.Signbit(n) && !largest:
		return 0, false
	case n == 0 && !math.Signbit(n) && largest:
		// Of what is above 0, or NaN, itself.
		const notLE = 0x16
		m := c.compareFloat(wide, c.width(), x, c.floatArg(wide, 0), notLE)
		if c.isa == v3 {
			return c.vxx(asm.VPAND, m, x), true
		}
		return c.only(m, moveOf(k.Type), asm.R(x)), true
	}
	return c.vxx(extremeOp(largest, wide), constant, x), true
}

// Bits of Imm of an FMA in code: negations of operands that the instruction does.
const (
	negProduct = 1
	negSum     = 2
)

// fmaOps has the forms of x*y + z, by the negations: what overwrites the sum, what
// overwrites a factor, for float32 and float64.
var fmaOps = [4][2][2]asm.Op{
	{{asm.VFMADD231PS, asm.VFMADD231PD}, {asm.VFMADD213PS, asm.VFMADD213PD}},
	negProduct:          {{asm.VFNMADD231PS, asm.VFNMADD231PD}, {asm.VFNMADD213PS, asm.VFNMADD213PD}},
	negSum:              {{asm.VFMSUB231PS, asm.VFMSUB231PD}, {asm.VFMSUB213PS, asm.VFMSUB213PD}},
	negProduct | negSum: {{asm.VFNMSUB231PS, asm.VFNMSUB231PD}, {asm.VFNMSUB213PS, asm.VFNMSUB213PD}},
}

// fma emits x*y + z. It overwrites a copy of the addend, which in a loop is the sum
// that grows; of a constant addend the instruction reads memory.
func (c *code) fma(v *ir.Value, wide bool, args []val, h int) asm.Reg {
	r, k := c.vec(), 0
	if wide {
		k = 1
	}
	x, y := 0, 1
	if v.Args[0].IsConst() { // a constant is loaded anyway, into the register that is overwritten
		x, y = 1, 0
	}
	if args[2].n == 0 {
		if v.Args[y].IsConst() {
			x, y = y, x
		}
		c.copy(r, half(args[x], h))
		c.op(fmaOps[v.Imm][1][k], c.width(), asm.R(r), asm.R(half(args[y], h)), c.constantArg(v.Args[2]))
		return r
	}
	if args[x].n == 0 { // both are constants
		x, y = y, x
	}
	c.copy(r, half(args[2], h))
	c.op(fmaOps[v.Imm][0][k], c.width(), asm.R(r), asm.R(half(args[x], h)), c.operand(v, args, y, h))
	return r
}
