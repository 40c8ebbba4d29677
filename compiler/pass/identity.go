package pass

import (
	"math"
	"math/bits"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// rewrite applies one identity to v. If it rewrote v in place, the second
// result is true; otherwise the first is the value that v equals, v itself if
// no identity fits, nil if v can be dropped.
//
// Identities on floats hold for every input including NaN, infinities and -0.
func (fo *folder) rewrite(v *ir.Value) (*ir.Value, bool) {
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv:
		if v.Type.IsFloat() {
			return fo.floatArith(v)
		}
		return fo.intArith(v)
	case ir.OpRem:
		return fo.rem(v)
	case ir.OpNeg, ir.OpNot, ir.OpAbs:
		return unary(v)
	case ir.OpAnd, ir.OpOr, ir.OpXor, ir.OpAndNot:
		return fo.logic(v)
	case ir.OpShl, ir.OpShr:
		return fo.shift(v)
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		return fo.compare(v)
	case ir.OpMin, ir.OpMax:
		if analysis.SameValue(v.Args[0], v.Args[1]) && v.Type.IsInt() {
			return v.Args[0], false
		}
	case ir.OpSelect:
		return selection(v)
	case ir.OpConvert:
		return conversion(v)
	case ir.OpBitcast:
		return bitcast(v)
	case ir.OpOffset:
		return fo.address(v)
	case ir.OpBounds:
		i, n := v.Args[0], v.Args[1]
		if i.IsConst() && n.IsConst() && int64(i.Imm) >= 0 && int64(i.Imm) < int64(n.Imm) {
			return nil, false
		}
	case ir.OpDivisor:
		if v.Args[1].IsConst() && v.Args[1].Imm != 0 {
			return nil, false
		}
	case ir.OpCount:
		if v.Args[0].IsConst() && int64(v.Args[0].Imm) >= 0 {
			return nil, false
		}
	case ir.OpAssert, ir.OpNonNil:
		if isConst(v.Args[0], 1) {
			return nil, false
		}
	}
	return v, false
}

func isConst(v *ir.Value, bits uint64) bool { return v.Op == ir.OpConst && v.Imm == bits }

// allOnes returns the canonical bits of -1 or true.
func allOnes(t *ir.Type) uint64 { return ir.Normalize(t, math.MaxUint64) }

// constPair returns the parts of v = op(x, c) when v computes op with a constant
// on the right.
func constPair(v *ir.Value, op ir.Op) (x, c *ir.Value) {
	if v.Op == op && v.Args[1].IsConst() {
		return v.Args[0], v.Args[1]
	}
	return nil, nil
}

func (fo *folder) intArith(v *ir.Value) (*ir.Value, bool) {
	x, y := v.Args[0], v.Args[1]
	switch v.Op {
	case ir.OpAdd:
		return fo.add(v, x, y)
	case ir.OpSub:
		return fo.sub(v, x, y)
	case ir.OpMul:
		return fo.mul(v, x, y)
	}
	switch {
	case isConst(y, 1), isConst(x, 0):
		return x, false
	case isConst(y, 0):
		return y, false
	case v.Type.IsSigned() && isConst(y, allOnes(v.Type)):
		become(v, ir.OpNeg, v.Type, x)
		return v, true
	case y.IsConst() && !v.Type.IsSigned() && y.Imm&(y.Imm-1) == 0:
		become(v, ir.OpShr, v.Type, x, fo.constant(ir.U32, uint64(bits.TrailingZeros64(y.Imm))))
		return v, true
	}
	return v, false
}

func (fo *folder) add(v, x, y *ir.Value) (*ir.Value, bool) {
	if isConst(y, 0) {
		return x, false
	}
	if y.IsConst() {
		if a, c := constPair(x, ir.OpAdd); a != nil {
			become(v, ir.OpAdd, v.Type, a, fo.constant(v.Type, c.Imm+y.Imm))
			return v, true
		}
	}
	if x.Op == ir.OpNot && isConst(y, 1) { // ^a + 1 = -a
		become(v, ir.OpNeg, v.Type, x.Args[0])
		return v, true
	}
	// (a - b) + b = a
	if x.Op == ir.OpSub && analysis.SameValue(x.Args[1], y) {
		return x.Args[0], false
	}
	if y.Op == ir.OpSub && analysis.SameValue(y.Args[1], x) {
		return y.Args[0], false
	}
	return v, false
}

