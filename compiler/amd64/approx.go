package amd64

import (
	"math"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// The approximate functions of float32. Their errors are below what package
// dsl/fast states, one to three units in the last place; NaN, infinities and
// subnormal numbers are right.

// approximate emits an operation of [ir.RuleApprox] that no instruction does.
func (c *code) approximate(op ir.Op, x asm.Reg) asm.Reg {
	switch op {
	case ir.OpApproxExp2:
		return c.exp2(x)
	case ir.OpApproxLog2:
		return c.log2(x)
	case ir.OpApproxTanh:
		return c.tanh(x)
	}
	return c.sine(x, op == ir.OpApproxCos)
}

// mulAdd is x*y + z in float32.
func (c *code) mulAdd(x, y asm.Reg, z asm.Arg) asm.Reg {
	r := c.vec()
	c.copy(r, x)
	c.op(asm.VFMADD213PS, c.width(), asm.R(r), asm.R(y), z)
	return r
}

// addMul is z + x*y in float32.
func (c *code) addMul(z, x asm.Reg, y asm.Arg) asm.Reg {
	r := c.vec()
	c.copy(r, z)
	c.op(asm.VFMADD231PS, c.width(), asm.R(r), asm.R(x), y)
	return r
}

func (c *code) float(x float64) asm.Reg  { return c.constant32(math.Float32bits(float32(x))) }
func (c *code) floats(x float64) asm.Arg { return c.floatArg(false, x) }

// polynomial computes by Horner's rule, from the coefficient of the highest power.
func (c *code) polynomial(x asm.Reg, coefficients ...float64) asm.Reg {
	p := c.float(coefficients[0])
	for _, a := range coefficients[1:] {
		p = c.mulAdd(p, x, c.floats(a))
	}
	return p
}

// clamp keeps x between two numbers. Of NaN and a number the instructions give the
// second operand, so NaN stays.
func (c *code) clamp(x asm.Reg, least, most float64) asm.Reg {
	return c.vxx(asm.VMAXPS, c.float(least), c.vxx(asm.VMINPS, c.float(most), x))
}

// round rounds float32 to whole numbers.
func (c *code) round(x asm.Reg) asm.Reg {
	return c.vop(c.pick(asm.VROUNDPS, asm.VRNDSCALEPS), asm.R(x), asm.I(rounding[ir.OpRint]))
}

// exp2 is 2^x: the power of two that x rounds to, times a polynomial of the rest.
func (c *code) exp2(x asm.Reg) asm.Reg {
	x = c.clamp(x, -151, 129) // beyond, results are 0 and infinite
	n := c.round(x)
	f := c.vxx(asm.VSUBPS, x, n)
	p := c.polynomial(f, 0x1.44400394dc28fp-13, 0x1.5f0896ef7ca3ep-10, 0x1.3b2a1b6c94b67p-7,
		0x1.c6af6cce0b56fp-5, 0x1.ebfbe045f9924p-3, 0x1.62e4302fccffcp-1, 1)
	if c.isa == v4 {
		return c.vxx(asm.VSCALEFPS, p, n)
	}
	// Two factors, which both are normal numbers; only the last product rounds.
	i := c.vxx(asm.VCVTPS2DQ, n)
	first := c.vop(asm.VPSRAD, asm.R(i), asm.I(1))
	power := func(i asm.Reg) asm.Reg {
		return c.vop(asm.VPSLLD, asm.R(c.vop(asm.VPADDD, asm.R(i), c.all32(127))), asm.I(23))
	}
	return c.vxx(asm.VMULPS, c.vxx(asm.VMULPS, p, power(first)), power(c.vxx(asm.VPSUBD, i, first)))
}

// where32 puts a constant into the lanes of a mask.
func (c *code) where32(m, x asm.Reg, bits uint32) asm.Reg {
	r := c.vec()
	if c.isa == v3 {
		c.op(asm.VBLENDVPS, 256, asm.R(r), asm.R(x), c.all32(bits), asm.R(m))
		return r
	}
	c.op(asm.VPBLENDMD, 512, asm.R(r), asm.R(x), c.all32(bits)).Mask = m
	return r
}

// log2 takes x apart into a power of two and a factor from √½ to √2.
func (c *code) log2(x asm.Reg) asm.Reg {
	const sqrtHalf, one, exponent = 0x3f3504f3, 0x3f800000, 23
	tiny := c.compareFloat(false, c.width(), x, c.floats(0x1p-126), cmpLess)
	scaled := c.vop(asm.VMULPS, asm.R(x), c.floats(1<<24))
	y := c.vec()
	c.blendHalf(y, false, 0, tiny, scaled, x)
	y = c.vop(asm.VPADDD, asm.R(y), c.all32(one-sqrtHalf))
	bias := c.where32(tiny, c.constant32(127), 127+24)
	e := c.vxx(asm.VCVTDQ2PS, c.vxx(asm.VPSUBD, c.vop(asm.VPSRAD, asm.R(y), asm.I(exponent)), bias))
	m := c.vop(asm.VPADDD, asm.R(c.and32(y, 1<<exponent-1)), c.all32(sqrtHalf))
	f := c.vop(asm.VADDPS, asm.R(m), c.floats(-1))
	// log(1+f) = f - f²/2 + f³·P(f)
	p := c.polynomial(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1, -0.5)
	p = c.addMul(f, c.vxx(asm.VMULPS, f, f), asm.R(p))
	r := c.addMul(e, p, c.floats(math.Log2E))
	const notGE, equal = 0x19, 0
	r = c.where32(c.compareFloat(false, c.width(), x, c.floats(0), notGE), r, 0x7fc00000)
	r = c.where32(c.compareFloat(false, c.width(), x, c.floats(0), equal), r, 0xff800000)
	return c.where32(c.compareFloat(false, c.width(), x, c.floats(math.Inf(1)), equal), r, 0x7f800000)
}

// sine is the sine, or the cosine, of x: of what x has more than a multiple of π/2,
// which says which of the two polynomials it is, and the sign. Without any digits
// left of a large x the rest is kept in bounds, and so is the result.
func (c *code) sine(x asm.Reg, cosine bool) asm.Reg {
	const magic = 3 << 22 // its fraction counts in ones
	t := c.mulAdd(x, c.float(2/math.Pi), c.floats(magic))
	q := c.vop(asm.VADDPS, asm.R(t), c.floats(-magic))
	r := x
	for _, part := range []float64{-0x1.921fb6p0, 0x1.777a5cp-25, 0x1.ee59dap-50} { // -π/2
		r = c.addMul(r, q, c.floats(part))
	}
	r = c.clamp(r, -0.8, 0.8)
	if cosine {
		t = c.vop(asm.VPADDD, asm.R(t), c.all32(1))
	}
	rr := c.vxx(asm.VMULPS, r, r)
	s := c.polynomial(rr, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	s = c.addMul(r, c.vxx(asm.VMULPS, rr, r), asm.R(s))
	k := c.polynomial(rr, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1)
	odd := c.vop(asm.VPSLLD, asm.R(t), asm.I(31))
	d := c.vec()
	if c.isa == v3 {
		c.op(asm.VBLENDVPS, 256, asm.R(d), asm.R(s), asm.R(k), asm.R(odd))
	} else {
		m := c.mask()
		c.op(asm.VPTESTMD, 512, asm.R(m), asm.R(t), c.all32(1))
		c.op(asm.VPBLENDMD, 512, asm.R(d), asm.R(s), asm.R(k)).Mask = m
	}
	sign := c.and32(c.vop(asm.VPSLLD, asm.R(t), asm.I(30)), 1<<31)
	return c.vxx(c.pick(asm.VPXOR, asm.VPXORD), d, sign)
}

// tanh is a quotient of polynomials, beyond which the result is ±1.
func (c *code) tanh(x asm.Reg) asm.Reg {
	x = c.clamp(x, -7.90531110763549805, 7.90531110763549805)
	xx := c.vxx(asm.VMULPS, x, x)
	p := c.polynomial(xx, -5.6416762410444755e-14, 4.087417207402143e-11, -1.7583789182401143e-08,
		1.0467499187504161e-05, 3.0360963e-3, 1.302255336823433e-1, 0.9999998719479379)
	q := c.polynomial(xx, 2.4486609330362513e-4, 2.4222763997786688e-2, 4.6355838509634517e-1, 1)
	return c.vxx(asm.VDIVPS, c.vxx(asm.VMULPS, x, p), q)
}
