package analysis

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// LoopOrder returns the blocks reachable from the entry in reverse postorder, with
// the blocks of every natural loop next to each other: a loop's exits come
// after all of its blocks.
func LoopOrder(f *ir.Func) []*ir.Block {
	if len(f.Blocks) == 0 {
		return nil
	}
	loops := Loops(f, InEdges(f))
	if len(loops) == 0 {
		return RPO(f)
	}
	return postorderLoops(f, loops)
}

// postorderLoops visits a block's successors outside its loops first, which
// puts them last in reverse postorder.
func postorderLoops(f *ir.Func, loops []*Loop) []*ir.Block {
	inner := loops[0].Inner
	depth := func(from *ir.Block, to *ir.Block) int { // how many loops of from still hold to
		n := 0
		for l := inner[from.ID]; l != nil; l = l.Parent {
			if l.Has(to) {
				n++
			}
		}
		return n
	}
	order := ir.DepthFirst(f.Blocks[0], f.NumBlocks(), func(b *ir.Block) []*ir.Block {
		out := b.Backwards()
		if len(out) == 2 && depth(b, out[0]) > depth(b, out[1]) {
			out[0], out[1] = out[1], out[0]
		}
		return out
	}, nil)
	slices.Reverse(order)
	return gatherLoops(order, inner)
}

// gatherLoops makes the blocks of each loop contiguous. Visiting exits first
// already does so for loops with one exit; a loop left from several places, at
// different depths, may still hold a foreign block in between.
func gatherLoops(order []*ir.Block, inner []*Loop) []*ir.Block {
	out := make([]*ir.Block, 0, len(order))
	done := make(map[*ir.Block]bool, len(order))
	var place func(b *ir.Block, within *Loop)
	place = func(b *ir.Block, within *Loop) {
		if done[b] {
			return
		}
		// The outermost loop of b inside within is placed as a whole.
		var l *Loop
		for c := inner[b.ID]; c != nil && c != within; c = c.Parent {
			l = c
		}
		if l == nil {
			done[b] = true
			out = append(out, b)
			return
		}
		for _, c := range order {
			if l.Has(c) {
				place(c, l)
			}
		}
	}
	for _, b := range order {
		place(b, nil)
	}
	return out
}
