package amd64

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/ir"
)

// intOp emits an operation on integers that is more than one instruction.
func (c *code) intOp(v *ir.Value, args []val) (val, error) {
	t, wide := v.Type, v.Type.Size() == 8
	each := func(fn func(h int) asm.Reg) (val, error) { return c.fit(t, c.halves(v, args, fn), v.Op), nil }
	x := func(h int) asm.Reg { return half(args[0], h) }
	y := func(h int) asm.Reg { return half(args[1], h) }
	pick := func(narrow, wide64 asm.Op) asm.Op {
		if wide {
			return wide64
		}
		return narrow
	}
	switch v.Op {
	case ir.OpNeg:
		return each(func(h int) asm.Reg { return c.vxx(pick(asm.VPSUBD, asm.VPSUBQ), c.zero(), x(h)) })
	case ir.OpNot:
		return each(func(h int) asm.Reg { return c.vop(c.pick(asm.VPXOR, asm.VPXORD), asm.R(x(h)), c.all32(1<<32-1)) })
	case ir.OpAndNot:
		if args[1].n == 0 {
			mask := &ir.Value{Op: ir.OpConst, Type: t, Imm: ^v.Args[1].Imm}
			and := c.pick(asm.VPAND, asm.VPANDD)
			if wide {
				and = c.pick(asm.VPAND, asm.VPANDQ)
			}
			return each(func(h int) asm.Reg { return c.vop(and, asm.R(x(h)), c.constantArg(mask)) })
		}
		return each(func(h int) asm.Reg { return c.vxx(c.pick(asm.VPANDN, asm.VPANDND), y(h), x(h)) })
	case ir.OpMul:
		if wide {
			return each(func(h int) asm.Reg { return c.mul64(x(h), y(h)) })
		}
	case ir.OpMin, ir.OpMax:
		if !wide || c.isa == v4 {
			return c.binary(v, args, minMax[minMaxKey{v.Op, t.IsSigned(), wide}]), nil
		}
		op := ir.OpLt
		if v.Op == ir.OpMax {
			op = ir.OpGt
		}
		return c.blend(t, c.compare(op, t, args).reg[0], args[0], args[1]), nil
	case ir.OpMulHi:
		if wide {
			return each(func(h int) asm.Reg { return c.mulHigh64(t, x(h), y(h)) })
		}
		return one(c.mulHigh(t, x(0), y(0))), nil
	case ir.OpPopcount:
		return each(func(h int) asm.Reg { return c.popcount(wide, c.unsignedLanes(t, x(h))) })
	case ir.OpCtz:
		return each(func(h int) asm.Reg { return c.trailingZeros(t, wide, x(h)) })
	case ir.OpClz:
		return each(func(h int) asm.Reg { return c.leadingZeros(t, wide, c.unsignedLanes(t, x(h))) })
	case ir.OpReverse:
		return each(func(h int) asm.Reg { return c.reverse(t, x(h)) })
	case ir.OpPermute:
		return one(c.permuteBytes(x(0), y(0), args[2].reg[0], maySet(v.Args[2])&0x8888 == 0)), nil
	case ir.OpDot4:
		return one(c.dot4(v, x(0), y(0), args[2].reg[0])), nil
	case ir.OpDiv, ir.OpRem:
		return c.divide(v, args)
	}
	return val{}, fmt.Errorf("vectors have no %v of %v", v.Op, t)
}

// unsignedLanes returns the bits of a value of type t without those of its sign
// above.
func (c *code) unsignedLanes(t *ir.Type, x asm.Reg) asm.Reg {
	if t.Size() >= 4 || !t.IsSigned() {
		return x
	}
	return c.and32(x, 1<<(8*t.Size())-1)
}

// mulHigh is the high half of a product of up to 32 bits.
func (c *code) mulHigh(t *ir.Type, x, y asm.Reg) asm.Reg {
	if t.Size() < 4 { // the whole product is in 32 bits
		op := asm.VPSRLD
		if t.IsSigned() {
			op = asm.VPSRAD
		}
		return c.vop(op, asm.R(c.vxx(asm.VPMULLD, x, y)), asm.I(int64(8*t.Size())))
	}
	op := asm.VPMULUDQ
	if t.IsSigned() {
		op = asm.VPMULDQ
	}
	even := c.vop(asm.VPSRLQ, asm.R(c.vxx(op, x, y)), asm.I(32))
	odd := c.vxx(op, c.vop(asm.VPSRLQ, asm.R(x), asm.I(32)), c.vop(asm.VPSRLQ, asm.R(y), asm.I(32)))
	top := c.vop(c.pick(asm.VPAND, asm.VPANDQ), asm.R(odd), c.all64(0xffffffff00000000))
	return c.vxx(c.pick(asm.VPOR, asm.VPORD), even, top)
}

