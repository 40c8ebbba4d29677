package pass

import (
	"math"

	"github.com/gokiln/kiln/compiler/ir"
)

// divideFloats makes float32 divisions of f multiplications and additions in float64, with the same results:
// shortdiv does so in functions with products of warpgroups, since the division is a call in what the
// vendor's linker compiles.
//
// A quotient of two numbers of 24 bits is at least 2⁻⁴⁹ of it away from the middle between two
// numbers of type float32, or exactly there and then a number of type float64. So one in float64 whose
// error is 2⁻⁵² rounds to the same, also to subnormal numbers.
func divideFloats(f *ir.Func) {
	repl := newReplacer(f)
	for _, b := range f.Blocks {
		instrs := b.Instrs
		b.Instrs = make([]*ir.Value, 0, len(instrs))
		for _, v := range instrs {
			if v.Op != ir.OpDiv || v.Type != ir.F32 {
				b.Append(v)
				continue
			}
			d := floatDivision{f, b, v}
			repl.set(v, d.quotient())
		}
	}
	repl.apply(f)
}

// floatDivision emits the division v at the end of b.
type floatDivision struct {
	f *ir.Func
	b *ir.Block
	v *ir.Value
}

// quotient returns x/y: x times the reciprocal of y, and what that leaves of x times it again. Where that is
// zero or NaN, as of infinities, the product itself is the quotient.
func (d *floatDivision) quotient() *ir.Value {
	x, y := d.emit(ir.OpConvert, ir.F64, d.v.Args[0]), d.emit(ir.OpConvert, ir.F64, d.v.Args[1])
	r := d.reciprocal(y)
	q := d.emit(ir.OpMul, ir.F64, x, r)
	rest := d.emit(ir.OpFMA, ir.F64, d.emit(ir.OpNeg, ir.F64, q), y, x)
	more := d.emit(ir.OpGt, ir.Bool, d.emit(ir.OpAbs, ir.F64, rest), d.float(0))
	q = d.emit(ir.OpSelect, ir.F64, more, d.emit(ir.OpFMA, ir.F64, rest, r, q), q)
	return d.emit(ir.OpConvert, ir.F32, q)
}

// Parts of a number of type float64.
const (
	signBit      = 1 << 63
	fractionBits = 1<<52 - 1
	exponentAt   = 52
	topExponent  = 1<<11 - 1 // of infinities and NaN
)

// reciprocal returns 1/y of a number that came from float32: that of its fraction, by the target's own
// reciprocal and two steps of Newton's method, times a power of two; of zero infinity, and zero of
// infinity.
func (d *floatDivision) reciprocal(y *ir.Value) *ir.Value {
	raw := d.emit(ir.OpBitcast, ir.U64, y)
	sign := d.emit(ir.OpAnd, ir.U64, raw, d.bits(signBit))
	one := d.float(1)
	m := d.emit(ir.OpBitcast, ir.F64, d.emit(ir.OpOr, ir.U64, d.emit(ir.OpAnd, ir.U64, raw, d.bits(fractionBits)), d.bits(math.Float64bits(1))))
	r := d.emit(ir.OpConvert, ir.F64, d.emit(ir.OpApproxRecip, ir.F32, d.emit(ir.OpConvert, ir.F32, m)))
	for range 2 {
		e := d.emit(ir.OpFMA, ir.F64, d.emit(ir.OpNeg, ir.F64, m), r, one)
		r = d.emit(ir.OpFMA, ir.F64, r, e, r)
	}
	at := d.b.EmitConst(d.f, ir.U32, exponentAt)
	exponent := d.emit(ir.OpAnd, ir.U64, d.emit(ir.OpShr, ir.U64, raw, at), d.bits(topExponent))
	power := d.emit(ir.OpShl, ir.U64, d.emit(ir.OpSub, ir.U64, d.bits(topExponent-1), exponent), at)
	r = d.emit(ir.OpMul, ir.F64, r, d.emit(ir.OpBitcast, ir.F64, d.emit(ir.OpOr, ir.U64, sign, power)))
	infinity := d.emit(ir.OpBitcast, ir.F64, d.emit(ir.OpOr, ir.U64, sign, d.bits(math.Float64bits(math.Inf(1)))))
	r = d.emit(ir.OpSelect, ir.F64, d.emit(ir.OpEq, ir.Bool, y, d.float(0)), infinity, r)
	zero := d.emit(ir.OpSelect, ir.F64, d.emit(ir.OpEq, ir.Bool, y, y), d.emit(ir.OpBitcast, ir.F64, sign), y)
	return d.emit(ir.OpSelect, ir.F64, d.emit(ir.OpEq, ir.Bool, exponent, d.bits(topExponent)), zero, r)
}

func (d *floatDivision) float(x float64) *ir.Value {
	return d.b.EmitConst(d.f, ir.F64, math.Float64bits(x))
}

func (d *floatDivision) bits(x uint64) *ir.Value { return d.b.EmitConst(d.f, ir.U64, x) }

func (d *floatDivision) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := d.b.Emit(d.f, op, t, args...)
	v.Pos = d.v.Pos
	return v
}
