package lower

import "github.com/gokiln/kiln/compiler/ir"

// counted is an operation that counts bits: its result is an int.
func counted(op ir.Op) *intrinsic {
	return &intrinsic{lower: func(c *callSite) val { return val{v: c.f.countBits(op, c.arg(0))} }}
}

func (f *funcLower) countBits(op ir.Op, x *ir.Value) *ir.Value {
	return f.emit(ir.OpConvert, ir.I64, f.emit(op, x.Type, x))
}

func bitLen(c *callSite) val {
	x := c.arg(0)
	return val{v: c.f.emit(ir.OpSub, ir.I64, c.f.int(int64(x.Type.Bits())), c.f.countBits(ir.OpClz, x))}
}

// rotateLeft is x<<s | x>>(n-s) with s the count modulo n; a shift by n is 0.
func rotateLeft(c *callSite) val {
	f, x := c.f, c.arg(0)
	n := uint64(x.Type.Bits())
	s := f.emit(ir.OpAnd, ir.U64, f.emit(ir.OpConvert, ir.U64, c.arg(1)), f.konst(ir.U64, n-1))
	left := f.emit(ir.OpShl, x.Type, x, s)
	right := f.emit(ir.OpShr, x.Type, x, f.emit(ir.OpSub, ir.U64, f.konst(ir.U64, n), s))
	return val{v: f.emit(ir.OpOr, x.Type, left, right)}
}

// fullMul gives the two halves of a product.
func fullMul(c *callSite) val {
	t := c.arg(0).Type
	hi := c.f.emit(ir.OpMulHi, t, c.arg(0), c.arg(1))
	return val{parts: []val{{v: hi}, {v: c.f.emit(ir.OpMul, t, c.arg(0), c.arg(1))}}}
}

// reverseBytes permutes words of four bytes, and puts other sizes together.
func reverseBytes(c *callSite) val {
	f, x := c.f, c.arg(0)
	word := func(x *ir.Value) *ir.Value {
		return f.emit(ir.OpPermute, ir.U32, x, f.konst(ir.U32, 0), f.konst(ir.U32, 0x0123))
	}
	shift := func(op ir.Op, x *ir.Value, n uint64) *ir.Value {
		return f.emit(op, x.Type, x, f.konst(ir.U32, n))
	}
	switch x.Type {
	case ir.U16:
		return val{v: f.emit(ir.OpOr, ir.U16, shift(ir.OpShl, x, 8), shift(ir.OpShr, x, 8))}
	case ir.U32:
		return val{v: word(x)}
	}
	wide := func(x *ir.Value) *ir.Value {
		return f.emit(ir.OpConvert, ir.U64, word(f.emit(ir.OpConvert, ir.U32, x)))
	}
	high := shift(ir.OpShl, wide(x), 32)
	return val{v: f.emit(ir.OpOr, ir.U64, high, wide(shift(ir.OpShr, x, 32)))}
}

// addCarry finds the carry of a sum in its top bits: it came out if both operands
// have the bit, or one of them and the sum has not.
func addCarry(c *callSite) val {
	f, x, y, t := c.f, c.arg(0), c.arg(1), c.arg(0).Type
	sum := f.emit(ir.OpAdd, t, f.emit(ir.OpAdd, t, x, y), c.arg(2))
	one := f.emit(ir.OpAndNot, t, f.emit(ir.OpOr, t, x, y), sum)
	return f.withTopBit(sum, f.emit(ir.OpOr, t, f.emit(ir.OpAnd, t, x, y), one))
}

// subBorrow finds the borrow of a difference in its top bits: it was needed if
// only y has the bit, or both or none of x and y and the difference has.
func subBorrow(c *callSite) val {
	f, x, y, t := c.f, c.arg(0), c.arg(1), c.arg(0).Type
	diff := f.emit(ir.OpSub, t, f.emit(ir.OpSub, t, x, y), c.arg(2))
	same := f.emit(ir.OpAndNot, t, diff, f.emit(ir.OpXor, t, x, y))
	return f.withTopBit(diff, f.emit(ir.OpOr, t, f.emit(ir.OpAndNot, t, y, x), same))
}

func (f *funcLower) withTopBit(v, carry *ir.Value) val {
	top := f.emit(ir.OpShr, carry.Type, carry, f.konst(ir.U32, uint64(carry.Type.Bits()-1)))
	return val{parts: []val{{v: v}, {v: top}}}
}
