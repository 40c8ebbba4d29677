package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Comparisons and selections: what makes masks, and what takes them.

// The predicates of comparisons: of integers on x86-64-v4, and of floats.
var intPredicate = map[ir.Op]int64{ir.OpEq: 0, ir.OpLt: 1, ir.OpLe: 2, ir.OpNe: 4, ir.OpGe: 5, ir.OpGt: 6}
var floatPredicate = map[ir.Op]int64{ir.OpEq: 0, ir.OpLt: 0x11, ir.OpLe: 0x12, ir.OpNe: 4, ir.OpGe: 0x1d, ir.OpGt: 0x1e}

// comparison emits a comparison, of which one operand may be a constant.
func (c *code) comparison(v *ir.Value, args []val) val {
	op, x, y := v.Op, 0, 1
	if args[0].n == 0 {
		op, x, y = analysis.Mirrored[op], 1, 0
	}
	t := v.Args[0].Type
	cmp := func(h int) asm.Reg {
		return c.compareHalf(op, t, half(args[x], h), c.operand(v, args, y, h))
	}
	if t.Size() != 8 {
		return val{reg: [2]asm.Reg{cmp(0)}, n: 1, splat: allSplat(v, args)}
	}
	lo := cmp(0)
	if allSplat(v, args) {
		return val{reg: [2]asm.Reg{c.joinMasks(lo, lo)}, n: 1, splat: true}
	}
	return one(c.joinMasks(lo, cmp(1)))
}

// compare returns the lanes for which a comparison of values of type t holds.
func (c *code) compare(op ir.Op, t *ir.Type, args []val) val {
	x, y := args[0], args[1]
	cmp := func(h int) asm.Reg { return c.compareHalf(op, t, half(x, h), asm.R(half(y, h))) }
	if t.Size() != 8 {
		return one(cmp(0))
	}
	return one(c.joinMasks(cmp(0), cmp(1)))
}

// joinMasks makes one mask of those of the two vectors of a 64-bit value.
func (c *code) joinMasks(lo, hi asm.Reg) asm.Reg {
	if c.isa == v3 {
		return c.packMask(lo, hi)
	}
	r := c.mask()
	c.op(asm.KUNPCKBW, 16, asm.R(r), asm.R(hi), asm.R(lo))
	return r
}

func (c *code) compareHalf(op ir.Op, t *ir.Type, x asm.Reg, y asm.Arg) asm.Reg {
	r := c.mask()
	wide := t.Size() == 8
	put := func(op asm.Op, pred int64) {
		c.op(op, c.width(), asm.R(r), asm.R(x), y, asm.I(pred))
	}
	pick := func(narrow, wide64 asm.Op) asm.Op {
		if wide {
			return wide64
		}
		return narrow
	}
	switch {
	case t.IsFloat() && c.isa == v3:
		put(pick(asm.VCMPPS, asm.VCMPPD), floatPredicate[op])
	case t.IsFloat():
		put(pick(asm.VCMPPSK, asm.VCMPPDK), floatPredicate[op])
	case c.isa == v3:
		return c.compareInts3(op, t, x, y)
	case t.IsSigned():
		put(pick(asm.VPCMPD, asm.VPCMPQ), intPredicate[op])
	default:
		put(pick(asm.VPCMPUD, asm.VPCMPUQ), intPredicate[op])
	}
	return r
}

// compareInts3 compares integers on x86-64-v3, which has equal and greater of
// signed ones.
func (c *code) compareInts3(op ir.Op, t *ir.Type, x asm.Reg, y asm.Arg) asm.Reg {
	eq, gt := asm.VPCMPEQD, asm.VPCMPGTD
	if t.Size() == 8 {
		eq, gt = asm.VPCMPEQQ, asm.VPCMPGTQ
	}
	switch op {
	case ir.OpEq:
		return c.vop(eq, asm.R(x), y)
	case ir.OpNe:
		return c.maskNot(c.vop(eq, asm.R(x), y))
	}
	if t.Size() < 8 && (op == ir.OpLe || op == ir.OpGe) { // the lesser, or greater, is x
		bound := ir.OpMin
		if op == ir.OpGe {
			bound = ir.OpMax
		}
		return c.vxx(eq, c.vop(minMax[minMaxKey{bound, t.IsSigned(), false}], asm.R(x), y), x)
	}
	if !t.IsSigned() && t.Size() >= 4 {
		x, y = c.signFlipped(t, asm.R(x)), asm.R(c.signFlipped(t, y))
	}
	greater := func() asm.Reg { return c.vop(gt, asm.R(x), y) }
	less := func() asm.Reg { return c.vop(gt, asm.R(c.inRegister(y)), asm.R(x)) }
	switch op {
	case ir.OpGt:
		return greater()
	case ir.OpLt:
		return less()
	case ir.OpLe:
		return c.maskNot(greater())
	}
	return c.maskNot(less())
}

// signFlipped returns unsigned numbers less half their range: signed ones in the same
// order.
func (c *code) signFlipped(t *ir.Type, x asm.Arg) asm.Reg {
	flip := c.all32(1 << 31)
	if t.Size() == 8 {
		flip = c.all64(1 << 63)
	}
	return c.vop(asm.VPXOR, asm.R(c.inRegister(x)), flip)
}

