package amd64

import (
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
	if in, ok := c.maker(x.reg[0], asm.VPMOVZXBD); ok && t.IsSigned() && t.Size() == 1 && in.Mask == 0 { // of what was loaded just now
		r.reg[0] = c.vop(asm.VPMOVSXBD, in.Args[1])
		return r
	}
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

// moveOf is the move of lanes of type t under a mask.
func moveOf(t *ir.Type) asm.Op {
	if t.Size() == 8 {
		return asm.VMOVDQU64
	}
	return asm.VMOVDQU32
}

type minMaxKey struct {
	op           ir.Op
	signed, wide bool
}

var minMax = map[minMaxKey]asm.Op{
	{ir.OpMin, true, false}: asm.VPMINSD, {ir.OpMin, false, false}: asm.VPMINUD,
	{ir.OpMax, true, false}: asm.VPMAXSD, {ir.OpMax, false, false}: asm.VPMAXUD,
	{ir.OpMin, true, true}: asm.VPMINSQ, {ir.OpMin, false, true}: asm.VPMINUQ,
	{ir.OpMax, true, true}: asm.VPMAXSQ, {ir.OpMax, false, true}: asm.VPMAXUQ,
}
