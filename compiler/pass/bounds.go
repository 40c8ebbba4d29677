package pass

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// boundsModule removes the checks of a release build that are left, and of other
// builds those that are not needed.
func boundsModule(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		if opt.Release {
			drop(f, ir.OpBounds, ir.OpNonNil)
		} else {
			bounds(f, opt.Small)
		}
	}
	return nil
}

// bounds removes checks that cannot fail: those that an equal or stronger check
// has made before, those that a branch above implies, and those that the range
// of the value decides.
func bounds(f *ir.Func, small bool) {
	ir.RemoveUnreachable(f)
	if !hasCheck(f) {
		return
	}
	c := &checks{Ranges: analysis.NewRanges(f, small), made: map[*ir.Value][]*ir.Value{}}
	var divisors, counts, set seen
	for _, b := range c.Dom.Order {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool {
			switch v.Op {
			case ir.OpBounds:
				if c.holds(v.Args[0], v.Args[1], b) {
					return true
				}
				c.made[v.Args[0]] = append(c.made[v.Args[0]], v)
			case ir.OpNonNil:
				return set.before(c.Dom, v.Args[0], b)
			case ir.OpDivisor:
				y := c.At(v.Args[1], b)
				return y.Lo > 0 || y.Hi < 0 || divisors.before(c.Dom, v.Args[1], b)
			case ir.OpCount:
				return c.At(v.Args[0], b).NonNegative() || counts.before(c.Dom, v.Args[0], b)
			}
			return false
		})
	}
}

func hasCheck(f *ir.Func) bool {
	for _, b := range f.Blocks {
		if slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return isCheck(v.Op) }) {
			return true
		}
	}
	return false
}

// seen holds where values have been checked.
type seen map[*ir.Value][]*ir.Block

// before reports whether x has been checked on every path to block b, and notes
// that it is from there on.
func (s *seen) before(dom *ir.DomTree, x *ir.Value, b *ir.Block) bool {
	if *s == nil {
		*s = seen{}
	}
	for _, d := range (*s)[x] {
		if dom.Dominates(d, b) {
			return true
		}
	}
	(*s)[x] = append((*s)[x], b)
	return false
}

type checks struct {
	*analysis.Ranges
	made map[*ir.Value][]*ir.Value // index -> checks kept, in order
}

// holds reports whether 0 <= i < n is known in block b.
func (c *checks) holds(i, n *ir.Value, b *ir.Block) bool {
	length := c.At(n, b)
	x := c.At(i, b)
	below := false
	for _, m := range c.made[i] {
		if !c.Dom.Dominates(m.Block, b) {
			continue
		}
		limit := c.At(m.Args[1], b)
		if m.Args[1] == n || limit.Hi <= length.Lo {
			return true
		}
		x = x.Meet(analysis.Interval{Lo: 0, Hi: max(limit.Hi, 1) - 1})
	}
	if !x.NonNegative() {
		return false
	}
	if x.Hi < length.Lo || belowByForm(i, n, length) || c.remainder(i, n, b) || c.belowBy(i, n, b) {
		return true
	}
	c.Facts(b, func(cond *ir.Value, truth bool) {
		if op, w := analysis.ComparisonOf(i, cond, truth); op == ir.OpLt && atMost(w, n) {
			below = true
		}
	})
	return below
}

// belowByForm reports whether i is n less a constant, for n that is not negative.
func belowByForm(i, n *ir.Value, length analysis.Interval) bool {
	if i.Op != ir.OpAdd || i.Args[0] != n || !i.Args[1].IsConst() {
		return false
	}
	d := int64(i.Args[1].Imm)
	return d < 0 && d > math.MinInt64 && length.NonNegative()
}

// remainder reports whether i is something modulo n with n positive.
func (c *checks) remainder(i, n *ir.Value, b *ir.Block) bool {
	return i.Op == ir.OpRem && i.Args[1] == n && c.At(n, b).Lo > 0
}

// atMost reports whether w <= n by the form of w.
func atMost(w, n *ir.Value) bool {
	if w == n {
		return true
	}
	return w.Op == ir.OpMin && (atMost(w.Args[0], n) || atMost(w.Args[1], n))
}

// belowBy reports whether i < n follows in block b from a condition on a counter at
// some distance before i, as in
//
//	for i := 0; i < n-3; i += 4 { x[i+2] }
func (c *checks) belowBy(i, n *ir.Value, b *ir.Block) (below bool) {
	from, by := apart(i)
	if length := c.At(n, b); by < 0 || !length.NonNegative() || length.Hi > analysis.MaxLen {
		return false
	}
	c.Facts(b, func(cond *ir.Value, truth bool) {
		op, w := analysis.ComparisonOf(from, cond, truth)
		if w == nil || op != ir.OpLt && op != ir.OpLe {
			return
		}
		end, less := apart(w)
		if op == ir.OpLe {
			less++
		}
		below = below || atMost(end, n) && less <= -by && less > -analysis.MaxLen
	})
	return below
}

// apart takes v = from + by apart.
func apart(v *ir.Value) (from *ir.Value, by int64) {
	if v.Op == ir.OpAdd && v.Type == ir.I64 && v.Args[1].IsConst() {
		if d := int64(v.Args[1].Imm); d > -analysis.MaxLen && d < analysis.MaxLen {
			return v.Args[0], d
		}
	}
	return v, 0
}