// bytesTable returns the constant of 16 bytes, repeated over the vector.
func (c *code) bytesTable(words [4]uint32) asm.Reg {
	var w []uint32
	for range c.bytes() / 16 {
		w = append(w, words[:]...)
	}
	return c.vop(asm.VMOVUPS, c.pool(w))
}

// popcount counts bits: those of the halves of each byte by a table, then it adds
// up the bytes.
func (c *code) popcount(wide bool, x asm.Reg) asm.Reg {
	table := c.bytesTable([4]uint32{0x02010100, 0x03020201, 0x03020201, 0x04030302})
	low := c.and32(x, 0x0f0f0f0f)
	high := c.and32(c.vop(asm.VPSRLW, asm.R(x), asm.I(4)), 0x0f0f0f0f)
	n := c.vxx(asm.VPADDB, c.vxx(asm.VPSHUFB, table, low), c.vxx(asm.VPSHUFB, table, high))
	if wide {
		return c.vxx(asm.VPSADBW, n, c.zero())
	}
	pairs := c.vxx(asm.VPMADDUBSW, n, c.constant32(0x01010101))
	return c.vxx(asm.VPMADDWD, pairs, c.constant32(0x00010001))
}

// trailingZeros counts the ones below the lowest bit; a bit behind the last of a
// narrow type ends the count.
func (c *code) trailingZeros(t *ir.Type, wide bool, x asm.Reg) asm.Reg {
	if t.Size() < 4 {
		x = c.vop(c.pick(asm.VPOR, asm.VPORD), asm.R(x), c.all32(1<<(8*t.Size())))
	}
	less := c.vop(asm.VPADDD, asm.R(x), c.all32(1<<32-1))
	if wide {
		less = c.vop(asm.VPADDQ, asm.R(x), c.all64(1<<64-1))
	}
	below := c.vxx(c.pick(asm.VPANDN, asm.VPANDND), x, less)
	switch {
	case c.isa == v3:
		return c.popcount(wide, below)
	case wide:
		return c.vxx(asm.VPSUBQ, c.constant64(64), c.vxx(asm.VPLZCNTQ, below))
	}
	return c.vxx(asm.VPSUBD, c.constant32(32), c.vxx(asm.VPLZCNTD, below))
}

func (c *code) leadingZeros(t *ir.Type, wide bool, x asm.Reg) asm.Reg {
	if wide {
		if c.isa == v4 {
			return c.vxx(asm.VPLZCNTQ, x)
		}
		return c.leadingZeros64on3(x)
	}
	n := asm.Reg(0)
	if c.isa == v4 {
		n = c.vxx(asm.VPLZCNTD, x)
	} else {
		n = c.leadingZeros3(x)
	}
	if extra := uint32(32 - 8*t.Size()); extra > 0 {
		return c.vop(asm.VPSUBD, asm.R(n), c.all32(extra))
	}
	return n
}

// leadingZeros3 counts on x86-64-v3 by the exponent of a float: of the number less
// the bits behind its first, so that it is not rounded up. That of a negative number
// is far too large because of the sign.
func (c *code) leadingZeros3(x asm.Reg) asm.Reg {
	first := c.vxx(asm.VPANDN, c.vop(asm.VPSRLD, asm.R(x), asm.I(1)), x)
	exp := c.vop(asm.VPSRLD, asm.R(c.vxx(asm.VCVTDQ2PS, first)), asm.I(23))
	n := c.vxx(asm.VPSUBD, c.constant32(127+31), exp)
	return c.vop(asm.VPMINSD, asm.R(c.vop(asm.VPMAXSD, asm.R(n), c.all32(0))), c.all32(32))
}

// leadingZeros64on3 adds the count of the lower half where the upper one is 0.
func (c *code) leadingZeros64on3(x asm.Reg) asm.Reg {
	n := c.leadingZeros3(x)
	none := c.vop(asm.VPSRLQ, asm.R(c.vop(asm.VPCMPEQD, asm.R(n), c.all32(32))), asm.I(32))
	return c.vxx(asm.VPADDQ, c.vop(asm.VPSRLQ, asm.R(n), asm.I(32)), c.vxx(asm.VPAND, n, none))
}

