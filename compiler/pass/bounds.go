package pass

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// boundsModule removes the checks of a release build that are left, and of other
// builds those that are not needed.
func boundsModule(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		if opt.Release {
			dropBounds(f)
		} else {
			bounds(f, opt.Small)
		}
	}
	return nil
}

// bounds removes checks that cannot fail: those that an equal or stronger check
// has made before, those that a branch above implies, and those that the range
// of the index decides.
func bounds(f *ir.Func, small bool) {
	ir.RemoveUnreachable(f)
	if !hasOp(f, ir.OpBounds) {
		return
	}
	c := &checks{ranges: newRanges(f, small), made: map[*ir.Value][]*ir.Value{}}
	for _, b := range c.dom.order {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool {
			if v.Op != ir.OpBounds {
				return false
			}
			if c.holds(v.Args[0], v.Args[1], b) {
				return true
			}
			c.made[v.Args[0]] = append(c.made[v.Args[0]], v)
			return false
		})
	}
}

func hasOp(f *ir.Func, op ir.Op) bool {
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op == op {
				return true
			}
		}
	}
	return false
}

type checks struct {
	*ranges
	made map[*ir.Value][]*ir.Value // index -> checks kept, in order
}

// holds reports whether 0 <= i < n is known in block b.
func (c *checks) holds(i, n *ir.Value, b *ir.Block) bool {
	length := c.at(n, b)
	x := c.at(i, b)
	below := false
	for _, m := range c.made[i] {
		if !c.dom.dominates(m.Block, b) {
			continue
		}
		limit := c.at(m.Args[1], b)
		if m.Args[1] == n || limit.hi <= length.lo {
			return true
		}
		x = x.meet(interval{0, max(limit.hi, 1) - 1})
	}
	if !x.nonNegative() {
		return false
	}
	if x.hi < length.lo || belowByForm(i, n, length) || c.remainder(i, n, b) {
		return true
	}
	c.facts(b, func(cond *ir.Value, truth bool) {
		if op, w := comparison(i, cond, truth); op == ir.OpLt && atMost(w, n) {
			below = true
		}
	})
	return below
}

// belowByForm reports whether i is n less a constant, for n that is not negative.
func belowByForm(i, n *ir.Value, length interval) bool {
	if i.Op != ir.OpAdd || i.Args[0] != n || !i.Args[1].IsConst() {
		return false
	}
	d := int64(i.Args[1].Imm)
	return d < 0 && d > math.MinInt64 && length.nonNegative()
}

// remainder reports whether i is something modulo n with n positive.
func (c *checks) remainder(i, n *ir.Value, b *ir.Block) bool {
	return i.Op == ir.OpRem && i.Args[1] == n && c.at(n, b).lo > 0
}

// atMost reports whether w <= n by the form of w.
func atMost(w, n *ir.Value) bool {
	if w == n {
		return true
	}
	return w.Op == ir.OpMin && (atMost(w.Args[0], n) || atMost(w.Args[1], n))
}
