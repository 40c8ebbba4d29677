package pass

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Threads that count through the points of a picture divide to see where they are:
// x, y = i%width, i/width. Most vectors lie within one row: there y is the same in all
// lanes, x goes up by one, and what is made of them is read and written as vectors. So
// what is behind such a division is there twice, too. One division of general registers, by
// the number of the first lane, tells which of the two it is. Lanes may be off in both.

// rowLimit bounds how many operations are copied, rowSplits how often.
const (
	rowLimit  = 600
	rowSplits = 4
)

// splitRows duplicates what is worth it.
func splitRows(f *ir.Func, lanes int) error {
	if !slices.ContainsFunc(f.Blocks, func(b *ir.Block) bool { return slices.ContainsFunc(b.Instrs, isDivision) }) {
		return nil
	}
	size := 0
	for range rowSplits {
		a, err := lanesOf(f, lanes)
		if err != nil {
			return err
		}
		r := &rowSplitter{Lanes: a, f: f}
		if !r.any(&size) {
			return nil
		}
	}
	return nil
}

// isDivision reports whether v is a quotient or remainder of numbers of 64 bits.
func isDivision(v *ir.Value) bool {
	return (v.Op == ir.OpDiv || v.Op == ir.OpRem) && v.Type == ir.I64
}

// rowSplitter makes one duplication.
type rowSplitter struct {
	*analysis.Lanes
	f *ir.Func
}

// any duplicates what is behind the first division that is worth it.
func (r *rowSplitter) any(size *int) bool {
	for i := range r.Blocks {
		b := r.Blocks[i].Block
		if b.Tail {
			continue
		}
		at := slices.IndexFunc(b.Instrs, r.divides)
		if at < 0 {
			continue
		}
		if list, n := r.behind(i, at); list != nil && *size+n <= rowLimit {
			*size += n
			r.split(b, at, list)
			return true
		}
	}
	return false
}

// divides reports whether v divides what goes up from lane to lane by one number.
func (r *rowSplitter) divides(v *ir.Value) bool {
	if !isDivision(v) {
		return false
	}
	s := r.Of(v.Args[0])
	return s.Kind == analysis.AffineLanes && s.Step > 0 && r.Of(v.Args[1]).Kind == analysis.UniformLanes
}

// behind returns the blocks behind block i that it dominates, as far as they are in the
// same loop, and how many operations they and what is behind instruction at have; nil if
// they cannot be copied.
func (r *rowSplitter) behind(i, at int) (list []*ir.Block, n int) {
	b := r.Blocks[i]
	list = []*ir.Block{b.Block}
	for j := i + 1; j < b.End; j++ {
		if b.Loop < 0 || r.Loops[b.Loop].Has(j) {
			list = append(list, r.Blocks[j].Block)
		}
	}
	for k, x := range list {
		instrs := x.Instrs
		if k == 0 {
			instrs = instrs[at:]
		}
		n += vectorSize(instrs)
		for _, v := range instrs {
			if !mayBeCopied(v) || v.Op == ir.OpWhole {
				return nil, 0
			}
		}
	}
	if usedOutside(r.f, list) {
		return nil, 0
	}
	return list, n
}

// split cuts block b in front of instruction at, copies what is behind, of which list has
// the other blocks, and branches to the copy where all lanes are in one row.
func (r *rowSplitter) split(b *ir.Block, at int, list []*ir.Block) {
	x, width := b.Instrs[at].Args[0], b.Instrs[at].Args[1]
	wraps := analysis.MayWrap(analysis.RangesOf(r.f), x, b) // before anything changes
	rest := r.f.NewBlock()
	for _, v := range b.Instrs[at:] {
		rest.Append(v)
	}
	rest.Term = b.Term
	b.Instrs = b.Instrs[:at:at]
	list[0] = rest
	value, block := duplicate(r.f, list)
	add := func(op ir.Op, args ...*ir.Value) *ir.Value {
		v := r.f.NewValue(op, ir.I64, args...)
		v.Pos = rest.Instrs[0].Pos
		b.Append(v)
		return v
	}
	zero := add(ir.OpConst)
	row := add(ir.OpDiv, add(ir.OpShflIdx, x, zero), width)
	start := add(ir.OpMul, row, width)
	column := add(ir.OpSub, x, start)
	for _, c := range list {
		c.Tail, block(c).Tail = true, false
		for _, v := range c.Instrs {
			w := value(v)
			if analysis.OrdersWide(v) {
				w.Imm = 0 // its operands may be other values now, whose ranges decide
			}
			if !isDivision(v) || v.Args[0] != x || v.Args[1] != width {
				continue
			}
			if w.Op == ir.OpDiv {
				w.Op, w.Args = ir.OpAdd, []*ir.Value{row, zero}
			} else {
				w.Op, w.Args = ir.OpSub, []*ir.Value{x, start}
			}
		}
	}
	bounds := []bound{{ir.OpLt, column, width, true}, {ir.OpGe, column, zero, false}} // the second is behind the first
	if wraps {
		last := add(ir.OpConst)
		last.Imm = math.MaxInt64
		bounds = append(bounds, bound{ir.OpLe, x, last, true})
	}
	b.Term.Pos = zero.Pos
	decide(r.f, b, bounds, true, ir.Edge{To: block(rest)}, ir.Edge{To: rest})
}
