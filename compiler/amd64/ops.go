package amd64

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Operations on vectors. An operation on a value of 64 bits is done on each of its
// two vectors; narrow integers are computed in 32 bits and brought back into their
// range.

// class is how a type is computed with.
type class uint8

const (
	c32 class = iota // integers of up to 32 bits
	c64
	f32
	f64
	numClasses
)

func classOf(t *ir.Type) class {
	switch {
	case t.Kind == ir.KF32:
		return f32
	case t.Kind == ir.KF64:
		return f64
	case t.Size() == 8:
		return c64
	}
	return c32
}

// simple has the operations that are one instruction on x86-64-v4.
var simple = map[ir.Op][numClasses]asm.Op{
	ir.OpAdd: {asm.VPADDD, asm.VPADDQ, asm.VADDPS, asm.VADDPD},
	ir.OpSub: {asm.VPSUBD, asm.VPSUBQ, asm.VSUBPS, asm.VSUBPD},
	ir.OpMul: {asm.VPMULLD, asm.VPMULLQ, asm.VMULPS, asm.VMULPD},
	ir.OpAnd: {asm.VPANDD, asm.VPANDQ},
	ir.OpOr:  {asm.VPORD, asm.VPORQ},
	ir.OpXor: {asm.VPXORD, asm.VPXORQ},
	ir.OpDiv: {f32: asm.VDIVPS, f64: asm.VDIVPD},

	ir.OpApproxDiv: {f32: asm.VDIVPS},
}

// simple3 has what x86-64-v3 does instead.
var simple3 = map[asm.Op]asm.Op{
	asm.VPANDD: asm.VPAND, asm.VPANDQ: asm.VPAND, asm.VPORD: asm.VPOR, asm.VPORQ: asm.VPOR,
	asm.VPXORD: asm.VPXOR, asm.VPXORQ: asm.VPXOR, asm.VPMULLQ: asm.NoOp,
}

// takesConstant reports whether vector does without a register for operand i, which
// is a constant: it is in the instruction, or that reads it from memory.
func (c *code) takesConstant(v *ir.Value, i int) bool { return c.fromMemory(v) == i }

// fromMemory returns the operand, a constant, that vector takes as such, or -1.
func (c *code) fromMemory(v *ir.Value) int {
	isBool := v.Args[0].Type.Kind == ir.KBool
	switch op := v.Op; {
	case op == ir.OpShl, op == ir.OpShr:
		return constantAmong(v, 1)
	case op == ir.OpFMA:
		return constantAmong(v, 2, 1, 0)
	case op == ir.OpSelect && v.Type.Kind != ir.KBool:
		return constantAmong(v, 1)
	case isBool:
		return -1
	case op == ir.OpMul && c.powerOfTwo(v) >= 0:
		return 1
	case op >= ir.OpEq && op <= ir.OpGe:
		return constantAmong(v, 1, 0)
	case c.simpleOp(v) != asm.NoOp && op.Info().Commute, c.isMinMax(v):
		return constantAmong(v, 1, 0)
	case c.simpleOp(v) != asm.NoOp, op == ir.OpAndNot:
		return constantAmong(v, 1)
	}
	return -1
}

func constantAmong(v *ir.Value, among ...int) int {
	for _, i := range among {
		if v.Args[i].IsConst() {
			return i
		}
	}
	return -1
}

// powerOfTwo returns by how much an integer is shifted that is multiplied by a
// constant, or -1.
func (c *code) powerOfTwo(v *ir.Value) int64 {
	if n := v.Args[1]; n.IsConst() && v.Type.IsInt() && bits.OnesCount64(n.Imm) == 1 {
		return int64(bits.TrailingZeros64(n.Imm))
	}
	return -1
}

// simpleOp returns the instruction of an operation that is one.
func (c *code) simpleOp(v *ir.Value) asm.Op {
	if v.Type.Kind == ir.KBool {
		return asm.NoOp
	}
	op := simple[v.Op][classOf(v.Type)]
	if alt, has := simple3[op]; has && c.isa == v3 {
		return alt
	}
	return op
}

// isMinMax reports whether v is the minimum or maximum of integers that is one
// instruction.
func (c *code) isMinMax(v *ir.Value) bool {
	return (v.Op == ir.OpMin || v.Op == ir.OpMax) && v.Type.IsInt() && (v.Type.Size() < 8 || c.isa == v4)
}

// operand returns vector h of operand i, or the memory with its constant.
func (c *code) operand(v *ir.Value, args []val, i, h int) asm.Arg {
	if args[i].n == 0 {
		return c.constantArg(v.Args[i])
	}
	return asm.R(half(args[i], h))
}

