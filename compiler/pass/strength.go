package pass

import (
	"math/bits"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

func strengthModule(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		strength(f, opt.Small)
	}
	return nil
}

// strength uses the ranges of integers: signed division and remainder by a power
// of two become a shift or a mask where the dividend is not negative, and
// comparisons that the ranges decide become constants. Division is the slowest
// integer operation of a GPU, and indices are hardly ever negative.
func strength(f *ir.Func, small bool) {
	ir.RemoveUnreachable(f)
	if len(f.Blocks) == 0 {
		return
	}
	r := analysis.NewRanges(f, small)
	for _, b := range r.Dom.Order {
		out := make([]*ir.Value, 0, len(b.Instrs)+4)
		for _, v := range b.Instrs {
			out = reduce(r, out, b, v)
		}
		b.Instrs = out
	}
}

func reduce(r *analysis.Ranges, out []*ir.Value, b *ir.Block, v *ir.Value) []*ir.Value {
	switch v.Op {
	case ir.OpDiv, ir.OpRem:
		if !v.Type.IsSigned() {
			break
		}
		y := v.Args[1]
		if !y.IsConst() || int64(y.Imm) <= 0 || y.Imm&(y.Imm-1) != 0 || !r.At(v.Args[0], b).NonNegative() {
			break
		}
		c := r.Func.NewValue(ir.OpConst, ir.U32)
		c.Block, c.Imm = b, uint64(bits.TrailingZeros64(y.Imm))
		op := ir.OpShr
		if v.Op == ir.OpRem {
			c.Type, c.Imm, op = v.Type, y.Imm-1, ir.OpAnd
		}
		out = append(out, c)
		become(v, op, v.Type, v.Args[0], c)
	case ir.OpEq, ir.OpNe, ir.OpLt, ir.OpLe, ir.OpGt, ir.OpGe:
		if v.Args[0].Type.IsInt() {
			decideByRanges(r, b, v)
		}
	}
	return append(out, v)
}

// decideByRanges decides v if the ranges of its operands do.
func decideByRanges(r *analysis.Ranges, b *ir.Block, v *ir.Value) {
	x, y := r.At(v.Args[0], b), r.At(v.Args[1], b)
	if v.Args[0].Type == ir.U64 && !(x.NonNegative() && y.NonNegative()) {
		return
	}
	truth, ok := decided(v.Op, x, y)
	if ok {
		become(v, ir.OpConst, ir.Bool)
		v.Imm = truth
	}
}

func decided(op ir.Op, x, y analysis.Interval) (truth uint64, ok bool) {
	switch op {
	case ir.OpGt, ir.OpGe, ir.OpNe:
		truth, ok = decided(analysis.Inverse[op], x, y)
		return 1 - truth, ok
	case ir.OpLt:
		switch {
		case x.Hi < y.Lo:
			return 1, true
		case x.Lo >= y.Hi:
			return 0, true
		}
	case ir.OpLe:
		switch {
		case x.Hi <= y.Lo:
			return 1, true
		case x.Lo > y.Hi:
			return 0, true
		}
	case ir.OpEq:
		switch {
		case x.Hi < y.Lo || y.Hi < x.Lo:
			return 0, true
		case x == y && x.Lo == x.Hi:
			return 1, true
		}
	}
	return 0, false
}
