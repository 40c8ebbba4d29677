package ptxas

import "github.com/gokiln/kiln/compiler/ir"

// Negated reports whether an operand of v is a negation, or one in another type.
func Negated(v *ir.Value) bool {
	for _, x := range v.Args {
		if Negation(converted(x)) {
			return true
		}
	}
	return false
}

// Negation reports whether v is an integer negated, in whatever
// form: -x, 0-x, x*-1, x/-1, ^x+1, ^(x-1).
func Negation(v *ir.Value) bool {
	if !v.Type.IsInt() || len(v.Args) == 0 {
		return false
	}
	x := v.Args[0]
	if v.Op == ir.OpNeg {
		return true
	}
	if y := inverted(v); y != nil {
		return y.Op == ir.OpAdd && eitherIs(y, -1) || y.Op == ir.OpSub && is(y.Args[1], 1)
	}
	switch v.Op {
	case ir.OpSub:
		return is(x, 0) || is(v.Args[1], -1) && inverted(x) != nil
	case ir.OpMul:
		return eitherIs(v, -1)
	case ir.OpDiv:
		return v.Type.IsSigned() && is(v.Args[1], -1)
	case ir.OpAdd:
		return eitherIs(v, 1) && (inverted(x) != nil || inverted(v.Args[1]) != nil)
	}
	return false
}

// Magnitude reports whether v is the magnitude of an integer, made of its sign s, which
// is 0 or -1: (x^s)-s or (x+s)^s.
func Magnitude(v *ir.Value) bool {
	inner := ir.OpXor
	switch v.Op {
	case ir.OpSub:
	case ir.OpXor:
		inner = ir.OpAdd
	default:
		return false
	}
	for i, x := range v.Args {
		s := v.Args[1-i]
		if (i == 0 || v.Op == ir.OpXor) && x.Op == inner && isSign(s) && (x.Args[0] == s || x.Args[1] == s) {
			return true
		}
	}
	return false
}

func isSign(s *ir.Value) bool {
	return s.Op == ir.OpShr && s.Type.IsSigned() && s.Args[1].IsConst() && s.Args[1].Imm >= uint64(s.Type.Bits()-1)
}

// Disguised reports whether v is what optimisers make the magnitude of an integer of, by
// itself or with a selection.
func Disguised(v *ir.Value) bool { return Negation(v) || Magnitude(v) }

// is reports whether x is the constant n.
func is(x *ir.Value, n int64) bool {
	return x.IsConst() && x.Imm == ir.Normalize(x.Type, uint64(n))
}

func eitherIs(v *ir.Value, n int64) bool { return is(v.Args[0], n) || is(v.Args[1], n) }

// inverted returns what v has the bits of inverted, nil if that is nothing.
func inverted(v *ir.Value) *ir.Value {
	switch v.Op {
	case ir.OpNot:
		return v.Args[0]
	case ir.OpXor, ir.OpSub, ir.OpAndNot:
		if is(v.Args[0], -1) {
			return v.Args[1]
		}
		if v.Op == ir.OpXor && is(v.Args[1], -1) {
			return v.Args[0]
		}
	}
	return nil
}

// converted returns what x is a conversion of between integers.
func converted(x *ir.Value) *ir.Value {
	for x.Op == ir.OpConvert || x.Op == ir.OpBitcast {
		x = x.Args[0]
	}
	return x
}

// Computed reports whether an operand of v is the result of arithmetic, of which an
// optimiser may make a negation.
func Computed(v *ir.Value) bool {
	for _, x := range v.Args {
		switch converted(x).Op {
		case ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpNeg, ir.OpNot, ir.OpXor:
			return true
		}
	}
	return false
}

// Extremum reports whether v is a selection that takes the smaller or the greater of two
// numbers, one of which is the result of arithmetic: optimisers make a minimum of it.
func Extremum(v *ir.Value) bool {
	if v.Op != ir.OpSelect {
		return false
	}
	c := v.Args[0]
	switch c.Op {
	case ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
	default:
		return false
	}
	return Computed(c)
}

// Disjunction reports whether v is the disjunction of two bools, or a conjunction that
// holds a negation, of which optimisers make one.
func Disjunction(v *ir.Value) bool {
	if v.Type != ir.Bool {
		return false
	}
	switch v.Op {
	case ir.OpOr, ir.OpAndNot:
		return true
	case ir.OpAnd:
		return v.Args[0].Op == ir.OpNot || v.Args[1].Op == ir.OpNot
	}
	return false
}
