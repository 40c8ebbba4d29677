package amd64

import "github.com/gokiln/kiln/compiler/ir"

// result returns the shape of v as its operation and operands give it.
func (a *analysis) result(v *ir.Value) shape {
	switch v.Op {
	case ir.OpThread:
		switch {
		case a.general:
			return vary
		case v.Imm == 0:
			return lanes
		}
		return same
	case ir.OpLane:
		return lanes
	case ir.OpLocal, ir.OpShared, ir.OpBallot, ir.OpAny, ir.OpAll:
		return same
	}
	if v.Op.Has(ir.Writes) { // atomic operations: each lane has its own
		return vary
	}
	return a.combine(v, a.worst(v))
}

// worst returns the shape that the operands of v have in common.
func (a *analysis) worst(v *ir.Value) shape {
	s := same
	for _, x := range v.Args {
		switch k := a.of(x).kind; {
		case k == unknown:
			return shape{}
		case k > uniform:
			s = vary
		}
	}
	return s
}

// combine returns the shape of v given whether all its operands are uniform.
func (a *analysis) combine(v *ir.Value, s shape) shape {
	switch {
	case v.Op == ir.OpLoad && v.Args[0].Type.Space == ir.Local:
		return vary // each lane has memory of its own
	case s.kind != varying:
		return s
	}
	x, y := a.operand(v, 0), a.operand(v, 1)
	switch v.Op {
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		if x.kind == uniform {
			return same
		}
	case ir.OpAdd, ir.OpSub, ir.OpNeg, ir.OpMul, ir.OpShl:
		if v.Type.IsInt() && v.Type.Size() == 8 {
			return linear(v, x, y)
		}
	case ir.OpConvert, ir.OpBitcast:
		if wide(v.Type) && wide(v.Args[0].Type) {
			return x
		}
	case ir.OpField:
		return x
	case ir.OpIndex, ir.OpOffset:
		if v.Type.Space == ir.Local || !wide(v.Args[1].Type) && y.kind == affine {
			return vary
		}
		return sum(x, scaled(y, int64(v.Type.Elem.Size())))
	}
	return vary
}

func (a *analysis) operand(v *ir.Value, i int) shape {
	if i >= len(v.Args) {
		return same
	}
	return a.of(v.Args[i])
}

// wide reports whether values of type t are integers of 64 bits.
func wide(t *ir.Type) bool { return t.IsInt() && t.Size() == 8 }

// linear returns the shape of 64-bit arithmetic on operands of shapes x and y. All
// of it wraps, as addresses do.
func linear(v *ir.Value, x, y shape) shape {
	switch v.Op {
	case ir.OpAdd:
		return sum(x, y)
	case ir.OpSub:
		return sum(x, scaled(y, -1))
	case ir.OpNeg:
		return scaled(x, -1)
	case ir.OpMul:
		if c := v.Args[1]; c.IsConst() {
			return scaled(x, int64(c.Imm))
		}
		if c := v.Args[0]; c.IsConst() {
			return scaled(y, int64(c.Imm))
		}
	case ir.OpShl:
		if c := v.Args[1]; c.IsConst() && c.Imm < 32 {
			return scaled(x, 1<<c.Imm)
		}
	}
	return vary
}

// maxStep bounds steps, so that those of a whole vector fit in 32 bits.
const maxStep = 1 << 26

func limited(step int64) shape {
	switch {
	case step > maxStep || step < -maxStep:
		return vary
	case step == 0:
		return same
	}
	return shape{affine, step}
}

func sum(x, y shape) shape {
	if x.kind == varying || y.kind == varying {
		return vary
	}
	return limited(x.step + y.step)
}

func scaled(x shape, by int64) shape {
	if x.kind == varying || x.step != 0 && (by > maxStep || by < -maxStep) {
		return vary
	}
	return limited(x.step * by)
}
