package amd64

import (
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// convert converts numbers between any two types.
func (c *code) convert(to, from *ir.Type, x val) (val, error) {
	if x.n == 1 && from.Size() == 8 { // equal lanes
		x = val{reg: [2]asm.Reg{x.reg[0], x.reg[0]}, n: 2}
	}
	switch {
	case from.IsInt() && to.IsInt():
		return c.convertInts(to, from, x), nil
	case from.IsHalf():
		y := c.fromHalf(from, x)
		if to.Kind == ir.KF32 {
			return y, nil
		}
		return c.convert(to, ir.F32, y)
	case to.IsHalf():
		return c.toHalf(to, from, x)
	case from.IsInt():
		return c.intToFloat(to, from, x)
	case to.IsInt():
		return c.floatToInt(to, from, x)
	case to.Kind == ir.KF64 && from.Kind == ir.KF32:
		return c.pair(asm.VCVTPS2PD, x.reg[0], c.upper(x.reg[0])), nil
	case to.Kind == ir.KF32 && from.Kind == ir.KF64:
		return c.narrow(asm.VCVTPD2PS, x), nil
	}
	return x, nil
}

// pair makes a value of 64 bits of two vectors that op takes.
func (c *code) pair(op asm.Op, lo, hi asm.Reg) val {
	return val{reg: [2]asm.Reg{c.vxx(op, lo), c.vxx(op, hi)}, n: 2}
}

// narrow makes a value of 32 bits of one of 64, whose halves op narrows.
func (c *code) narrow(op asm.Op, x val) val {
	return one(c.joinedHalves(c.vxx(op, x.reg[0]), c.vxx(op, half(x, 1))))
}

func (c *code) convertInts(to, from *ir.Type, x val) val {
	switch {
	case to.Size() == 8 && from.Size() == 8:
		return x
	case to.Size() == 8:
		return c.extend(x, from.IsSigned())
	case from.Size() == 8:
		x = c.truncate(x)
	case to.Size() > from.Size() && (!from.IsSigned() || to.IsSigned() || to.Size() == 4), to.Size() == 4:
		return x
	}
	return c.fitAlways(to, x)
}

// fromHalf returns half-width floats as float32; it is exact.
func (c *code) fromHalf(from *ir.Type, x val) val {
	if from.Kind == ir.KBF16 {
		return one(c.vop(asm.VPSLLD, asm.R(x.reg[0]), asm.I(16)))
	}
	return one(c.vxx(asm.VCVTPH2PS, c.words(x.reg[0])))
}

// words packs the low 16 bits of each lane into half a vector.
func (c *code) words(x asm.Reg) asm.Reg {
	if c.isa == v4 {
		return c.vxx(asm.VPMOVDW, x)
	}
	t := c.vxx(asm.VPACKUSDW, x, x)
	r := c.vec()
	c.op(asm.VPERMQ, 256, asm.R(r), asm.R(t), asm.I(0x08))
	return r
}

// toHalf rounds once to a float of 16 bits. What float32 does not hold exactly is
// first rounded there to odd: of the two neighbours the one whose last bit is set,
// which tells the second rounding all that it needs.
func (c *code) toHalf(to, from *ir.Type, x val) (val, error) {
	switch {
	case from.Kind == ir.KF64:
		x = c.roundToOdd(x)
	case from.IsInt() && from.Size() == 8:
		return val{}, errLater
	case from.IsInt() && from.Size() == 4:
		y, err := c.convert(ir.F64, from, x)
		if err != nil {
			return val{}, err
		}
		x = c.roundToOdd(y)
	case from.IsInt():
		y, err := c.convert(ir.F32, from, x)
		if err != nil {
			return val{}, err
		}
		x = y
	}
	if to.Kind == ir.KBF16 {
		return one(c.toBF16(x.reg[0])), nil
	}
	h := c.vec()
	c.op(asm.VCVTPS2PH, c.width(), asm.R(h), asm.R(x.reg[0]), asm.I(0))
	return one(c.vxx(asm.VPMOVZXWD, h)), nil
}

// toBF16 rounds float32 to its upper half, to nearest even.
func (c *code) toBF16(x asm.Reg) asm.Reg {
	odd := c.and32(c.vop(asm.VPSRLD, asm.R(x), asm.I(16)), 1)
	sum := c.vxx(asm.VPADDD, x, c.vop(asm.VPADDD, asm.R(odd), c.all32(0x7fff)))
	r := c.vop(asm.VPSRLD, asm.R(sum), asm.I(16))
	return c.whereNaN(x, r, c.constant32(0x7fc0))
}

// whereNaN returns y where x is not a number, else r.
func (c *code) whereNaN(x, r, y asm.Reg) asm.Reg {
	const unordered = 3
	m, d := c.mask(), c.vec()
	c.op(c.pick(asm.VCMPPS, asm.VCMPPSK), c.width(), asm.R(m), asm.R(x), asm.R(x), asm.I(unordered))
	c.blendHalf(d, false, 0, m, y, r)
	return d
}

// roundToOdd converts float64 to float32.
func (c *code) roundToOdd(x val) val {
	y := c.narrow(asm.VCVTPD2PS, x)
	back := c.pair(asm.VCVTPS2PD, y.reg[0], c.upper(y.reg[0]))
	absX := val{reg: [2]asm.Reg{c.magnitude(true, x.reg[0]), c.magnitude(true, x.reg[1])}, n: 2}
	absB := val{reg: [2]asm.Reg{c.magnitude(true, back.reg[0]), c.magnitude(true, back.reg[1])}, n: 2}
	above := c.compare(ir.OpGt, ir.F64, []val{absB, absX}).reg[0]
	inexact := c.compare(ir.OpNe, ir.F64, []val{absB, absX}).reg[0]
	// Rounded away: the neighbour towards zero is one less. NaN is unequal to itself,
	// and stays NaN with its last bit set.
	down := c.vop(asm.VPADDD, asm.R(y.reg[0]), c.all32(math.MaxUint32))
	t, r := c.vec(), c.vec()
	c.blendHalf(t, false, 0, above, down, y.reg[0])
	odd := c.vop(c.pick(asm.VPOR, asm.VPORD), asm.R(t), c.all32(1))
	c.blendHalf(r, false, 0, inexact, odd, t)
	return one(r)
}

func (c *code) intToFloat(to, from *ir.Type, x val) (val, error) {
	unsigned := from.Kind == ir.KU32 || from.Kind == ir.KU64
	if c.isa == v3 && (unsigned || from.Size() == 8) {
		return val{}, errLater
	}
	switch {
	case to.Kind == ir.KF32 && from.Size() < 8:
		if unsigned {
			return one(c.vxx(asm.VCVTUDQ2PS, x.reg[0])), nil
		}
		return one(c.vxx(asm.VCVTDQ2PS, x.reg[0])), nil
	case from.Size() < 8:
		op := asm.VCVTDQ2PD
		if unsigned {
			op = asm.VCVTUDQ2PD
		}
		return c.pair(op, x.reg[0], c.upper(x.reg[0])), nil
	case to.Kind == ir.KF32:
		if unsigned {
			return c.narrow(asm.VCVTUQQ2PS, x), nil
		}
		return c.narrow(asm.VCVTQQ2PS, x), nil
	case unsigned:
		return c.pair(asm.VCVTUQQ2PD, x.reg[0], x.reg[1]), nil
	}
	return c.pair(asm.VCVTQQ2PD, x.reg[0], x.reg[1]), nil
}

// floatToInt rounds towards zero; what is out of range becomes the nearest number
// that is not, NaN 0.
func (c *code) floatToInt(to, from *ir.Type, x val) (val, error) {
	if c.isa == v3 && (to.Size() == 8 || to.Kind == ir.KU32) {
		return val{}, errLater
	}
	if from.Kind == ir.KF64 && to.Size() < 8 {
		return c.clampWide(to, x), nil
	}
	if to.Size() < 4 {
		return one(c.clampNarrow(to, x.reg[0])), nil
	}
	unsigned := to.Kind == ir.KU32 || to.Kind == ir.KU64
	limit := float32(1 << 31)
	if to.Size() == 8 {
		limit = 1 << 63
	}
	f := func(h int) asm.Reg { return half(x, h) }
	if to.Size() < 8 {
		if unsigned { // max gives 0 for NaN; too large gives all ones
			return one(c.vxx(asm.VCVTTPS2UDQ, c.vxx(asm.VMAXPS, f(0), c.zero()))), nil
		}
		r := one(c.vxx(asm.VCVTTPS2DQ, f(0)))
		return c.saturate(to, from, x, r, limit), nil
	}
	if from.Kind == ir.KF32 {
		lo, hi := x.reg[0], asm.Reg(0)
		if unsigned {
			lo = c.vxx(asm.VMAXPS, lo, c.zero())
			return c.pair(asm.VCVTTPS2UQQ, lo, c.upper(lo)), nil
		}
		hi = c.upper(lo)
		return c.saturate(to, from, x, c.pair(asm.VCVTTPS2QQ, lo, hi), limit), nil
	}
	if unsigned {
		return c.pair(asm.VCVTTPD2UQQ, c.vxx(asm.VMAXPD, f(0), c.zero()), c.vxx(asm.VMAXPD, f(1), c.zero())), nil
	}
	return c.saturate(to, from, x, c.pair(asm.VCVTTPD2QQ, f(0), f(1)), limit), nil
}

// saturate mends what conversions to signed integers give out of range, the least
// number: the largest above, 0 for NaN.
func (c *code) saturate(to, from *ir.Type, x, r val, limit float32) val {
	var lim val
	if from.Kind == ir.KF64 {
		l := c.constant64(math.Float64bits(float64(limit)))
		lim = val{reg: [2]asm.Reg{l, l}, n: 2}
	} else {
		lim = one(c.constant32(math.Float32bits(limit)))
	}
	high := c.compare(ir.OpGe, from, []val{x, lim}).reg[0]
	nan := c.compare(ir.OpNe, from, []val{x, x}).reg[0]
	var most, none val
	if to.Size() == 8 {
		m := c.constant64(1<<63 - 1)
		most = val{reg: [2]asm.Reg{m, m}, n: 2}
		z := c.zero()
		none = val{reg: [2]asm.Reg{z, z}, n: 2}
	} else {
		most, none = one(c.constant32(1<<31-1)), one(c.zero())
	}
	return c.blend(to, nan, none, c.blend(to, high, most, r))
}

// rangeOf returns the least and the largest number of a type of less than 64 bits.
func rangeOf(t *ir.Type) (lo, hi float64) {
	n := t.Bits()
	if t.IsSigned() {
		return -math.Ldexp(1, n-1), math.Ldexp(1, n-1) - 1
	}
	return 0, math.Ldexp(1, n) - 1
}

// clampNarrow converts float32 to integers of 8 and 16 bits, whose limits float32
// has.
func (c *code) clampNarrow(to *ir.Type, x asm.Reg) asm.Reg {
	lo, hi := rangeOf(to)
	y := c.vxx(asm.VMAXPS, x, c.constant32(math.Float32bits(float32(lo)))) // the limit for NaN
	y = c.vxx(asm.VMINPS, y, c.constant32(math.Float32bits(float32(hi))))
	return c.whereNaN(x, c.vxx(asm.VCVTTPS2DQ, y), c.zero())
}

// clampWide converts float64 to integers of up to 32 bits, whose limits float64 has.
func (c *code) clampWide(to *ir.Type, x val) val {
	lo, hi := rangeOf(to)
	l, h := c.constant64(math.Float64bits(lo)), c.constant64(math.Float64bits(hi))
	op := asm.VCVTTPD2DQ
	if to.Kind == ir.KU32 {
		op = asm.VCVTTPD2UDQ
	}
	clamp := func(r asm.Reg) asm.Reg { return c.vxx(asm.VMINPD, c.vxx(asm.VMAXPD, r, l), h) }
	r := c.narrow(op, val{reg: [2]asm.Reg{clamp(x.reg[0]), clamp(half(x, 1))}, n: 2})
	nan := c.compare(ir.OpNe, ir.F64, []val{x, x}).reg[0]
	return c.blend(ir.I32, nan, one(c.zero()), r)
}

// convertLow converts what is in the lowest lane.
func (c *code) convertLow(x asm.Reg, from, to *ir.Type) asm.Reg {
	r, err := c.convert(to, from, one(x))
	if err != nil {
		panic(err) // halves and float32 convert on all levels
	}
	return r.reg[0]
}
