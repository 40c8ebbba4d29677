package amd64

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// block is a block of the kernel in the order of the code.
type block struct {
	b    *ir.Block
	at   int // position
	end  int // position behind the blocks that follow for being dominated by this one
	idom int // -1 for the entry
	loop int // innermost loop, -1 for none
	in   []inEdge

	class int   // blocks of one class run with the same lanes
	entry entry // how control comes here
}

// inEdge is an edge into a block.
type inEdge struct {
	from int // position
	succ int // which of its successors
}

// loop is a natural loop, at positions first to last.
type loop struct {
	first, last int
	parent      int // -1 for none
	back        int // number of edges back to the header
	enter       int // number of other edges to the header
	diverges    bool
}

func (l *loop) has(at int) bool { return l.first <= at && at <= l.last }

// graph is the control flow of a kernel. Its blocks are in an order in which the
// blocks that one dominates follow it directly, so do the blocks of a loop its
// header, and edges other than those back to a header go forward. Skipping a
// block whose lanes are all off therefore is one jump, behind what it dominates.
// (Moll and Hack, "Partial Control-Flow Linearization", 2018.)
type graph struct {
	f      *ir.Func
	blocks []block
	pos    []int // block ID -> position
	loops  []loop
	pdom   *ir.DomTree
	dom    *ir.DomTree
}

func newGraph(f *ir.Func) (*graph, error) {
	g := &graph{f: f, dom: ir.Dominators(f), pdom: ir.PostDominators(f)}
	rpo := ir.RPO(f)
	g.pos = make([]int, f.NumBlocks())
	for i := range g.pos {
		g.pos[i] = -1
	}
	g.place(rpo)
	for i := range g.blocks {
		for s, e := range g.blocks[i].b.Term.Succs {
			to := &g.blocks[g.pos[e.To.ID]]
			to.in = append(to.in, inEdge{i, s})
		}
	}
	return g, g.findLoops()
}

// place puts the blocks in order: each followed by the subtrees of its children in
// the dominator tree, those in its own loops first. Exits of loops count as children
// of the header.
func (g *graph) place(rpo []*ir.Block) {
	num := make([]int, g.f.NumBlocks())
	children := make([][]*ir.Block, g.f.NumBlocks())
	for i, b := range rpo {
		num[b.ID] = i
	}
	inner := map[*ir.Block]*ir.Loop{}
	for _, l := range ir.Loops(g.f) {
		for _, b := range l.Blocks {
			inner[b] = l
		}
	}
	for _, b := range rpo {
		if d := g.dom.Idom(b); d != nil {
			d = outermost(inner[d], b, d)
			children[d.ID] = append(children[d.ID], b)
		}
	}
	g.blocks = make([]block, 0, len(rpo))
	var visit func(b *ir.Block)
	visit = func(b *ir.Block) {
		at := len(g.blocks)
		g.pos[b.ID] = at
		idom := -1
		if d := g.dom.Idom(b); d != nil {
			idom = g.pos[d.ID]
		}
		g.blocks = append(g.blocks, block{b: b, at: at, idom: idom, loop: -1})
		kids := children[b.ID]
		slices.SortFunc(kids, func(x, y *ir.Block) int {
			return cmp.Or(left(inner[b], x)-left(inner[b], y), num[x.ID]-num[y.ID])
		})
		for _, k := range kids {
			visit(k)
		}
		g.blocks[at].end = len(g.blocks)
	}
	visit(rpo[0])
}

// outermost returns the header of the outermost of the loops around d, from l
// outwards, that do not contain b, else d: what a loop exits to comes behind the
// whole of it.
func outermost(l *ir.Loop, b, d *ir.Block) *ir.Block {
	for ; l != nil && !l.Has(b); l = l.Parent {
		d = l.Header
	}
	return d
}

// left returns how many of the loops around a block, from l outwards, do not
// contain b.
func left(l *ir.Loop, b *ir.Block) (n int) {
	for ; l != nil && !l.Has(b); l = l.Parent {
		n++
	}
	return n
}

func (g *graph) findLoops() error {
	index := map[*ir.Loop]int{}
	for _, l := range ir.Loops(g.f) {
		x := loop{first: g.pos[l.Header.ID], parent: -1}
		if l.Parent != nil {
			x.parent = index[l.Parent]
		}
		index[l] = len(g.loops)
		for _, b := range l.Blocks {
			x.last = max(x.last, g.pos[b.ID])
			g.blocks[g.pos[b.ID]].loop = len(g.loops) // inner loops come later
		}
		if x.last-x.first+1 != len(l.Blocks) {
			return fmt.Errorf("the blocks of the loop at b%d are not contiguous", l.Header.ID)
		}
		g.loops = append(g.loops, x)
	}
	for i := range g.blocks {
		for _, in := range g.blocks[i].in {
			l := g.headed(i)
			switch {
			case in.from < i:
				if l >= 0 {
					g.loops[l].enter++
				}
			case l < 0 || !g.loops[l].has(in.from):
				return fmt.Errorf("irreducible control flow: b%d enters a loop in its middle", g.blocks[in.from].b.ID)
			default:
				g.loops[l].back++
			}
		}
	}
	return nil
}

// headed returns the loop whose header is at position at, -1 for none.
func (g *graph) headed(at int) int {
	l := g.blocks[at].loop
	if l >= 0 && g.loops[l].first == at {
		return l
	}
	return -1
}

// leaves calls fn for each loop, inner ones first, that has from and not to.
func (g *graph) leaves(from, to int, fn func(l *loop)) {
	for l := g.blocks[from].loop; l >= 0 && !g.loops[l].has(to); l = g.loops[l].parent {
		fn(&g.loops[l])
	}
}

// edge returns the edge of the IR that in stands for.
func (g *graph) edge(in inEdge) *ir.Edge { return &g.blocks[in.from].b.Term.Succs[in.succ] }

// together reports whether the lanes that run block at are those that run block
// head before it, in the same iteration of the same loops.
func (g *graph) together(head, at int) bool {
	h, b := &g.blocks[head], &g.blocks[at]
	return h.loop == b.loop && g.dom.Dominates(h.b, b.b) && g.pdom.Reachable(h.b) && g.pdom.Dominates(b.b, h.b)
}