// reverse reverses the bits of each half byte by a table, and the order of the
// halves and the bytes.
func (c *code) reverse(t *ir.Type, x asm.Reg) asm.Reg {
	table := c.bytesTable([4]uint32{0x0c040800, 0x0e060a02, 0x0d050901, 0x0f070b03})
	low := c.and32(x, 0x0f0f0f0f)
	high := c.and32(c.vop(asm.VPSRLW, asm.R(x), asm.I(4)), 0x0f0f0f0f)
	l := c.vop(asm.VPSLLW, asm.R(c.vxx(asm.VPSHUFB, table, low)), asm.I(4))
	bits := c.vxx(c.pick(asm.VPOR, asm.VPORD), l, c.vxx(asm.VPSHUFB, table, high))
	order := [4]uint32{0x00010203, 0x04050607, 0x08090a0b, 0x0c0d0e0f}
	if t.Size() == 8 {
		order = [4]uint32{0x04050607, 0x00010203, 0x0c0d0e0f, 0x08090a0b}
	}
	r := c.vxx(asm.VPSHUFB, bits, c.bytesTable(order))
	if n := int64(32 - 8*t.Size()); n > 0 {
		return c.vop(asm.VPSRLD, asm.R(r), asm.I(n))
	}
	return r
}

// dot4 adds the products of bytes: as 16-bit numbers, the even and the odd ones.
func (c *code) dot4(v *ir.Value, x, y, z asm.Reg) asm.Reg {
	t := v.Type
	if c.vnni {
		const tops = 0x80808080
		if t.IsSigned() && maySet(v.Args[0])&tops == 0 { // of no sign, as the instruction reads them
			return c.addTo(v.Args[2], z, c.dotBytes(x, y))
		}
		return c.addTo(v.Args[2], z, c.dot4VNNI(t, x, y))
	}
	return c.dotWords(c.wordsOf(x, kindOf(t)), c.wordsOf(y, kindOf(t)), z)
}

// wordsOf returns the even bytes of r, and the odd ones, as 16-bit numbers.
func (c *code) wordsOf(r asm.Reg, kind bytesKind) [2]asm.Reg {
	return c.once(r, kind, func() [2]asm.Reg {
		if kind == unsignedBytes {
			return [2]asm.Reg{c.and32(r, 0x00ff00ff), c.vop(asm.VPSRLW, asm.R(r), asm.I(8))}
		}
		up := c.vop(asm.VPSLLW, asm.R(r), asm.I(8))
		return [2]asm.Reg{c.vop(asm.VPSRAW, asm.R(up), asm.I(8)), c.vop(asm.VPSRAW, asm.R(r), asm.I(8))}
	})
}

// dotWords adds the products of such numbers to z.
func (c *code) dotWords(x, y [2]asm.Reg, z asm.Reg) asm.Reg {
	sum := c.vxx(asm.VPADDD, c.vxx(asm.VPMADDWD, x[0], y[0]), c.vxx(asm.VPMADDWD, x[1], y[1]))
	return c.vxx(asm.VPADDD, sum, z)
}

// bytesKey is a vector of bytes and how they are read, bytesIn what was made of it in a block of the
// code: products of many vectors with each other need it once for each of them.
type ()

const (
	unsignedBytes bytesKind = iota
	signedBytes
	namedBytes // selectors of bytes
)

func kindOf(t *ir.Type) bytesKind {
	if t.IsSigned() {
		return signedBytes
	}
	return unsignedBytes
}

// once returns what make makes of r, or what it has made of it in this block of the code.
func (c *code) once(r asm.Reg, kind bytesKind, make func() [2]asm.Reg) [2]asm.Reg {
	key := bytesKey{r, kind}
	if made := c.parts[key]; made.in != nil && made.in == c.cur {
		return made.reg
	}
	made := make()
	c.parts[key] = bytesIn{made, c.cur}
	return made
}

// addTo adds operand v, in register z, to a product. It is added last: in loops it is what the next turn
// waits for.
func (c *code) addTo(v *ir.Value, z, product asm.Reg) asm.Reg {
	if v.IsConst() && v.Imm == 0 {
		return product
	}
	return c.vxx(asm.VPADDD, product, z)
}

// dotBytes multiplies unsigned bytes with signed ones.
func (c *code) dotBytes(unsigned, signed asm.Reg) asm.Reg {
	r := c.zero()
	c.op(c.pick(asm.VPDPBUSDVEX, asm.VPDPBUSD), c.width(), asm.R(r), asm.R(unsigned), asm.R(signed))
	return r
}

