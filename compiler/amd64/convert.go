package amd64

import (
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Conversions of numbers. Where the instructions of a level differ from what the
// IR wants (out of range, NaN, two roundings) operands are brought into a form in
// which they do not, see also convert3.go for what x86-64-v3 lacks.

// Predicates of comparisons of floats.
const (
	cmpUnordered = 0x03
	cmpOrdered   = 0x07
	cmpLess      = 0x11
	cmpGE        = 0x1d
	cmpGT        = 0x1e
)

// convert converts numbers between any two types.
func (c *code) convert(to, from *ir.Type, x val) val {
	switch {
	case from.IsInt() && to.IsInt():
		return c.convertInts(to, from, x)
	case from == to:
		return x
	case from.IsHalf():
		return c.convert(to, ir.F32, c.fromHalf(from, x))
	case to.IsHalf():
		return c.toHalf(to, from, x)
	case from.IsInt():
		return c.intToFloat(to, from, x)
	case to.IsInt():
		return c.floatToInt(to, from, x)
	case to.Kind == ir.KF64:
		return c.widen(x, c.unary(asm.VCVTPS2PD))
	}
	return c.narrowed(x, c.unary(asm.VCVTPD2PS))
}

// unary is an instruction with one operand as a function.
func (c *code) unary(op asm.Op) func(asm.Reg) asm.Reg {
	return func(x asm.Reg) asm.Reg { return c.vxx(op, x) }
}

// widen makes a value of 64 bits of one of 32; fn gets half a vector.
func (c *code) widen(x val, fn func(asm.Reg) asm.Reg) val {
	if x.splat {
		return val{reg: [2]asm.Reg{fn(x.reg[0])}, n: 1, splat: true}
	}
	return val{reg: [2]asm.Reg{fn(x.reg[0]), fn(c.upper(x.reg[0]))}, n: 2}
}

// narrowed makes a value of 32 bits of one of 64; fn returns half a vector.
func (c *code) narrowed(x val, fn func(asm.Reg) asm.Reg) val {
	lo := fn(x.reg[0])
	hi := lo
	if !x.splat {
		hi = fn(half(x, 1))
	}
	return val{reg: [2]asm.Reg{c.joinedHalves(lo, hi)}, n: 1, splat: x.splat}
}

// both makes a value of 64 bits of one of 64.
func (c *code) both(x val, fn func(asm.Reg) asm.Reg) val {
	if x.splat {
		return val{reg: [2]asm.Reg{fn(x.reg[0])}, n: 1, splat: true}
	}
	return val{reg: [2]asm.Reg{fn(x.reg[0]), fn(half(x, 1))}, n: 2}
}

// like makes a value of 32 bits of one of 32.
func (c *code) like(x val, fn func(asm.Reg) asm.Reg) val {
	return val{reg: [2]asm.Reg{fn(x.reg[0])}, n: 1, splat: x.splat}
}

func (c *code) convertInts(to, from *ir.Type, x val) val {
	switch {
	case to.Size() == 8 && from.Size() == 8:
		return x
	case to.Size() == 8:
		return c.extend(x, from.IsSigned())
	case from.Size() == 8:
		x = c.truncate(x)
	case to.Size() > from.Size() && (!from.IsSigned() || to.IsSigned() || to.Size() == 4), to.Size() == 4, to == from:
		return x
	}
	return c.fitAlways(to, x)
}

// intToFloat rounds once.
func (c *code) intToFloat(to, from *ir.Type, x val) val {
	unsigned := from.Kind == ir.KU32 || from.Kind == ir.KU64
	if c.isa == v3 && (unsigned || from.Size() == 8) {
		return c.intToFloat3(to, from, x)
	}
	pick := func(s, u asm.Op) func(asm.Reg) asm.Reg {
		if unsigned {
			s = u
		}
		return c.unary(s)
	}
	switch {
	case to.Kind == ir.KF32 && from.Size() < 8:
		return c.like(x, pick(asm.VCVTDQ2PS, asm.VCVTUDQ2PS))
	case from.Size() < 8:
		return c.widen(x, pick(asm.VCVTDQ2PD, asm.VCVTUDQ2PD))
	case to.Kind == ir.KF32:
		return c.narrowed(x, pick(asm.VCVTQQ2PS, asm.VCVTUQQ2PS))
	}
	return c.both(x, pick(asm.VCVTQQ2PD, asm.VCVTUQQ2PD))
}

// floatToInt rounds towards zero; what is out of range becomes the nearest number
// that is not, NaN 0.
func (c *code) floatToInt(to, from *ir.Type, x val) val {
	wide := from.Kind == ir.KF64
	switch {
	case to.Size() < 8 && wide:
		if to.Kind == ir.KU32 && c.isa == v3 {
			return one(c.packMask(c.wholeBits3(x.reg[0]), c.wholeBits3(half(x, 1))))
		}
		return c.narrowed(x, func(r asm.Reg) asm.Reg { return c.toInt32(to, true, r) })
	case to.Size() < 8:
		if to.Kind == ir.KU32 && c.isa == v3 {
			return c.like(x, c.floatToUint3)
		}
		return c.like(x, func(r asm.Reg) asm.Reg { return c.toInt32(to, false, r) })
	case c.isa == v3 && !wide:
		return c.floatToInt(to, ir.F64, c.widen(x, c.unary(asm.VCVTPS2PD)))
	case c.isa == v3:
		return c.both(x, func(r asm.Reg) asm.Reg { return c.floatToInt64on3(to, r) })
	case wide:
		return c.both(x, func(r asm.Reg) asm.Reg { return c.toInt64(to, true, r) })
	}
	return c.widen(x, func(r asm.Reg) asm.Reg { return c.toInt64(to, false, r) })
}

// rangeOf returns the least and the largest number of a type of less than 64 bits.
func rangeOf(t *ir.Type) (lo, hi float64) {
	n := t.Bits()
	if t.IsSigned() {
		return -math.Ldexp(1, n-1), math.Ldexp(1, n-1) - 1
	}
	return 0, math.Ldexp(1, n) - 1
}

// floatArg is the operand for a float in all lanes.
func (c *code) floatArg(wide bool, x float64) asm.Arg {
	if wide {
		return c.all64(math.Float64bits(x))
	}
	return c.all32(math.Float32bits(float32(x)))
}

// compareFloat returns the lanes for which a predicate holds. Of float32 that become
// 64 bits it compares half a vector.
func (c *code) compareFloat(wide bool, width int, x asm.Reg, y asm.Arg, predicate int64) asm.Reg {
	op := c.pick(asm.VCMPPS, asm.VCMPPSK)
	if wide {
		op = c.pick(asm.VCMPPD, asm.VCMPPDK)
	}
	m := c.mask()
	c.op(op, width, asm.R(m), asm.R(x), y, asm.I(predicate))
	return m
}

// only emits an instruction for the lanes of a mask; the others become zero.
func (c *code) only(m asm.Reg, op asm.Op, args ...asm.Arg) asm.Reg {
	r := c.vec()
	c.masked(op, c.width(), m, true, append([]asm.Arg{asm.R(r)}, args...)...)
	return r
}

// toInt32 converts to integers of up to 32 bits; of float64 half a vector.
func (c *code) toInt32(to *ir.Type, wide bool, x asm.Reg) asm.Reg {
	lo, hi := rangeOf(to)
	most, least, toSigned, toUnsigned := asm.VMINPS, asm.VMAXPS, asm.VCVTTPS2DQ, asm.VCVTTPS2UDQ
	if wide {
		most, least, toSigned, toUnsigned = asm.VMINPD, asm.VMAXPD, asm.VCVTTPD2DQ, asm.VCVTTPD2UDQ
	}
	switch {
	case to.Kind == ir.KU32: // too large gives all ones
		return c.only(c.compareFloat(wide, c.width(), x, c.floatArg(wide, 0), cmpGT), toUnsigned, asm.R(x))
	case !to.IsSigned(): // the maximum of NaN and 0 is 0
		x = c.vop(least, asm.R(x), c.floatArg(wide, 0))
		return c.vxx(toSigned, c.vop(most, asm.R(x), c.floatArg(wide, hi)))
	case to.Size() == 4 && !wide:
		return c.floatToInt32(x)
	}
	x = c.numbersUpTo(wide, x, hi)
	if to.Size() < 4 {
		x = c.vop(least, asm.R(x), c.floatArg(wide, lo))
	}
	return c.vxx(toSigned, x) // too small gives the least number
}

// numbersUpTo returns 0 for NaN and at most hi.
func (c *code) numbersUpTo(wide bool, x asm.Reg, hi float64) asm.Reg {
	op, and := asm.VMINPS, asm.VANDPS
	if wide {
		op, and = asm.VMINPD, asm.VANDPD
	}
	m := c.compareFloat(wide, c.width(), x, asm.R(x), cmpOrdered)
	if c.isa == v4 {
		return c.only(m, op, asm.R(x), c.floatArg(wide, hi))
	}
	return c.vxx(and, c.vop(op, asm.R(x), c.floatArg(wide, hi)), m)
}

// floatToInt32 converts float32, which does not have the largest int32: what is
// above gives the least number, of which all bits are to be others.
func (c *code) floatToInt32(x asm.Reg) asm.Reg {
	limit := c.floatArg(false, 1<<31)
	if c.isa == v3 {
		high := c.vop(asm.VCMPPS, asm.R(x), limit, asm.I(cmpGE))
		r := c.vxx(asm.VPXOR, c.vxx(asm.VCVTTPS2DQ, x), high)
		return c.vxx(asm.VPAND, r, c.vop(asm.VCMPPS, asm.R(x), asm.R(x), asm.I(cmpOrdered)))
	}
	r := c.only(c.compareFloat(false, 512, x, asm.R(x), cmpOrdered), asm.VCVTTPS2DQ, asm.R(x))
	high := c.compareFloat(false, 512, x, limit, cmpGE)
	c.op(asm.VPBROADCASTD, 512, asm.R(r), c.pool([]uint32{math.MaxInt32})).Mask = high
	return r
}

// toInt64 converts to 64 bits on x86-64-v4; of float32 half a vector.
func (c *code) toInt64(to *ir.Type, wide bool, x asm.Reg) asm.Reg {
	width, signed, unsigned := 256, asm.VCVTTPS2QQ, asm.VCVTTPS2UQQ
	if wide {
		width, signed, unsigned = 512, asm.VCVTTPD2QQ, asm.VCVTTPD2UQQ
	}
	if !to.IsSigned() { // too large gives all ones
		return c.only(c.compareFloat(wide, width, x, c.floatArg(wide, 0), cmpGT), unsigned, asm.R(x))
	}
	r := c.only(c.compareFloat(wide, width, x, asm.R(x), cmpOrdered), signed, asm.R(x))
	high := c.compareFloat(wide, width, x, c.floatArg(wide, 1<<63), cmpGE)
	c.op(asm.VPBROADCASTQ, 512, asm.R(r), c.pool([]uint32{math.MaxUint32, math.MaxInt32})).Mask = high
	return r
}

// convertLow converts what is in the lowest lane.
func (c *code) convertLow(x asm.Reg, from, to *ir.Type) asm.Reg {
	return c.convert(to, from, val{reg: [2]asm.Reg{x}, n: 1, splat: true}).reg[0]
}

// narrow makes a value of 32 bits of one of 64, whose halves op narrows.
func (c *code) narrow(op asm.Op, x val) val { return c.narrowed(x, c.unary(op)) }
