package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Conversions that x86-64-v3 has no instruction for. They put the bits of integers
// into the fraction of floats whose exponent makes them worth as much, and take
// them out again.

const (
	two32 = 1 << 32
	two52 = 1 << 52 // its fraction counts in ones
	two84 = 1 << 84 // its fraction counts in 2^32
	// Three halves of 2^52: its fraction counts in ones, negative ones too.
	mid52 = 3 << 51
	mid67 = 3 << 67
)

// intToFloat3 converts unsigned 32-bit and 64-bit integers.
func (c *code) intToFloat3(to, from *ir.Type, x val) val {
	switch {
	case from.Size() < 8 && to.Kind == ir.KF32:
		return c.like(x, c.uint32ToFloat)
	case from.Size() < 8:
		return c.widen(x, c.uint32ToDouble)
	case to.Kind == ir.KF32:
		y := c.roundedToOdd53(from, x)
		return c.narrowed(c.intToFloat3(ir.F64, from, y), c.unary(asm.VCVTPD2PS))
	case from.IsSigned():
		return c.both(x, c.int64ToDouble)
	}
	return c.both(x, c.uint64ToDouble)
}

// uint32ToFloat adds the halves of the bits as floats: only the sum rounds.
func (c *code) uint32ToFloat(x asm.Reg) asm.Reg {
	lo := c.vop(asm.VPBLENDW, asm.R(x), c.all32(0x4b000000), asm.I(0xaa)) // 2^23 + low half
	hi := c.vop(asm.VPSRLD, asm.R(x), asm.I(16))
	hi = c.vop(asm.VPBLENDW, asm.R(hi), c.all32(0x53000000), asm.I(0xaa)) // 2^39 + high half * 2^16
	hi = c.vop(asm.VSUBPS, asm.R(hi), c.floatArg(false, 1<<39+1<<23))
	return c.vxx(asm.VADDPS, hi, lo)
}

// uint32ToDouble converts half a vector; it is exact.
func (c *code) uint32ToDouble(x asm.Reg) asm.Reg {
	bits := c.vop(asm.VPOR, asm.R(c.vxx(asm.VPMOVZXDQ, x)), c.floatArg(true, two52))
	return c.vop(asm.VSUBPD, asm.R(bits), c.floatArg(true, two52))
}

func (c *code) uint64ToDouble(x asm.Reg) asm.Reg {
	hi := c.vop(asm.VPOR, asm.R(c.vop(asm.VPSRLQ, asm.R(x), asm.I(32))), c.floatArg(true, two84))
	lo := c.vop(asm.VPBLENDW, asm.R(x), c.floatArg(true, two52), asm.I(0xcc))
	return c.vxx(asm.VADDPD, c.vop(asm.VSUBPD, asm.R(hi), c.floatArg(true, two84+two52)), lo)
}

// int64ToDouble takes the upper 16 bits, which have the sign, as a multiple of 2^48
// and the others as they are.
func (c *code) int64ToDouble(x asm.Reg) asm.Reg {
	hi := c.vop(asm.VPSRAD, asm.R(x), asm.I(16))
	hi = c.vop(asm.VPBLENDW, asm.R(hi), asm.R(c.zero()), asm.I(0x33))
	hi = c.vop(asm.VPADDQ, asm.R(hi), c.floatArg(true, mid67))
	lo := c.vop(asm.VPBLENDW, asm.R(x), c.floatArg(true, two52), asm.I(0x88))
	return c.vxx(asm.VADDPD, c.vop(asm.VSUBPD, asm.R(hi), c.floatArg(true, mid67+two52)), lo)
}

// floatToUint3 converts float32 to uint32 with the conversion to int32: from 2^31 on
// less 2^31, which is put back as a bit.
func (c *code) floatToUint3(x asm.Reg) asm.Reg {
	x = c.vop(asm.VMAXPS, asm.R(x), c.floatArg(false, 0)) // 0 for NaN
	high := c.vop(asm.VCMPPS, asm.R(x), c.floatArg(false, 1<<31), asm.I(cmpGE))
	over := c.vop(asm.VCMPPS, asm.R(x), c.floatArg(false, two32), asm.I(cmpGE))
	less := c.vxx(asm.VSUBPS, x, c.vop(asm.VANDPS, asm.R(high), c.floatArg(false, 1<<31)))
	r := c.vxx(asm.VPXOR, c.vxx(asm.VCVTTPS2DQ, less), c.vop(asm.VPSLLD, asm.R(high), asm.I(31)))
	return c.vxx(asm.VPOR, r, over)
}

// wholeBits3 returns float64, whose range is cut to that of uint32, with their whole
// part in the low 32 bits.
func (c *code) wholeBits3(x asm.Reg) asm.Reg {
	x = c.vop(asm.VMAXPD, asm.R(x), c.floatArg(true, 0)) // 0 for NaN
	x = c.vop(asm.VMINPD, asm.R(x), c.floatArg(true, two32-1))
	return c.vop(asm.VADDPD, asm.R(c.truncated(x)), c.floatArg(true, two52))
}

func (c *code) truncated(x asm.Reg) asm.Reg {
	return c.vop(asm.VROUNDPD, asm.R(x), asm.I(rounding[ir.OpTrunc]))
}

// floatToInt64on3 takes whole numbers apart into multiples of 2^32 and what is left,
// which both fit into the fraction of a float64.
func (c *code) floatToInt64on3(to *ir.Type, x asm.Reg) asm.Reg {
	least, limit, mid := 0.0, 0x1p64, float64(two52)
	if to.IsSigned() {
		least, limit, mid = -0x1p63, 0x1p63, mid52
	}
	t := c.truncated(c.vop(asm.VMAXPD, asm.R(x), c.floatArg(true, least)))
	hi := c.vop(asm.VMULPD, asm.R(t), c.floatArg(true, 0x1p-32))
	hi = c.vop(asm.VROUNDPD, asm.R(hi), asm.I(rounding[ir.OpFloor]))
	lo := c.vec()
	c.copy(lo, t)
	c.op(asm.VFNMADD231PD, 256, asm.R(lo), asm.R(hi), c.floatArg(true, two32))
	hi = c.vop(asm.VPSLLQ, asm.R(c.vop(asm.VADDPD, asm.R(hi), c.floatArg(true, mid))), asm.I(32))
	lo = c.vop(asm.VADDPD, asm.R(lo), c.floatArg(true, two52))
	r := c.vop(asm.VPBLENDD, asm.R(hi), asm.R(lo), asm.I(0x55))
	over := c.vop(asm.VCMPPD, asm.R(x), c.floatArg(true, limit), asm.I(cmpGE))
	if !to.IsSigned() {
		return c.vxx(asm.VPOR, r, over)
	}
	d := c.vec()
	c.op(asm.VBLENDVPD, 256, asm.R(d), asm.R(r), c.all64(1<<63-1), asm.R(over))
	return c.vxx(asm.VPAND, d, c.vop(asm.VCMPPD, asm.R(x), asm.R(x), asm.I(cmpOrdered)))
}