func (fo *folder) sub(v, x, y *ir.Value) (*ir.Value, bool) {
	switch {
	case analysis.SameValue(x, y):
		become(v, ir.OpConst, v.Type)
		v.Imm = 0
		return v, false
	case y.IsConst():
		become(v, ir.OpAdd, v.Type, x, fo.constant(v.Type, -y.Imm))
		return v, true
	case isConst(x, 0):
		become(v, ir.OpNeg, v.Type, y)
		return v, true
	case x.Op == ir.OpAdd && analysis.SameValue(x.Args[0], y): // (a + b) - a = b
		return x.Args[1], false
	case x.Op == ir.OpAdd && analysis.SameValue(x.Args[1], y):
		return x.Args[0], false
	}
	return v, false
}

func (fo *folder) mul(v, x, y *ir.Value) (*ir.Value, bool) {
	switch {
	case isConst(y, 0):
		return y, false
	case isConst(y, 1):
		return x, false
	case isConst(y, allOnes(v.Type)):
		become(v, ir.OpNeg, v.Type, x)
		return v, true
	case y.IsConst():
		if a, c := constPair(x, ir.OpMul); a != nil {
			become(v, ir.OpMul, v.Type, a, fo.constant(v.Type, c.Imm*y.Imm))
			return v, true
		}
	}
	return v, false
}

func (fo *folder) rem(v *ir.Value) (*ir.Value, bool) {
	x, y := v.Args[0], v.Args[1]
	switch {
	case isConst(y, 0), isConst(x, 0): // x % 0 = x, 0 % y = 0
		return x, false
	case isConst(y, 1), v.Type.IsSigned() && isConst(y, allOnes(v.Type)):
		become(v, ir.OpConst, v.Type)
		v.Imm = 0
		return v, false
	case y.IsConst() && !v.Type.IsSigned() && y.Imm&(y.Imm-1) == 0:
		become(v, ir.OpAnd, v.Type, x, fo.constant(v.Type, y.Imm-1))
		return v, true
	}
	return v, false
}

// floatOne and negZero are bit patterns of the neutral elements.
func floatOne(t *ir.Type) uint64 {
	if t == ir.F32 {
		return uint64(math.Float32bits(1))
	}
	return math.Float64bits(1)
}

func floatTwo(t *ir.Type) uint64 {
	if t == ir.F32 {
		return uint64(math.Float32bits(2))
	}
	return math.Float64bits(2)
}

func negZero(t *ir.Type) uint64 { return 1 << (t.Bits() - 1) }

func (fo *folder) floatArith(v *ir.Value) (*ir.Value, bool) {
	x, y := v.Args[0], v.Args[1]
	switch v.Op {
	case ir.OpAdd:
		if isConst(y, negZero(v.Type)) { // x + -0 = x; x + 0 is not: -0 + 0 = 0
			return x, false
		}
	case ir.OpSub:
		if isConst(y, 0) {
			return x, false
		}
	case ir.OpMul:
		if isConst(y, floatOne(v.Type)) {
			return x, false
		}
		if isConst(y, floatTwo(v.Type)) { // a sum is never slower, and exact here
			become(v, ir.OpAdd, v.Type, x, x)
			return v, true
		}
	case ir.OpDiv:
		if isConst(y, floatOne(v.Type)) {
			return x, false
		}
		if inv, ok := exactInverse(y); ok {
			become(v, ir.OpMul, v.Type, x, fo.constant(v.Type, inv))
			return v, true
		}
	}
	return v, false
}

// exactInverse returns 1/c for a constant power of two whose inverse is a
// normal number: only then is x/c = x*(1/c) for every x.
func exactInverse(c *ir.Value) (uint64, bool) {
	if !c.IsConst() {
		return 0, false
	}
	if c.Type == ir.F32 {
		b := uint32(c.Imm)
		exp := b >> 23 & 0xff
		if b&(1<<23-1) != 0 || exp == 0 || exp >= 254 {
			return 0, false
		}
		return uint64(b&(1<<31) | (254-exp)<<23), true
	}
	exp := c.Imm >> 52 & 0x7ff
	if c.Imm&(1<<52-1) != 0 || exp == 0 || exp >= 2046 {
		return 0, false
	}
	return c.Imm&(1<<63) | (2046-exp)<<52, true
}

