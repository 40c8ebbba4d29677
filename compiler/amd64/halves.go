package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Floats of 16 bits. What float32 does not hold exactly is first rounded to odd, to
// fewer digits: of the two neighbours the one whose last bit is set, which tells the
// rounding that follows all it needs to know (Boldo and Melquiond, 2008).

// fromHalf returns half-width floats as float32; it is exact.
func (c *code) fromHalf(from *ir.Type, x val) val {
	if from.Kind == ir.KBF16 {
		return c.like(x, func(r asm.Reg) asm.Reg { return c.vop(asm.VPSLLD, asm.R(r), asm.I(16)) })
	}
	return c.like(x, func(r asm.Reg) asm.Reg {
		if in, ok := c.extension(r); ok { // of what was loaded, or rounded, just now
			d := c.vec()
			c.masked(asm.VCVTPH2PS, c.width(), in.Mask, in.Zero, asm.R(d), in.Args[1])
			return d
		}
		if x.splat && c.isa == v4 {
			return c.sameHalf(r)
		}
		return c.vxx(asm.VCVTPH2PS, c.words(r))
	})
}

// sameHalf is a float of half precision that all lanes have: one of them is converted.
func (c *code) sameHalf(r asm.Reg) asm.Reg {
	if in, ok := c.maker(r, asm.VPBROADCASTDR); ok {
		r = c.vec()
		c.op(asm.VMOVD, 128, asm.R(r), in.Args[1])
	}
	d := c.vec()
	c.op(asm.VCVTPH2PS, 128, asm.R(d), asm.R(r))
	return c.vop(asm.VBROADCASTSS, asm.R(d))
}

// words packs the low 16 bits of each lane into half a vector.
func (c *code) words(x asm.Reg) asm.Reg {
	if c.isa == v4 {
		return c.vxx(asm.VPMOVDW, x)
	}
	return c.vop(asm.VPERMQ, asm.R(c.vxx(asm.VPACKUSDW, x, x)), asm.I(0x08))
}

// toHalf rounds once to a float of 16 bits.
func (c *code) toHalf(to, from *ir.Type, x val) val {
	switch {
	case from.Kind == ir.KF64:
		x = c.shortDouble(x)
	case from.IsInt() && (from.Size() < 4 || to.Kind == ir.KF16):
		// float32 holds all integers that are not infinite in f16.
		x = c.convert(ir.F32, from, x)
	case from.IsInt():
		if from.Size() == 8 {
			x = c.roundedToOdd53(from, x)
		}
		x = c.shortDouble(c.convert(ir.F64, from, x))
	}
	if to.Kind == ir.KBF16 {
		return c.like(x, c.toBF16)
	}
	return c.like(x, func(r asm.Reg) asm.Reg {
		return c.vxx(asm.VPMOVZXWD, c.vop(asm.VCVTPS2PH, asm.R(r), asm.I(0)))
	})
}

// toBF16 rounds float32 to its upper half, to nearest even. VCVTNEPS2BF16 of AVX512_BF16
// would not do: it takes denormals for zero, and its results that are denormal are zero.
func (c *code) toBF16(x asm.Reg) asm.Reg {
	odd := c.and32(c.vop(asm.VPSRLD, asm.R(x), asm.I(16)), 1)
	sum := c.vxx(asm.VPADDD, x, c.vop(asm.VPADDD, asm.R(odd), c.all32(0x7fff)))
	nan := c.compareFloat(false, c.width(), x, asm.R(x), cmpUnordered)
	if c.isa == v3 {
		return c.vop(asm.VPSRLD, asm.R(c.vxx(asm.VPOR, sum, nan)), asm.I(16))
	}
	r := c.vec()
	c.op(asm.VPBLENDMD, 512, asm.R(r), asm.R(c.vop(asm.VPSRLD, asm.R(sum), asm.I(16))), c.all32(0x7fc0)).Mask = nan
	return r
}

// shortDouble rounds float64 to odd, to 14 digits, and converts it to float32. The
// conversion only rounds what is too small for either of the 16-bit formats.
func (c *code) shortDouble(x val) val {
	const low = 1<<39 - 1
	return c.narrowed(x, func(r asm.Reg) asm.Reg { return c.vxx(asm.VCVTPD2PS, c.sticky(r, low, 0)) })
}

// roundedToOdd53 rounds 64-bit integers of more than 53 digits to odd, so that
// float64 holds them.
func (c *code) roundedToOdd53(t *ir.Type, x val) val {
	const low = 1<<11 - 1
	return c.both(x, func(r asm.Reg) asm.Reg {
		if c.isa == v4 {
			size := r
			if t.IsSigned() {
				size = c.vxx(asm.VPABSQ, r)
			}
			large := c.mask()
			c.op(asm.VPCMPUQ, 512, asm.R(large), asm.R(size), c.all64(1<<53), asm.I(intPredicate[ir.OpGt]))
			return c.sticky(r, low, large)
		}
		size := c.vop(asm.VPSRLQ, asm.R(r), asm.I(53))
		large := c.vxx(asm.VPCMPGTQ, size, c.zero())
		if t.IsSigned() {
			size = c.vxx(asm.VPXOR, r, c.vxx(asm.VPCMPGTQ, c.zero(), r))
			large = c.vop(asm.VPCMPGTQ, asm.R(size), c.all64(1<<53-1))
		}
		d := c.vec()
		c.op(asm.VBLENDVPD, 256, asm.R(d), asm.R(r), asm.R(c.sticky(r, low, 0)), asm.R(large))
		return d
	})
}

// sticky clears the low bits of 64-bit lanes and, where any was set, sets the next;
// with a mask only in its lanes.
func (c *code) sticky(x asm.Reg, low uint64, m asm.Reg) asm.Reg {
	if c.isa == v3 {
		carry := c.vop(asm.VPADDQ, asm.R(c.vop(asm.VPAND, asm.R(x), c.all64(low))), c.all64(low))
		return c.vop(asm.VPAND, asm.R(c.vxx(asm.VPOR, carry, x)), c.all64(^low))
	}
	carry := c.vop(asm.VPADDQ, asm.R(c.vop(asm.VPANDQ, asm.R(x), c.all64(low))), c.all64(low))
	r := c.vec()
	c.copy(r, x)
	const orThenAnd = 0xa8 // (a | b) & c
	c.op(asm.VPTERNLOGQ, 512, asm.R(r), asm.R(carry), c.all64(^low), asm.I(orThenAnd)).Mask = m
	return r
}
