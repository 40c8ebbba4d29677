package ir

import (
	"math"
	"math/bits"
)

// Eval computes a pure scalar operation on constants: op with result type t and
// immediate imm, applied to args of types argTypes. Arguments and result are
// canonical bits as [Normalize] makes them. It is the definition of what the
// operations mean; ok is false for operations whose result is not determined by
// their arguments (geometry, memory, warp operations) and for malformed calls.
//
// Arithmetic that yields NaN yields the positive quiet NaN without payload,
// whatever the host's processor would give, so that a folded constant is the
// same on every host. Neg, Abs, Copysign, Select and Bitcast act on bits and
// keep a NaN as it is.
func Eval(op Op, t *Type, imm uint64, args []uint64, argTypes []*Type) (result uint64, ok bool) {
	if op == OpConst {
		return imm, t.Kind >= KBool && t.Kind <= KPtr
	}
	if op >= numOps || len(args) != ops[op].Args || len(argTypes) != len(args) || len(args) == 0 {
		return 0, false
	}
	var r uint64
	switch ops[op].Rule {
	case RuleCompare, RuleBoolArith:
		r, ok = evalCompare(op, argTypes[0], args[0], args[1])
	case RuleConvert:
		return evalConvert(t, args[0], argTypes[0])
	case RuleBitcast:
		return evalBitcast(t, args[0], argTypes[0])
	case RuleSelect:
		if args[0] != 0 {
			return args[1], true
		}
		return args[2], true
	case RuleArith, RuleInt, RuleLogic, RuleFloat, RuleShift:
		r, ok = evalArith(op, t, args)
	case RuleApprox:
		x := [2]float32{math.Float32frombits(uint32(args[0]))}
		if len(args) == 2 {
			x[1] = math.Float32frombits(uint32(args[1]))
		}
		return bits32(Approx(op, x[0], x[1])), t == F32
	case RuleWord:
		r, ok = evalWord(op, t, uint32(args[0]), uint32(args[1]), uint32(args[2])), true
	}
	return Normalize(t, r), ok
}

func evalArith(op Op, t *Type, args []uint64) (uint64, bool) {
	switch {
	case t.Kind == KF32:
		return evalFloat32(op, args)
	case t.Kind == KF64:
		return evalFloat64(op, args)
	case t.Kind == KBool:
		if ops[op].Rule != RuleLogic {
			return 0, false
		}
		return evalBits(op, t, args)
	case !t.IsInt():
		return 0, false
	}
	if r, ok := evalBits(op, t, args); ok {
		return r, true
	}
	if len(args) == 1 {
		return evalCount(op, t, args[0])
	}
	if t.IsSigned() {
		return evalSigned(op, t, int64(args[0]), int64(args[1]), args[1])
	}
	return evalUnsigned(op, t, args[0], args[1])
}

// evalBits covers the operations that do not depend on signedness.
func evalBits(op Op, t *Type, a []uint64) (uint64, bool) {
	switch op {
	case OpNeg:
		return -a[0], true
	case OpNot:
		return ^a[0], true
	case OpAdd:
		return a[0] + a[1], true
	case OpSub:
		return a[0] - a[1], true
	case OpMul:
		return a[0] * a[1], true
	case OpAnd:
		return a[0] & a[1], true
	case OpOr:
		return a[0] | a[1], true
	case OpXor:
		return a[0] ^ a[1], true
	case OpAndNot:
		return a[0] &^ a[1], true
	case OpShl:
		if a[1] >= uint64(t.Bits()) {
			return 0, true
		}
		return a[0] << a[1], true
	}
	return 0, false
}

func evalCount(op Op, t *Type, a uint64) (uint64, bool) {
	width := t.Bits()
	u := a << (64 - width) >> (64 - width) // without the sign extension
	switch op {
	case OpPopcount:
		return uint64(bits.OnesCount64(u)), true
	case OpClz:
		return uint64(bits.LeadingZeros64(u) - (64 - width)), true
	case OpCtz:
		return uint64(min(bits.TrailingZeros64(u), width)), true
	case OpReverse:
		return bits.Reverse64(u) >> (64 - width), true
	}
	return 0, false
}

// evalWord covers the operations on the bytes of 32-bit words.
func evalWord(op Op, t *Type, x, y, z uint32) uint64 {
	if op == OpPermute {
		all := uint64(y)<<32 | uint64(x)
		var r uint64
		for i := range 4 {
			nibble := z >> (4 * i)
			b := all >> (8 * (nibble & 7)) & 0xFF
			if nibble&8 != 0 {
				b = uint64(int8(b)>>7) & 0xFF
			}
			r |= b << (8 * i)
		}
		return r
	}
	for i := range 4 {
		a, b := x>>(8*i)&0xFF, y>>(8*i)&0xFF
		if t.IsSigned() {
			a, b = uint32(int8(a)), uint32(int8(b))
		}
		z += a * b
	}
	return uint64(z)
}

func evalSigned(op Op, t *Type, x, y int64, count uint64) (uint64, bool) {
	switch op {
	case OpDiv:
		if y == 0 {
			return 0, true
		}
		return uint64(x / y), true // Go defines MinInt64 / -1 as MinInt64
	case OpRem:
		if y == 0 {
			return uint64(x), true
		}
		return uint64(x % y), true
	case OpMulHi:
		if t.Bits() < 64 {
			return uint64(x * y >> t.Bits()), true
		}
		hi, _ := bits.Mul64(uint64(x), uint64(y))
		// The unsigned product counts a negative factor 2^64 too high.
		hi -= uint64(x>>63) & uint64(y)
		hi -= uint64(y>>63) & uint64(x)
		return hi, true
	case OpShr:
		return uint64(x >> min(count, 63)), true
	case OpMin:
		return uint64(min(x, y)), true
	case OpMax:
		return uint64(max(x, y)), true
	}
	return 0, false
}