func unary(v *ir.Value) (*ir.Value, bool) {
	x := v.Args[0]
	switch {
	case v.Op == ir.OpAbs && (x.Op == ir.OpAbs):
		return x, false
	case v.Op == ir.OpAbs && x.Op == ir.OpNeg:
		v.Args[0] = x.Args[0]
		return v, true
	case x.Op == v.Op: // -(-x), ^^x
		return x.Args[0], false
	case v.Op == ir.OpNot && v.Type.IsInt():
		if a, c := constPair(x, ir.OpAdd); a != nil && c.Imm == allOnes(v.Type) { // ^(a - 1) = -a
			become(v, ir.OpNeg, v.Type, a)
			return v, true
		}
	}
	if inv, ok := analysis.Inverse[x.Op]; ok && v.Op == ir.OpNot && v.Type == ir.Bool {
		// With NaN both x < y and x >= y are false; == and != stay opposites.
		if !x.Args[0].Type.IsFloat() || x.Op == ir.OpEq || x.Op == ir.OpNe {
			become(v, inv, ir.Bool, x.Args[0], x.Args[1])
			return v, true
		}
	}
	return v, false
}

func (fo *folder) logic(v *ir.Value) (*ir.Value, bool) {
	x, y := v.Args[0], v.Args[1]
	zero, ones := isConst(y, 0), isConst(y, allOnes(v.Type))
	same := analysis.SameValue(x, y)
	switch v.Op {
	case ir.OpAnd:
		switch {
		case zero:
			return y, false
		case ones, same:
			return x, false
		}
	case ir.OpOr:
		switch {
		case ones:
			return y, false
		case zero, same:
			return x, false
		}
	case ir.OpXor:
		switch {
		case zero:
			return x, false
		case ones:
			become(v, ir.OpNot, v.Type, x)
			return v, true
		case same:
			return fo.zero(v)
		}
	case ir.OpAndNot:
		switch {
		case zero:
			return x, false
		case ones, same:
			return fo.zero(v)
		case y.IsConst():
			become(v, ir.OpAnd, v.Type, x, fo.constant(v.Type, ^y.Imm))
			return v, true
		}
	}
	if c := v.Args[1]; c.IsConst() && v.Op != ir.OpAndNot {
		if a, d := constPair(x, v.Op); a != nil {
			r, _ := ir.Eval(v.Op, v.Type, 0, []uint64{c.Imm, d.Imm}, []*ir.Type{v.Type, v.Type})
			become(v, v.Op, v.Type, a, fo.constant(v.Type, r))
			return v, true
		}
	}
	return v, false
}

func (fo *folder) zero(v *ir.Value) (*ir.Value, bool) {
	become(v, ir.OpConst, v.Type)
	v.Imm = 0
	return v, false
}

func (fo *folder) shift(v *ir.Value) (*ir.Value, bool) {
	x, n := v.Args[0], v.Args[1]
	width := uint64(v.Type.Bits())
	switch {
	case isConst(n, 0), isConst(x, 0):
		return x, false
	case !n.IsConst():
		return v, false
	}
	signed := v.Op == ir.OpShr && v.Type.IsSigned()
	if n.Imm >= width {
		if !signed {
			return fo.zero(v)
		}
		become(v, ir.OpShr, v.Type, x, fo.constant(ir.U32, width-1))
		return v, true
	}
	if a, m := constPair(x, v.Op); a != nil && m.Imm < width { // neither count can overflow
		become(v, v.Op, v.Type, a, fo.constant(ir.U32, m.Imm+n.Imm))
		return v, true
	}
	return v, false
}

func (fo *folder) compare(v *ir.Value) (*ir.Value, bool) {
	x, y := v.Args[0], v.Args[1]
	if m, ok := analysis.Mirrored[v.Op]; ok && x.IsConst() && !y.IsConst() {
		become(v, m, ir.Bool, y, x)
		return v, true
	}
	strict := v.Op == ir.OpNe || v.Op == ir.OpLt || v.Op == ir.OpGt
	if x == y && (!x.Type.IsFloat() || strict && v.Op != ir.OpNe) { // NaN < NaN is false, too
		become(v, ir.OpConst, ir.Bool)
		v.Imm = 1
		if strict {
			v.Imm = 0
		}
		return v, false
	}
	if x.Type == ir.Bool && y.IsConst() {
		if (v.Op == ir.OpEq) == (y.Imm != 0) {
			return x, false
		}
		become(v, ir.OpNot, ir.Bool, x)
		return v, true
	}
	if y.IsConst() && x.Type.IsInt() {
		return fo.compareConst(v, x, y)
	}
	return v, false
}