// constantArg returns the operand for a constant in all lanes.
func (c *code) constantArg(v *ir.Value) asm.Arg {
	if v.Type.Size() == 8 {
		return c.all64(v.Imm)
	}
	return c.all32(uint32(v.Imm))
}

// binary emits an instruction on two operands, of which one may be a constant; if it
// is the first they are exchanged.
func (c *code) binary(v *ir.Value, args []val, op asm.Op) val {
	x, y := 0, 1
	if args[0].n == 0 {
		x, y = 1, 0
	}
	return c.halves(v, args, func(h int) asm.Reg {
		return c.vop(op, asm.R(half(args[x], h)), c.operand(v, args, y, h))
	})
}

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
		return c.fitAlways(v.Type, args[0]), nil
	case ir.OpShl, ir.OpShr:
		return c.shift(v, args), nil
	}
	if v.Type.IsFloat() {
		return c.floatOp(v, args)
	}
	return c.intOp(v, args)
}

// halves returns the value whose vectors fn makes.
func (c *code) halves(v *ir.Value, args []val, fn func(h int) asm.Reg) val {
	if v.Type.Size() != 8 {
		r := one(fn(0))
		r.splat = allSplat(v, args)
		return r
	}
	if allSplat(v, args) {
		return val{reg: [2]asm.Reg{fn(0)}, n: 1, splat: true}
	}
	return val{reg: [2]asm.Reg{fn(0), fn(1)}, n: 2}
}

func allSplat(v *ir.Value, args []val) bool {
	for _, a := range args {
		if !a.splat && a.n > 0 { // constants that have no register are equal, too
			return false
		}
	}
	return len(args) > 0
}

// fit brings the result of an operation on narrow integers back into their range.
func (c *code) fit(t *ir.Type, x val, op ir.Op) val {
	if op == ir.OpAnd || op == ir.OpOr || op == ir.OpXor {
		return x
	}
	return c.fitAlways(t, x)
}

func (c *code) fitAlways(t *ir.Type, x val) val {
	if t.Size() >= 4 || t.Kind == ir.KBool {
		return x
	}
	n := int64(32 - 8*t.Size())
	r := x
	if t.IsSigned() {
		r.reg[0] = c.vop(asm.VPSRAD, asm.R(c.vop(asm.VPSLLD, asm.R(x.reg[0]), asm.I(n))), asm.I(n))
	} else {
		r.reg[0] = c.and32(x.reg[0], 1<<(8*t.Size())-1)
	}
	return r
}

func (c *code) and32(x asm.Reg, m uint32) asm.Reg {
	return c.vop(c.pick(asm.VPAND, asm.VPANDD), asm.R(x), c.all32(m))
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

func (c *code) maskWidth() int {
	if c.isa == v3 {
		return 256
	}
	return 16
}

func (c *code) maskNot(x asm.Reg) asm.Reg {
	r := c.mask()
	if c.isa == v3 {
		c.op(asm.VPXOR, 256, asm.R(r), asm.R(x), c.all32(math.MaxUint32))
	} else {
		c.op(asm.KNOTW, 16, asm.R(r), asm.R(x))
	}
	return r
}

// The predicates of comparisons: of integers on x86-64-v4, and of floats.
var intPredicate = map[ir.Op]int64{ir.OpEq: 0, ir.OpLt: 1, ir.OpLe: 2, ir.OpNe: 4, ir.OpGe: 5, ir.OpGt: 6}
var floatPredicate = map[ir.Op]int64{ir.OpEq: 0, ir.OpLt: 0x11, ir.OpLe: 0x12, ir.OpNe: 4, ir.OpGe: 0x1d, ir.OpGt: 0x1e}

// comparison emits a comparison, of which one operand may be a constant.
func (c *code) comparison(v *ir.Value, args []val) val {
	op, x, y := v.Op, 0, 1
	if args[0].n == 0 {
		op, x, y = exchanged[op], 1, 0
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

// exchanged has the comparison of y with x that holds when that of x with y does.
var exchanged = map[ir.Op]ir.Op{
	ir.OpEq: ir.OpEq, ir.OpNe: ir.OpNe, ir.OpLt: ir.OpGt, ir.OpLe: ir.OpGe, ir.OpGt: ir.OpLt, ir.OpGe: ir.OpLe,
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

// moveOf is the move of lanes of type t under a mask.
func moveOf(t *ir.Type) asm.Op {
	if t.Size() == 8 {
		return asm.VMOVDQU64
	}
	return asm.VMOVDQU32
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