func evalUnsigned(op Op, t *Type, x, y uint64) (uint64, bool) {
	switch op {
	case OpDiv:
		if y == 0 {
			return 0, true
		}
		return x / y, true
	case OpRem:
		if y == 0 {
			return x, true
		}
		return x % y, true
	case OpMulHi:
		if t.Bits() < 64 {
			return x * y >> t.Bits(), true
		}
		hi, _ := bits.Mul64(x, y)
		return hi, true
	case OpShr:
		return x >> y, true // Go's shift gives 0 past the width
	case OpMin:
		return min(x, y), true
	case OpMax:
		return max(x, y), true
	}
	return 0, false
}

const (
	nan32  = 0x7fc00000
	sign32 = 1 << 31
	nan64  = 0x7ff8000000000000
	sign64 = 1 << 63
)

func bits32(x float32) uint64 {
	if x != x {
		return nan32
	}
	return uint64(math.Float32bits(x))
}

func bits64(x float64) uint64 {
	if x != x {
		return nan64
	}
	return math.Float64bits(x)
}

func evalFloat32(op Op, a []uint64) (uint64, bool) {
	switch op { // on bits
	case OpNeg:
		return a[0] ^ sign32, true
	case OpAbs:
		return a[0] &^ sign32, true
	case OpCopysign:
		return a[0]&^sign32 | a[1]&sign32, true
	}
	var x [3]float32
	for i := range a {
		x[i] = math.Float32frombits(uint32(a[i]))
	}
	switch op {
	case OpAdd:
		return bits32(x[0] + x[1]), true
	case OpSub:
		return bits32(x[0] - x[1]), true
	case OpMul:
		return bits32(x[0] * x[1]), true
	case OpDiv:
		return bits32(x[0] / x[1]), true
	case OpMin:
		return bits32(min(x[0], x[1])), true
	case OpMax:
		return bits32(max(x[0], x[1])), true
	case OpFMA:
		return bits32(fma32(x[0], x[1], x[2])), true
	}
	// The float64 result of these rounds to the correct float32: the square root
	// because 53 >= 2*24+2, the others because they are exact.
	r, ok := evalUnary(op, float64(x[0]))
	return bits32(float32(r)), ok
}

func evalFloat64(op Op, a []uint64) (uint64, bool) {
	switch op { // on bits
	case OpNeg:
		return a[0] ^ sign64, true
	case OpAbs:
		return a[0] &^ sign64, true
	case OpCopysign:
		return a[0]&^sign64 | a[1]&sign64, true
	}
	var x [3]float64
	for i := range a {
		x[i] = math.Float64frombits(a[i])
	}
	switch op {
	case OpAdd:
		return bits64(x[0] + x[1]), true
	case OpSub:
		return bits64(x[0] - x[1]), true
	case OpMul:
		return bits64(x[0] * x[1]), true
	case OpDiv:
		return bits64(x[0] / x[1]), true
	case OpMin:
		return bits64(min(x[0], x[1])), true
	case OpMax:
		return bits64(max(x[0], x[1])), true
	case OpFMA:
		return bits64(math.FMA(x[0], x[1], x[2])), true
	}
	r, ok := evalUnary(op, x[0])
	return bits64(r), ok
}

func evalUnary(op Op, x float64) (float64, bool) {
	switch op {
	case OpSqrt:
		return math.Sqrt(x), true
	case OpFloor:
		return math.Floor(x), true
	case OpCeil:
		return math.Ceil(x), true
	case OpTrunc:
		return math.Trunc(x), true
	case OpRint:
		return math.RoundToEven(x), true
	}
	return 0, false
}

// fma32 returns x*y + z with one rounding. The product is exact in float64. The
// sum is rounded to odd, which keeps enough information in its last bit for the
// second rounding to be the only one that counts (Boldo and Melquiond, 2008).
func fma32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	c := float64(z)
	s := float64(p + c)
	if s != s || math.IsInf(s, 0) {
		return float32(s)
	}
	t := s - p
	err := (p - (s - t)) + (c - t) // exact: Knuth's TwoSum
	b := math.Float64bits(s)
	if err != 0 && b&1 == 0 {
		if (err > 0) == (s > 0) {
			b++
		} else {
			b--
		}
	}
	return float32(math.Float64frombits(b))
}

func evalCompare(op Op, t *Type, a, b uint64) (uint64, bool) {
	var less, equal, unordered bool
	switch {
	case t.IsFloat():
		x, y := decodeFloat(t, a), decodeFloat(t, b)
		less, equal, unordered = x < y, x == y, x != x || y != y
	case t.IsSigned():
		less, equal = int64(a) < int64(b), a == b
	case t.IsInt():
		less, equal = a < b, a == b
	case t.Kind == KBool, t.IsPtr(), t.IsHalf():
		// Halves are storage: comparing them compares patterns, as Go does.
		equal = a == b
		if op != OpEq && op != OpNe {
			return 0, false
		}
	default:
		return 0, false
	}
	var r bool
	switch op {
	case OpEq:
		r = equal
	case OpNe:
		r = !equal
	case OpLt:
		r = less
	case OpLe:
		r = less || equal
	case OpGt:
		r = !less && !equal && !unordered
	case OpGe:
		r = !less && !unordered
	}
	if r {
		return 1, true
	}
	return 0, true
}

func evalBitcast(t *Type, a uint64, from *Type) (uint64, bool) {
	if t.Size() != from.Size() || !t.IsValue() || !from.IsValue() {
		return 0, false
	}
	return Normalize(t, a), true
}