// dot4VNNI does it where there is an instruction, which multiplies unsigned bytes with
// signed ones. Bytes with their top bit inverted are 128 more, or less, and have the
// other kind of sign; what that adds to the products is 128 times the other operand,
// and is subtracted. z is added last: in loops it is what the next iteration waits for.
func (c *code) dot4VNNI(t *ir.Type, x, y asm.Reg) asm.Reg {
	dot := c.dotBytes
	if !t.IsSigned() {
		x, y = y, x // of the two the second one is that whose bytes are as the instruction reads them
	}
	top := c.constant32(0x80808080)
	flipped := c.once(x, signedBytes, func() [2]asm.Reg { return [2]asm.Reg{c.vxx(c.pick(asm.VPXOR, asm.VPXORD), x, top)} })[0]
	extra := c.once(y, unsignedBytes, func() [2]asm.Reg {
		if t.IsSigned() {
			return [2]asm.Reg{dot(top, y)}
		}
		return [2]asm.Reg{dot(y, top)}
	})[0]
	product := asm.Reg(0)
	if t.IsSigned() {
		product = dot(flipped, y)
	} else {
		product = dot(y, flipped)
	}
	return c.vxx(asm.VPSUBD, product, extra)
}

// maySet returns the bits of a word that may be set: all, but where constants tell.
func maySet(v *ir.Value) uint32 { return maySetIn(v, 6) }

// maySetIn looks at so many operations that lead to a value.
func maySetIn(v *ir.Value, depth int) uint32 {
	const all = ^uint32(0)
	if v.IsConst() {
		return uint32(v.Imm)
	}
	if depth == 0 || !v.Type.IsInt() || v.Type.Size() != 4 {
		return all
	}
	if v.Op == ir.OpConvert && v.Args[0].Type.IsInt() && v.Args[0].Type.Size() == 4 {
		return maySetIn(v.Args[0], depth-1)
	}
	if len(v.Args) != 2 {
		return all
	}
	of := func(i int) uint32 { return maySetIn(v.Args[i], depth-1) }
	switch y := v.Args[1]; {
	case v.Op == ir.OpAnd:
		return of(0) & of(1)
	case v.Op == ir.OpOr:
		return of(0) | of(1)
	case v.Op == ir.OpShr && y.IsConst() && !v.Type.IsSigned():
		return of(0) >> y.Imm
	}
	return all
}

// permuteBytes picks bytes from y:x. The bytes of two lanes are in the 16 that an
// instruction picks from, so it does it twice. Plain selectors name no signs.
func (c *code) permuteBytes(x, y, z asm.Reg, plain bool) asm.Reg {
	and, or := c.pick(asm.VPAND, asm.VPANDD), c.pick(asm.VPOR, asm.VPORD)
	nibbles := func() asm.Reg { // one of z in each byte: 0000abcd, 00ab00cd, 0a0b0c0d
		n := c.and32(z, 0xffff)
		n = c.and32(c.vxx(or, n, c.vop(asm.VPSLLD, asm.R(n), asm.I(8))), 0x00ff00ff)
		return c.and32(c.vxx(or, n, c.vop(asm.VPSLLD, asm.R(n), asm.I(4))), 0x0f0f0f0f)
	}
	const none, second = 0x80808080, 0x08080808
	index := c.once(z, namedBytes, func() [2]asm.Reg {
		index := c.and32(nibbles(), 0x07070707)
		return [2]asm.Reg{
			c.vxx(or, index, c.bytesTable([4]uint32{0, second, none, none})),
			c.vxx(or, index, c.bytesTable([4]uint32{none, none, 0, second})),
		}
	})
	pick := func(unpack asm.Op, index asm.Reg) asm.Reg {
		return c.vxx(asm.VPSHUFB, c.vxx(unpack, x, y), index)
	}
	r := c.vxx(or, pick(asm.VPUNPCKLDQ, index[0]), pick(asm.VPUNPCKHDQ, index[1]))
	if plain {
		return r
	}
	n := nibbles()
	// The top bits of bytes, and of nibbles, spread over their bytes.
	spread := func(bits asm.Reg) asm.Reg {
		bits = c.and32(bits, 0x01010101)
		return c.vxx(asm.VPSUBD, c.vop(asm.VPSLLD, asm.R(bits), asm.I(8)), bits)
	}
	signs := spread(c.vop(asm.VPSRLD, asm.R(r), asm.I(7)))
	want := spread(c.vop(asm.VPSRLD, asm.R(n), asm.I(3)))
	return c.vxx(or, c.vxx(and, want, signs), c.vxx(c.pick(asm.VPANDN, asm.VPANDND), want, r))
}
