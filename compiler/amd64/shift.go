package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Shifts of vectors.

// shift emits shl and shr. A count of the width or more gives 0, or the sign.
func (c *code) shift(v *ir.Value, args []val) val {
	t, x := v.Type, args[0]
	left, signed, wide := v.Op == ir.OpShl, v.Type.IsSigned(), v.Type.Size() == 8
	pick := func(l, r, a asm.Op) asm.Op {
		switch {
		case left:
			return l
		case signed:
			return a
		}
		return r
	}
	if n := v.Args[1]; n.IsConst() {
		narrow, wideOp := pick(asm.VPSLLD, asm.VPSRLD, asm.VPSRAD), pick(asm.VPSLLQ, asm.VPSRLQ, asm.VPSRAQ)
		return c.fitShift(t, left, c.shiftBy(v, args, narrow, wideOp, int64(min(n.Imm, 255))))
	}
	counts := c.counts(v.Args[1].Type, args[1], wide)
	op := pick(asm.VPSLLVD, asm.VPSRLVD, asm.VPSRAVD)
	if wide {
		op = pick(asm.VPSLLVQ, asm.VPSRLVQ, asm.VPSRAVQ)
	}
	return c.fitShift(t, left, c.halves(v, args, func(h int) asm.Reg {
		n := half(counts, h)
		if wide && !left && signed && c.isa == v3 {
			return c.sar64(half(x, h), func(op asm.Op, y asm.Reg) asm.Reg {
				return c.vxx(map[asm.Op]asm.Op{asm.VPSRLQ: asm.VPSRLVQ}[op], y, n)
			})
		}
		return c.vxx(op, half(x, h), n)
	}))
}

// shiftBy shifts by a constant.
func (c *code) shiftBy(v *ir.Value, args []val, narrow, wide asm.Op, n int64) val {
	return c.halves(v, args[:1], func(h int) asm.Reg {
		x := half(args[0], h)
		switch {
		case v.Type.Size() < 8:
			return c.vop(narrow, asm.R(x), asm.I(n))
		case wide == asm.VPSRAQ && c.isa == v3:
			return c.sar64(x, func(op asm.Op, y asm.Reg) asm.Reg { return c.vop(op, asm.R(y), asm.I(n)) })
		}
		return c.vop(wide, asm.R(x), asm.I(n))
	})
}

func (c *code) fitShift(t *ir.Type, left bool, x val) val {
	if !left {
		return x
	}
	return c.fitAlways(t, x)
}

// sar64 shifts 64-bit lanes arithmetically on x86-64-v3: of negative ones the
// complement is shifted.
func (c *code) sar64(x asm.Reg, shift func(asm.Op, asm.Reg) asm.Reg) asm.Reg {
	sign := c.vxx(asm.VPCMPGTQ, c.zero(), x)
	return c.vxx(asm.VPXOR, shift(asm.VPSRLQ, c.vxx(asm.VPXOR, x, sign)), sign)
}

// counts returns counts of shifts as lanes of the width of what is shifted; large
// ones stay large.
func (c *code) counts(t *ir.Type, n val, wide bool) val {
	switch {
	case wide && t.Size() == 8, !wide && t.Size() < 8:
		return n
	case wide:
		r := c.extend(n, false)
		return r
	}
	if n.splat {
		n = val{reg: [2]asm.Reg{n.reg[0], n.reg[0]}, n: 2}
	}
	return one(c.clamped(n, 64))
}
