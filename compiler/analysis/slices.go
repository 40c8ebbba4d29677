package analysis

import (
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// slicing holds the checks of slice expressions x[low:high], which say that the new
// length, high - low, is not negative.
type slicing struct {
	lows  map[*ir.Value][]*ir.Value // by low: that it is at most high
	highs map[*ir.Value][]*ir.Value // by high: that it is at most the old length
	spans map[*ir.Value][]*ir.Value // by n of x[low:low+n]: those of low
}

func lowOf(v *ir.Value) bool {
	return v.Op == ir.OpBounds && devlog.Check(v.Imm)&^devlog.Unsigned == devlog.SliceOrder
}

func highOf(v *ir.Value) bool {
	return v.Op == ir.OpBounds && devlog.Check(v.Imm)&^devlog.Unsigned == devlog.SliceCap
}

// newSlicing finds the checks of f, nil if there are none of lower ends.
func newSlicing(f *ir.Func) *slicing {
	var s *slicing
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if !lowOf(v) && !highOf(v) {
				continue
			}
			if s == nil {
				s = &slicing{map[*ir.Value][]*ir.Value{}, map[*ir.Value][]*ir.Value{}, map[*ir.Value][]*ir.Value{}}
			}
			x := v.Args[0]
			if highOf(v) {
				s.highs[x] = append(s.highs[x], v)
				continue
			}
			s.lows[x] = append(s.lows[x], v)
			if high := v.Args[1]; high.Op == ir.OpAdd && follows(high, high.Args[0]) && high.Args[0].Op == ir.OpAdd {
				for i, y := range high.Args[0].Args {
					if y == x {
						n := high.Args[0].Args[1-i]
						s.spans[n] = append(s.spans[n], v)
					}
				}
			}
		}
	}
	return s
}

// resliced returns the range of a difference that is the length of a slice of a
// slice, both of whose ends have been checked where it is computed.
func (r *Ranges) resliced(v *ir.Value) (Interval, bool) {
	if r.slicing == nil || v.Op != ir.OpSub || v.Block == nil {
		return Interval{}, false
	}
	high, low := v.Args[0], v.Args[1]
	for _, c := range r.slicing.lows[low] {
		if follows(c.Args[1], high) && r.earlier(c, v) {
			x := Interval{0, min(r.Of(high).Hi, r.upTo(high, v))}
			return x, x.Hi >= 0
		}
	}
	return Interval{}, false
}

// spanned intersects x with what checks that come before user say of v, as in
// x[:v] and x[low:low+v]. Of the latter, only
// an end that is checked itself has not wrapped.
func (r *Ranges) spanned(v, user *ir.Value, x Interval) Interval {
	if r.slicing == nil || user.Block == nil {
		return x
	}
	if top := r.upTo(v, user); top <= MaxLen {
		x = x.Meet(Interval{0, top})
	}
	for _, c := range r.slicing.spans[v] {
		high := c.Args[1].Args[0]
		if top := r.upTo(high, user); top <= MaxLen && r.earlier(c, user) {
			x = x.Meet(Interval{0, top})
		}
	}
	return x
}

// spannedIn is spanned for what is known at the start of block b.
func (r *Ranges) spannedIn(v *ir.Value, b *ir.Block, x Interval) Interval {
	if r.slicing == nil || b == nil {
		return x
	}
	above := func(c *ir.Value) bool { return c.Block != b && r.Dom.Dominates(c.Block, b) }
	for _, d := range r.slicing.highs[v] {
		if above(d) {
			x = x.Meet(Interval{0, min(r.Of(d.Args[1]).Hi, MaxLen+1) - 1})
		}
	}
	for _, c := range r.slicing.spans[v] {
		high := c.Args[1].Args[0]
		for _, d := range r.slicing.highs[high] {
			if above(c) && above(d) {
				x = x.Meet(Interval{0, min(r.Of(d.Args[1]).Hi, MaxLen+1) - 1})
			}
		}
	}
	return x
}

// upTo returns the most that the upper end of a slice can be where user is.
func (r *Ranges) upTo(high, user *ir.Value) int64 {
	top := int64(MaxLen) + 1
	for _, c := range r.slicing.highs[high] {
		if limit := r.Of(c.Args[1]).Hi; limit > 0 && r.earlier(c, user) {
			top = min(top, limit-1)
		}
	}
	return top
}

// follows reports whether n is v + 1 by its form.
func follows(n, v *ir.Value) bool {
	if n.Op == ir.OpAdd && n.Args[0] == v {
		return n.Args[1].IsConst() && n.Args[1].Imm == 1
	}
	return n.IsConst() && v.IsConst() && n.Imm == v.Imm+1
}

// earlier reports whether every path to v leads through a (a dominates v).
func (r *Ranges) earlier(a, v *ir.Value) bool {
	if a.Block != v.Block {
		return r.Dom.Dominates(a.Block, v.Block)
	}
	for _, x := range a.Block.Instrs {
		if x == a || x == v {
			return x == a
		}
	}
	return false
}
