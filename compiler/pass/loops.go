package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// loop is a natural loop.
type loop struct {
	header  *ir.Block
	blocks  []*ir.Block // in reverse postorder, header first
	parent  *loop       // innermost loop around this one
	depth   int         // 1 for outermost loops
	entries []edge      // into header from outside
	latches []edge      // back edges
	inner   []*loop     // block ID -> innermost loop, shared by all loops
}

// has reports whether b is in l or a loop inside it.
func (l *loop) has(b *ir.Block) bool {
	if b.ID >= len(l.inner) {
		return false // made after the analysis
	}
	for c := l.inner[b.ID]; c != nil && c.depth >= l.depth; c = c.parent {
		if c == l {
			return true
		}
	}
	return false
}

// findLoops returns the natural loops of f, outer before inner ones.
func findLoops(f *ir.Func, in [][]edge) []*loop {
	if !hasBackEdge(f) {
		return nil
	}
	return loopsIn(f, in, ir.Dominators(f))
}

// hasBackEdge is a cheap test for kernels without loops.
func hasBackEdge(f *ir.Func) bool {
	num := make([]int32, f.NumBlocks())
	for i, b := range rpo(f) {
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

func loopsIn(f *ir.Func, in [][]edge, dom *ir.DomTree) []*loop {
	var loops []*loop
	inner := make([]*loop, f.NumBlocks())
	for _, h := range dom.Order {
		if !slices.ContainsFunc(in[h.ID], func(e edge) bool { return dom.Dominates(h, e.from) }) {
			continue
		}
		l := &loop{header: h, inner: inner}
		for _, e := range in[h.ID] {
			if dom.Dominates(h, e.from) {
				l.latches = append(l.latches, e)
			} else {
				l.entries = append(l.entries, e)
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
		l.depth = 1
		if l.parent != nil {
			l.depth = l.parent.depth + 1
		}
	}
	for _, b := range dom.Order {
		for l := inner[b.ID]; l != nil; l = l.parent {
			l.blocks = append(l.blocks, b)
		}
	}
	return loops
}

// claim walks backwards from the latches. A block that an inner loop has already
// claimed stands for its outermost loop so far, whose header the walk goes on
// from.
func (l *loop) claim(in [][]edge, dom *ir.DomTree) {
	var work []*ir.Block
	for _, e := range l.latches {
		work = append(work, e.from)
	}
	l.inner[l.header.ID] = l
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		c := l.inner[b.ID]
		if c == nil {
			l.inner[b.ID] = l
		} else {
			for c.parent != nil {
				c = c.parent
			}
			if c == l {
				continue
			}
			c.parent = l
			b = c.header
		}
		for _, e := range in[b.ID] {
			if dom.Num[e.from.ID] >= 0 && !(c != nil && c.contains(e.from)) {
				work = append(work, e.from)
			}
		}
	}
}

// contains is has before depths are known.
func (l *loop) contains(b *ir.Block) bool {
	for c := l.inner[b.ID]; c != nil; c = c.parent {
		if c == l {
			return true
		}
	}
	return false
}
