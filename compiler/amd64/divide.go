package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// Division of integers, for which there is no instruction on vectors. A quotient of
// float64 rounded towards zero is the one of integers if both have at most 51 bits:
// the next whole number above it is further off than half a unit in its last place.

// divide emits div and rem. By zero the quotient is 0; MinInt / -1 is out of range,
// which converts to MinInt.
func (c *code) divide(v *ir.Value, args []val) (val, error) {
	t, x, y := v.Type, args[0], args[1]
	if t.Size() == 8 {
		return c.divideWide(v, x, y)
	}
	q := c.quotients(t, x, y)
	r := c.nonZero(q, y.reg[0])
	if v.Op == ir.OpRem {
		r = c.vxx(asm.VPSUBD, x.reg[0], c.vxx(asm.VPMULLD, r, y.reg[0]))
	}
	if v.Op == ir.OpDiv && t.Size() < 4 && t.IsSigned() { // only -MinInt does not fit
		return c.fitAlways(t, one(r)), nil
	}
	return one(r), nil
}

// quotients divides numbers of up to 32 bits.
func (c *code) quotients(t *ir.Type, x, y val) asm.Reg {
	a, b := c.intToFloat(ir.F64, t, x), c.intToFloat(ir.F64, t, y)
	part := func(h int) asm.Reg { return c.vxx(asm.VDIVPD, half(a, h), half(b, h)) }
	switch {
	case t.Kind != ir.KU32:
		return c.joinedHalves(c.vxx(asm.VCVTTPD2DQ, part(0)), c.vxx(asm.VCVTTPD2DQ, part(1)))
	case c.isa == v4:
		return c.joinedHalves(c.vxx(asm.VCVTTPD2UDQ, part(0)), c.vxx(asm.VCVTTPD2UDQ, part(1)))
	}
	whole := func(r asm.Reg) asm.Reg {
		return c.vop(asm.VADDPD, asm.R(c.truncated(r)), c.floatArg(true, two52))
	}
	return c.packMask(whole(part(0)), whole(part(1)))
}

// nonZero clears the lanes of q where y is 0.
func (c *code) nonZero(q, y asm.Reg) asm.Reg {
	if c.isa == v3 {
		return c.vxx(asm.VPANDN, c.vxx(asm.VPCMPEQD, y, c.zero()), q)
	}
	m := c.mask()
	c.op(asm.VPTESTMD, 512, asm.R(m), asm.R(y), asm.R(y))
	return c.only(m, asm.VMOVDQU32, asm.R(q))
}

// The range of 64-bit integers that float64 divides right: of 51 bits and a sign.
const (
	divBias   = 1 << 51
	divBeyond = ^uint64(1<<52 - 1) // bits that are set in what is not in it, plus bias
)

// divideWide divides 64 bits, as float64 if all lanes are in its range, else lane by
// lane.
func (c *code) divideWide(v *ir.Value, x, y val) (val, error) {
	slow, done := c.newLabel(), c.newLabel()
	r := val{reg: [2]asm.Reg{c.vec(), c.vec()}, n: 2}
	c.jumpIfBeyond(v.Type, x, y, slow)
	for h := range 2 {
		c.copy(r.reg[h], c.divideHalf(v, half(x, h), half(y, h)))
	}
	c.jump(done)
	c.bind(slow)
	s, err := c.byLane(v, []val{x, y})
	if err != nil {
		return val{}, err
	}
	c.copy(r.reg[0], s.reg[0])
	c.copy(r.reg[1], s.reg[1])
	c.bind(done)
	return r, nil
}

