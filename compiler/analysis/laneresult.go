package analysis

import "github.com/gokiln/kiln/compiler/ir"

// result returns the shape of v as its operation and operands give it.
func (a *Lanes) result(v *ir.Value) Shape {
	switch v.Op {
	case ir.OpThread:
		switch {
		case a.General:
			return Vary
		case v.Imm == 0:
			return Shape{AffineLanes, 1, a.Wide}
		}
		return same
	case ir.OpLane:
		return Shape{AffineLanes, 1, maxAlign}
	case ir.OpConst:
		return Shape{UniformLanes, 0, multiple(int64(v.Imm))}
	case ir.OpLocal, ir.OpShared, ir.OpTable, ir.OpBallot, ir.OpAny, ir.OpAll, ir.OpWhole:
		return same
	}
	if v.Op == ir.OpAtomicLoad && v.Args[0].Type.Space != ir.Local && a.Of(v.Args[0]).Kind <= UniformLanes {
		return Shape{Kind: a.Of(v.Args[0]).Kind, align: 1} // lanes that load from one place do so at once
	}
	if v.Op.Has(ir.Writes) { // atomic operations: each lane has its own
		return Vary
	}
	return a.combine(v, a.worst(v))
}

// worst returns the shape that the operands of v have in common.
func (a *Lanes) worst(v *ir.Value) Shape {
	s := same
	for _, x := range v.Args {
		switch k := a.Of(x).Kind; {
		case k == unknown:
			return Shape{}
		case k > UniformLanes:
			s = Vary
		}
	}
	return s
}

// combine returns the shape of v given whether all its operands are uniform.
func (a *Lanes) combine(v *ir.Value, s Shape) Shape {
	switch {
	case v.Op == ir.OpLoad && v.Args[0].Type.Space == ir.Local:
		return Vary // each lane has memory of its own
	case s.Kind != VaryingLanes:
		if Wide(v.Type) {
			s.align = a.alignment(v)
		}
		return s
	}
	x, y := a.operand(v, 0), a.operand(v, 1)
	switch v.Op {
	case ir.OpAnd:
		if c := v.Args[1]; c.IsConst() && Wide(v.Type) {
			return a.modulo(x, int64(c.Imm))
		}
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		if x.Kind == UniformLanes || v.Op == ir.OpShflIdx && x.Kind == AffineLanes && isZero(v.Args[1]) {
			return same // of numbers that go up that of lane 0 is kept
		}
	case ir.OpShr:
		if c := v.Args[1]; c.IsConst() && c.Imm < 40 && Wide(v.Type) {
			return a.shifted(x, int64(1)<<c.Imm)
		}
	case ir.OpAdd, ir.OpSub, ir.OpNeg, ir.OpMul, ir.OpShl:
		if v.Type.IsInt() && v.Type.Size() == 8 {
			return linear(v, x, y)
		}
	case ir.OpConvert, ir.OpBitcast:
		if Wide(v.Type) && Wide(v.Args[0].Type) {
			return x
		}
	case ir.OpField:
		return x
	case ir.OpIndex, ir.OpOffset:
		if v.Type.Space == ir.Local || !Wide(v.Args[1].Type) && y.Kind == AffineLanes {
			return Vary
		}
		return sumOf(x, scaled(y, int64(v.Type.Elem.Size())))
	}
	return Vary
}

func (a *Lanes) operand(v *ir.Value, i int) Shape {
	if i >= len(v.Args) {
		return same
	}
	return a.Of(v.Args[i])
}

// Wide reports whether values of type t are integers of 64 bits.
func Wide(t *ir.Type) bool { return t.IsInt() && t.Size() == 8 }

// linear returns the shape of 64-bit arithmetic on operands of shapes x and y. All
// of it wraps, as addresses do.
func linear(v *ir.Value, x, y Shape) Shape {
	switch v.Op {
	case ir.OpAdd:
		return sumOf(x, y)
	case ir.OpSub:
		return sumOf(x, scaled(y, -1))
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
	return Vary
}

// maxAlign is as good as any alignment.
const maxAlign = 1 << 40

// multiple returns the largest power of two, up to maxAlign, that divides c.
func multiple(c int64) int64 {
	if c == 0 {
		return maxAlign
	}
	return min(c&-c, maxAlign)
}

// alignment returns a power of two that divides a uniform 64-bit integer.
func (a *Lanes) alignment(v *ir.Value) int64 {
	x, y := max(a.operand(v, 0).align, 1), max(a.operand(v, 1).align, 1)
	switch v.Op {
	case ir.OpAdd, ir.OpSub, ir.OpOr, ir.OpXor:
		return min(x, y)
	case ir.OpMul:
		return min(x*min(y, maxAlign/x), maxAlign)
	case ir.OpAnd:
		return max(x, y)
	case ir.OpNeg, ir.OpBitcast, ir.OpConvert:
		return x
	case ir.OpShl:
		if c := v.Args[1]; c.IsConst() && c.Imm < 40 {
			return min(x<<min(c.Imm, 20), maxAlign)
		}
	}
	return 1
}

// modulo returns the shape of x modulo c+1, a power of two. Where lane 0 has a
// multiple of more than what the lanes add, its low bits and theirs do not carry.
func (a *Lanes) modulo(x Shape, c int64) Shape {
	last := x.Step * (a.Wide - 1)
	if x.Kind != AffineLanes || x.Step < 0 || c < 0 || (c+1)&c != 0 || last >= min(x.align, c+1) {
		return Vary
	}
	return Shape{AffineLanes, x.Step, x.align}
}

// shifted returns the shape of x divided by n, a power of two: where lane 0 has a multiple
// of more than what the lanes add, all have the quotient of lane 0.
func (a *Lanes) shifted(x Shape, n int64) Shape {
	if last := x.Step * (a.Wide - 1); x.Kind != AffineLanes || x.Step < 0 || last >= min(x.align, n) {
		return Vary
	}
	return Shape{UniformLanes, 0, max(x.align/n, 1)}
}

func isZero(v *ir.Value) bool { return v.IsConst() && v.Imm == 0 }

// maxStep bounds steps, so that those of a whole vector fit in 32 bits.
const maxStep = 1 << 26

func limited(step, align int64) Shape {
	switch {
	case step > maxStep || step < -maxStep:
		return Vary
	case step == 0:
		return Shape{UniformLanes, 0, align}
	}
	return Shape{AffineLanes, step, align}
}

func sumOf(x, y Shape) Shape {
	if x.Kind == VaryingLanes || y.Kind == VaryingLanes {
		return Vary
	}
	return limited(x.Step+y.Step, min(x.align, y.align))
}

func scaled(x Shape, by int64) Shape {
	if x.Kind == VaryingLanes || x.Step != 0 && (by > maxStep || by < -maxStep) {
		return Vary
	}
	return limited(x.Step*by, min(max(x.align, 1)*min(multiple(by), maxAlign/max(x.align, 1)), maxAlign))
}
