package pass

import (
	"math/bits"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
)

// fixTarget replaces what the target fixes: the size of a warp and the shapes of matrix
// instructions by constants, and where elements of fragments stand by arithmetic.
func fixTarget(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if v.Op == ir.OpWarpSize && opt.WarpSize != 0 {
					become(v, ir.OpConst, v.Type)
					v.Imm = uint64(opt.WarpSize)
				}
			}
			if slices.ContainsFunc(b.Instrs, isUnitQuery) {
				fixMatrix(f, b, opt)
			}
		}
	}
	return nil
}

func isUnitQuery(v *ir.Value) bool {
	return v.Op == ir.OpMatrixFact || v.Op == ir.OpMatrixRow || v.Op == ir.OpMatrixCol
}

// fixMatrix answers what is asked of matrix instructions in a block. Where there is none the numbers
// are 0, and code that uses the instruction is not reached.
func fixMatrix(f *ir.Func, b *ir.Block, opt *Options) {
	p := positions{f: f, b: b}
	for _, v := range b.Instrs {
		if p.v = v; isUnitQuery(v) {
			kind, what := v.MatrixKind()
			var unit *matrix.Unit
			if opt.Matrix != nil {
				unit = opt.Matrix(kind)
			}
			switch {
			case what == uint8(ir.MatrixPacked) && v.Op == ir.OpMatrixFact && opt.Packed != nil && opt.Packed(kind):
			case v.Op == ir.OpMatrixFact || unit == nil:
				n := unit.Fact(ir.MatrixFact(what))
				become(v, ir.OpConst, v.Type)
				v.Imm = uint64(n)
			default:
				p.position(unit.Of(ir.MatrixOperand(what)))
			}
		}
		p.out = append(p.out, v)
	}
	b.Instrs = p.out
}

// positions makes arithmetic of layouts.
type positions struct {
	f   *ir.Func
	b   *ir.Block
	v   *ir.Value // row or column
	out []*ir.Value
}

// position makes p.v the sum of what the bits of the lane and of the element's number contribute.
func (p *positions) position(l matrix.Layout) {
	lane := p.add(ir.OpLane)
	sum := p.linear(p.linear(nil, p.v.Args[0], p.along(l.Reg)), lane, p.along(l.Lane))
	if sum == nil {
		sum = p.add(ir.OpConst)
	}
	zero := p.add(ir.OpConst)
	become(p.v, ir.OpAdd, p.v.Type, sum, zero)
}

// along returns the rows or the columns of contributions.
func (p *positions) along(list []matrix.Coord) (out []int) {
	for _, c := range list {
		if p.v.Op == ir.OpMatrixRow {
			out = append(out, c.Row)
		} else {
			out = append(out, c.Col)
		}
	}
	return out
}

// linear adds what the bits of n contribute, each a power of two or nothing. Neighbours of which
// each contributes twice as much as the one before are one field.
func (p *positions) linear(sum, n *ir.Value, list []int) *ir.Value {
	for i := 0; i < len(list); {
		width := 1
		for i+width < len(list) && list[i] != 0 && list[i+width] == list[i]<<width {
			width++
		}
		if list[i] != 0 {
			field := p.add(ir.OpAnd, p.shift(ir.OpShr, n, i), p.number(ir.I64, 1<<width-1))
			field = p.shift(ir.OpShl, field, bits.TrailingZeros(uint(list[i])))
			if sum == nil {
				sum = field
			} else {
				sum = p.add(ir.OpAdd, sum, field)
			}
		}
		i += width
	}
	return sum
}

func (p *positions) shift(op ir.Op, x *ir.Value, by int) *ir.Value {
	if by == 0 {
		return x
	}
	return p.add(op, x, p.number(ir.U64, by))
}

func (p *positions) number(t *ir.Type, n int) *ir.Value {
	c := p.add(ir.OpConst)
	c.Type, c.Imm = t, uint64(n)
	return c
}

func (p *positions) add(op ir.Op, args ...*ir.Value) *ir.Value {
	w := p.f.NewValue(op, ir.I64, args...)
	w.Pos, w.Block = p.v.Pos, p.b
	p.out = append(p.out, w)
	return w
}