// jumpIfBeyond jumps unless all numbers are in the range that float64 divides.
func (c *code) jumpIfBeyond(t *ir.Type, x, y val, to label) {
	var bits asm.Reg
	seen := map[asm.Reg]bool{}
	for _, a := range []asm.Reg{half(x, 0), half(x, 1), half(y, 0), half(y, 1)} {
		if seen[a] {
			continue
		}
		seen[a] = true
		b := a
		if t.IsSigned() {
			b = c.vop(asm.VPADDQ, asm.R(a), c.all64(divBias))
		}
		if bits == 0 {
			bits = b
		} else {
			bits = c.vxx(c.pick(asm.VPOR, asm.VPORQ), bits, b)
		}
	}
	beyond := divBeyond
	if !t.IsSigned() {
		beyond = ^uint64(divBias - 1)
	}
	if c.isa == v4 {
		m := c.mask()
		c.op(asm.VPTESTMQ, 512, asm.R(m), asm.R(bits), c.all64(beyond))
		c.op(asm.KORTESTB, 8, asm.R(m), asm.R(m))
	} else {
		c.op(asm.VPTEST, 256, asm.R(bits), c.all64(beyond))
	}
	c.jcc(asm.CondNE, to)
}

// divideHalf divides numbers of 51 bits.
func (c *code) divideHalf(v *ir.Value, x, y asm.Reg) asm.Reg {
	var q asm.Reg
	if c.isa == v4 {
		m := c.mask()
		c.op(asm.VPTESTMQ, 512, asm.R(m), asm.R(y), asm.R(y))
		q = c.only(m, asm.VCVTTPD2QQ, asm.R(c.vxx(asm.VDIVPD, c.vxx(asm.VCVTQQ2PD, x), c.vxx(asm.VCVTQQ2PD, y))))
	} else {
		mid := c.floatArg(true, mid52)
		double := func(r asm.Reg) asm.Reg {
			return c.vop(asm.VSUBPD, asm.R(c.vop(asm.VPADDQ, asm.R(r), mid)), mid)
		}
		whole := c.truncated(c.vxx(asm.VDIVPD, double(x), double(y)))
		q = c.vop(asm.VPSUBQ, asm.R(c.vop(asm.VADDPD, asm.R(whole), mid)), mid)
		q = c.vxx(asm.VPANDN, c.vxx(asm.VPCMPEQQ, y, c.zero()), q)
	}
	if v.Op == ir.OpDiv {
		return q
	}
	return c.vxx(asm.VPSUBQ, x, c.product64(q, y))
}

// product64 is the low half of a product of 64 bits.
func (c *code) product64(x, y asm.Reg) asm.Reg {
	if c.isa == v4 {
		return c.vxx(asm.VPMULLQ, x, y)
	}
	return c.mul64(x, y)
}

// mulHigh64 is the high half of a product of 64 bits: of four products of 32 bits.
func (c *code) mulHigh64(t *ir.Type, x, y asm.Reg) asm.Reg {
	high := func(r asm.Reg) asm.Reg { return c.vop(asm.VPSRLQ, asm.R(r), asm.I(32)) }
	low := func(r asm.Reg) asm.Reg { return c.vop(c.pick(asm.VPAND, asm.VPANDQ), asm.R(r), c.all64(1<<32-1)) }
	add := func(a, b asm.Reg) asm.Reg { return c.vxx(asm.VPADDQ, a, b) }
	xh, yh := high(x), high(y)
	cross := add(c.vxx(asm.VPMULUDQ, xh, y), high(c.vxx(asm.VPMULUDQ, x, y)))
	other := add(c.vxx(asm.VPMULUDQ, x, yh), low(cross))
	r := add(add(c.vxx(asm.VPMULUDQ, xh, yh), high(cross)), high(other))
	if !t.IsSigned() {
		return r
	}
	// The unsigned product counts a negative factor 2^64 too high.
	r = c.vxx(asm.VPSUBQ, r, c.whereNegative(x, y))
	return c.vxx(asm.VPSUBQ, r, c.whereNegative(y, x))
}

// whereNegative returns y in the 64-bit lanes where x is negative, else 0.
func (c *code) whereNegative(x, y asm.Reg) asm.Reg {
	if c.isa == v4 {
		return c.vxx(asm.VPANDQ, c.vop(asm.VPSRAQ, asm.R(x), asm.I(63)), y)
	}
	return c.vxx(asm.VPAND, c.vxx(asm.VPCMPGTQ, c.zero(), x), y)
}