// compareConst handles integers against constants: comparisons that the range
// of the type decides, and x + c == d.
func (fo *folder) compareConst(v, x, y *ir.Value) (*ir.Value, bool) {
	decide := func(r uint64) (*ir.Value, bool) {
		become(v, ir.OpConst, ir.Bool)
		v.Imm = r
		return v, false
	}
	lo, hi := intRange(x.Type)
	switch {
	case v.Op == ir.OpLt && y.Imm == lo, v.Op == ir.OpGt && y.Imm == hi:
		return decide(0)
	case v.Op == ir.OpGe && y.Imm == lo, v.Op == ir.OpLe && y.Imm == hi:
		return decide(1)
	}
	if v.Op == ir.OpEq || v.Op == ir.OpNe {
		if a, c := constPair(x, ir.OpAdd); a != nil {
			become(v, v.Op, ir.Bool, a, fo.constant(x.Type, y.Imm-c.Imm))
			return v, true
		}
	}
	return v, false
}

// intRange returns the canonical bits of the least and greatest values of t.
func intRange(t *ir.Type) (lo, hi uint64) {
	if t.IsSigned() {
		hi = 1<<(t.Bits()-1) - 1
		return ^hi, hi
	}
	return 0, allOnes(t)
}

func selection(v *ir.Value) (*ir.Value, bool) {
	c, x, y := v.Args[0], v.Args[1], v.Args[2]
	switch {
	case isConst(c, 1), analysis.SameValue(x, y):
		return x, false
	case isConst(c, 0):
		return y, false
	case c.Op == ir.OpNot:
		become(v, ir.OpSelect, v.Type, c.Args[0], y, x)
		return v, true
	case v.Type != ir.Bool:
		return v, false
	case isConst(x, 1) && isConst(y, 0):
		return c, false
	case isConst(x, 0) && isConst(y, 1):
		become(v, ir.OpNot, ir.Bool, c)
		return v, true
	case isConst(x, 1): // c ? true : y
		become(v, ir.OpOr, ir.Bool, c, y)
		return v, true
	case isConst(y, 0): // c ? x : false
		become(v, ir.OpAnd, ir.Bool, c, x)
		return v, true
	}
	return v, false
}

// digits is the number of significant binary digits of each float type.
var digits = map[*ir.Type]int{ir.F64: 53, ir.F32: 24, ir.F16: 11, ir.BF16: 8}

// widens reports whether every value of from is a value of to.
func widens(from, to *ir.Type) bool {
	switch {
	case from == to:
		return true
	case from.IsInt() && to.IsInt():
		if from.IsSigned() {
			return to.IsSigned() && to.Bits() > from.Bits()
		}
		return to.Bits() > from.Bits()
	case from.IsInt():
		return from.Bits() <= digits[to]
	case from.IsHalf():
		return to.IsFloat()
	}
	return from == ir.F32 && to == ir.F64
}

func conversion(v *ir.Value) (*ir.Value, bool) {
	x := v.Args[0]
	if x.Type == v.Type {
		return x, false
	}
	if x.Op != ir.OpConvert {
		return v, false
	}
	a := x.Args[0]
	truncation := a.Type.IsInt() && x.Type.IsInt() && v.Type.IsInt() && x.Type.Bits() >= v.Type.Bits()
	// From an integer through a float to an integer saturates; directly it wraps.
	saturates := a.Type.IsInt() && !x.Type.IsInt() && v.Type.IsInt() && !widens(a.Type, v.Type)
	if widens(a.Type, x.Type) && !saturates || truncation {
		v.Args[0] = a
		return v, true
	}
	return v, false
}

func bitcast(v *ir.Value) (*ir.Value, bool) {
	x := v.Args[0]
	if x.Type == v.Type {
		return x, false
	}
	if x.Op == ir.OpBitcast {
		v.Args[0] = x.Args[0]
		return v, true
	}
	return v, false
}

// address merges chains of pointer arithmetic.
func (fo *folder) address(v *ir.Value) (*ir.Value, bool) {
	p, n := v.Args[0], v.Args[1]
	switch {
	case isConst(n, 0):
		return p, false
	case p.Op == ir.OpOffset && n.IsConst() && p.Args[1].IsConst():
		become(v, ir.OpOffset, v.Type, p.Args[0], fo.constant(ir.I64, p.Args[1].Imm+n.Imm))
		return v, true
	case p.Op == ir.OpIndex:
		// A slice of an array starts at one of its elements. Counting from the
		// array instead shows sroa which element is meant.
		i := n
		if !isConst(p.Args[1], 0) {
			i = fo.emit(ir.OpAdd, ir.I64, p.Args[1], n)
			foldConst(i)
		}
		become(v, ir.OpIndex, v.Type, p.Args[0], i)
		return v, true
	}
	return v, false
}
