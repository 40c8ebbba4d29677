package analysis

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// Loop is a natural loop.
type Loop struct {
	Header  *ir.Block
	Blocks  []*ir.Block // in reverse postorder, header first
	Parent  *Loop       // innermost loop around this one
	Depth   int         // 1 for outermost loops
	Entries []Edge      // into header from outside
	Latches []Edge      // back edges
	Inner   []*Loop     // block ID -> innermost loop, shared by all loops
}

// Has reports whether b is in l or a loop inside it.
func (l *Loop) Has(b *ir.Block) bool {
	if b.ID >= len(l.Inner) {
		return false // made after the analysis
	}
	for c := l.Inner[b.ID]; c != nil && c.Depth >= l.Depth; c = c.Parent {
		if c == l {
			return true
		}
	}
	return false
}

// Exits returns the blocks of l that end in a branch out of it.
func (l *Loop) Exits() (out []*ir.Block) {
	for _, b := range l.Blocks {
		if slices.ContainsFunc(b.Term.Succs, func(e ir.Edge) bool { return !l.Has(e.To) }) {
			out = append(out, b)
		}
	}
	return out
}

// Preheader returns the block that does nothing but enter l, nil if there is
// none.
func (l *Loop) Preheader() *ir.Block {
	if len(l.Entries) == 1 && l.Entries[0].From.Term.Kind == ir.TermJump {
		return l.Entries[0].From
	}
	return nil
}

// Loops returns the natural loops of f, outer before inner ones; in are the edges into its blocks.
func Loops(f *ir.Func, in [][]Edge) []*Loop {
	if !HasBackEdge(f) {
		return nil
	}
	return LoopsIn(f, in, ir.Dominators(f))
}

// HasBackEdge is a cheap test for kernels without loops.
func HasBackEdge(f *ir.Func) bool {
	num := make([]int32, f.NumBlocks())
	for i, b := range RPO(f) {
		num[b.ID] = int32(i) + 1
	}
	for _, b := range f.Blocks {
		for _, e := range b.Term.Succs {
			if num[e.To.ID] <= num[b.ID] {
				return true
			}
		}
	}
	return false
}

func LoopsIn(f *ir.Func, in [][]Edge, dom *ir.DomTree) []*Loop {
	var loops []*Loop
	inner := make([]*Loop, f.NumBlocks())
	for _, h := range dom.Order {
		if !slices.ContainsFunc(in[h.ID], func(e Edge) bool { return dom.Dominates(h, e.From) }) {
			continue
		}
		l := &Loop{Header: h, Inner: inner}
		for _, e := range in[h.ID] {
			if dom.Dominates(h, e.From) {
				l.Latches = append(l.Latches, e)
			} else {
				l.Entries = append(l.Entries, e)
			}
		}
		loops = append(loops, l)
	}
	// Inner headers come later in reverse postorder, so going backwards finds
	// the blocks of inner loops first.
	for i := len(loops) - 1; i >= 0; i-- {
		loops[i].claim(in, dom)
	}
	for _, l := range loops {
		l.Depth = 1
		if l.Parent != nil {
			l.Depth = l.Parent.Depth + 1
		}
	}
	for _, b := range dom.Order {
		for l := inner[b.ID]; l != nil; l = l.Parent {
			l.Blocks = append(l.Blocks, b)
		}
	}
	return loops
}

// claim walks backwards from the latches. A block that an inner loop has already
// claimed stands for its outermost loop so far, whose header the walk goes on
// from.
func (l *Loop) claim(in [][]Edge, dom *ir.DomTree) {
	var work []*ir.Block
	for _, e := range l.Latches {
		work = append(work, e.From)
	}
	l.Inner[l.Header.ID] = l
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		c := l.Inner[b.ID]
		if c == nil {
			l.Inner[b.ID] = l
		} else {
			for c.Parent != nil {
				c = c.Parent
			}
			if c == l {
				continue
			}
			c.Parent = l
			b = c.Header
		}
		for _, e := range in[b.ID] {
			if dom.Num[e.From.ID] >= 0 && !(c != nil && c.contains(e.From)) {
				work = append(work, e.From)
			}
		}
	}
}

// contains is has before depths are known.
func (l *Loop) contains(b *ir.Block) bool {
	for c := l.Inner[b.ID]; c != nil; c = c.Parent {
		if c == l {
			return true
		}
	}
	return false
}
