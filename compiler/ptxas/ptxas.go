package ptxas

import "github.com/gokiln/kiln/compiler/ir"

// Negated reports whether an operand of v is a negation.
func Negated(v *ir.Value) bool {
	for _, x := range v.Args {
		x = converted(x)
		zero, minus := false, false
		if len(x.Args) == 2 {
			zero = x.Args[0].IsConst() && x.Args[0].Imm == 0
			minus = x.Args[1].IsConst() && int64(x.Args[1].Imm<<(64-x.Type.Bits()))>>(64-x.Type.Bits()) == -1
		}
		if x.Op == ir.OpNeg || x.Op == ir.OpSub && zero || (x.Op == ir.OpMul || x.Op == ir.OpDiv) && minus {
			return true
		}
	}
	return false
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