// inRegister loads a constant into a register.
func (c *code) inRegister(x asm.Arg) asm.Reg {
	if x.Kind == asm.RegArg {
		return x.Reg
	}
	return c.vop(asm.VMOVUPS, x)
}

// choose emits a selection by a mask.
func (c *code) choose(v *ir.Value, args []val) val {
	m, x, y := args[0].reg[0], args[1], args[2]
	if v.Type.Kind == ir.KBool {
		a, b, r := c.mask(), c.mask(), c.mask()
		c.maskAnd(a, m, x.reg[0])
		c.maskAndNot(b, y.reg[0], m)
		c.copy(r, a)
		c.maskOr(r, b, false)
		return one(r)
	}
	if x.n == 0 {
		return c.blendConstant(v, m, args)
	}
	if op := chosenExtreme(v); op != asm.NoOp {
		return c.halves(v, args, func(h int) asm.Reg { return c.vxx(op, half(x, h), half(y, h)) })
	}
	if n := v.Args[2]; n.IsConst() && n.Imm == 0 {
		return c.halvesOfMask(v, m, args, func(h int, m asm.Reg) asm.Reg {
			if c.isa == v3 {
				return c.vxx(asm.VPAND, m, half(x, h))
			}
			return c.only(m, moveOf(v.Type), asm.R(half(x, h)))
		})
	}
	return c.halvesOfMask(v, m, args, func(h int, m asm.Reg) asm.Reg {
		return c.merged(v.Type, m, asm.R(half(x, h)), half(y, h))
	})
}

// chosenExtreme returns the instruction for a choice of the larger or the smaller of two
// numbers, if v is one. It gives its second operand where they are equal or one is no number,
// as the choice does.
func chosenExtreme(v *ir.Value) asm.Op {
	t := v.Args[0]
	if !v.Type.IsFloat() || v.Type.Size() < 4 || t.Op != ir.OpLt && t.Op != ir.OpGt {
		return asm.NoOp
	}
	a, b, x, y := t.Args[0], t.Args[1], v.Args[1], v.Args[2]
	if !(x == a && y == b || x == b && y == a) {
		return asm.NoOp
	}
	return extremeOp((t.Op == ir.OpGt) == (x == a), v.Type.Size() == 8)
}

// blendConstant takes the lanes of a mask from a constant, the first choice.
func (c *code) blendConstant(v *ir.Value, m asm.Reg, args []val) val {
	if v.Args[1].Imm == 0 && c.isa == v3 {
		return c.halvesOfMask(v, m, args, func(h int, m asm.Reg) asm.Reg { return c.vxx(asm.VPANDN, m, half(args[2], h)) })
	}
	x := c.constantArg(v.Args[1])
	return c.halvesOfMask(v, m, args, func(h int, m asm.Reg) asm.Reg { return c.merged(v.Type, m, x, half(args[2], h)) })
}

// halvesOfMask is halves for an operation that has the part of a mask for each half.
func (c *code) halvesOfMask(v *ir.Value, m asm.Reg, args []val, fn func(h int, m asm.Reg) asm.Reg) val {
	return c.halves(v, args, func(h int) asm.Reg {
		switch wide := v.Type.Size() == 8; {
		case c.isa == v3 && wide:
			return fn(h, c.halfMask3(m, h))
		case h == 1:
			return fn(h, c.highMask(m))
		}
		return fn(h, m)
	})
}

// merged takes the lanes of a mask from x, the others from y.
func (c *code) merged(t *ir.Type, m asm.Reg, x asm.Arg, y asm.Reg) asm.Reg {
	r := c.vec()
	op := asm.VPBLENDMD
	switch wide := t.Size() == 8; {
	case c.isa == v3 && wide:
		c.op(asm.VBLENDVPD, 256, asm.R(r), asm.R(y), x, asm.R(m))
		return r
	case c.isa == v3:
		c.op(asm.VBLENDVPS, 256, asm.R(r), asm.R(y), x, asm.R(m))
		return r
	case wide:
		op = asm.VPBLENDMQ
	}
	c.op(op, 512, asm.R(r), asm.R(y), x).Mask = m
	return r
}

// blend takes the lanes of a mask from x, the others from y.
func (c *code) blend(t *ir.Type, m asm.Reg, x, y val) val {
	r := c.lanesOf(t)
	for h := range int(r.n) {
		c.blendHalf(r.reg[h], t.Size() == 8, h, m, half(x, h), half(y, h))
	}
	return r
}

func (c *code) blendHalf(d asm.Reg, wide bool, h int, m, x, y asm.Reg) {
	switch {
	case c.isa == v3:
		if wide {
			m = c.halfMask3(m, h)
		}
		c.op(asm.VBLENDVPS, 256, asm.R(d), asm.R(y), asm.R(x), asm.R(m))
		return
	case h == 1:
		m = c.highMask(m)
	}
	op := asm.VPBLENDMD
	if wide {
		op = asm.VPBLENDMQ
	}
	c.op(op, 512, asm.R(d), asm.R(y), asm.R(x)).Mask = m
}
