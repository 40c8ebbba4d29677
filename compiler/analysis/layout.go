package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// Placed is a block of the kernel in the order of the code.
type Placed struct {
	Block *ir.Block
	At    int // position
	End   int // position behind the blocks that follow for being dominated by this one
	Idom  int // -1 for the entry
	Loop  int // innermost loop, -1 for none
	In    []InEdge

	Class int   // blocks of one class run with the same lanes
	Entry Entry // how control comes here
}

// InEdge is an edge into a block.
type InEdge struct {
	From int // position
	Succ int // which of its successors
}

// Span is a natural loop, at positions first to last.
type Span struct {
	First, Last int
	Parent      int // -1 for none
	Back        int // number of edges back to the header
	enter       int // number of other edges to the header
	Diverges    bool
}

// Has reports whether a position is in the loop.
func (l *Span) Has(at int) bool { return l.First <= at && at <= l.Last }

// Layout is the control flow of a kernel. Its blocks are in an order in which the
// blocks that one dominates follow it directly, so do the blocks of a loop its
// header, and edges other than those back to a header go forward. Skipping a
// block whose lanes are all off therefore is one jump, behind what it dominates.
// (Moll and Hack, "Partial Control-Flow Linearization", 2018.)
type Layout struct {
	Func   *ir.Func
	Blocks []Placed
	Pos    []int // block ID -> position
	Loops  []Span
	pdom   *ir.DomTree
	dom    *ir.DomTree
}

// NewLayout places the blocks of f. It fails for control flow that is not reducible.
func NewLayout(f *ir.Func) (*Layout, error) {
	g := &Layout{Func: f, dom: ir.Dominators(f), pdom: ir.PostDominators(f)}
	rpo := LoopOrder(f)
	g.Pos = make([]int, f.NumBlocks())
	for i := range g.Pos {
		g.Pos[i] = -1
	}
	g.place(rpo)
	for i := range g.Blocks {
		for s, e := range g.Blocks[i].Block.Term.Succs {
			to := &g.Blocks[g.Pos[e.To.ID]]
			to.In = append(to.In, InEdge{i, s})
		}
	}
	return g, g.findLoops()
}

// place puts the blocks in order: each followed by the subtrees of its children in
// the dominator tree, those in its own loops first. Exits of loops count as children
// of the header.
func (g *Layout) place(rpo []*ir.Block) {
	num := make([]int, g.Func.NumBlocks())
	children := make([][]*ir.Block, g.Func.NumBlocks())
	for i, b := range rpo {
		num[b.ID] = i
	}
	inner := map[*ir.Block]*Loop{}
	for _, l := range Loops(g.Func, InEdges(g.Func)) {
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
	g.Blocks = make([]Placed, 0, len(rpo))
	var visit func(b *ir.Block)
	visit = func(b *ir.Block) {
		at := len(g.Blocks)
		g.Pos[b.ID] = at
		idom := -1
		if d := g.dom.Idom(b); d != nil {
			idom = g.Pos[d.ID]
		}
		g.Blocks = append(g.Blocks, Placed{Block: b, At: at, Idom: idom, Loop: -1})
		kids := children[b.ID]
		slices.SortFunc(kids, func(x, y *ir.Block) int {
			return cmp.Or(left(inner[b], x)-left(inner[b], y), num[x.ID]-num[y.ID])
		})
		for _, k := range kids {
			visit(k)
		}
		g.Blocks[at].End = len(g.Blocks)
	}
	visit(rpo[0])
}

// outermost returns the header of the outermost of the loops around d, from l
// outwards, that do not contain b, else d: what a loop exits to comes behind the
// whole of it.
func outermost(l *Loop, b, d *ir.Block) *ir.Block {
	for ; l != nil && !l.Has(b); l = l.Parent {
		d = l.Header
	}
	return d
}

// left returns how many of the loops around a block, from l outwards, do not
// contain b.
func left(l *Loop, b *ir.Block) (n int) {
	for ; l != nil && !l.Has(b); l = l.Parent {
		n++
	}
	return n
}

func (g *Layout) findLoops() error {
	index := map[*Loop]int{}
	for _, l := range Loops(g.Func, InEdges(g.Func)) {
		x := Span{First: g.Pos[l.Header.ID], Parent: -1}
		if l.Parent != nil {
			x.Parent = index[l.Parent]
		}
		index[l] = len(g.Loops)
		for _, b := range l.Blocks {
			x.Last = max(x.Last, g.Pos[b.ID])
			g.Blocks[g.Pos[b.ID]].Loop = len(g.Loops) // inner loops come later
		}
		if x.Last-x.First+1 != len(l.Blocks) {
			return fmt.Errorf("the blocks of the loop at b%d are not contiguous", l.Header.ID)
		}
		g.Loops = append(g.Loops, x)
	}
	for i := range g.Blocks {
		for _, in := range g.Blocks[i].In {
			l := g.Heads(i)
			switch {
			case in.From < i:
				if l >= 0 {
					g.Loops[l].enter++
				}
			case l < 0 || !g.Loops[l].Has(in.From):
				return fmt.Errorf("irreducible control flow: b%d enters a loop in its middle", g.Blocks[in.From].Block.ID)
			default:
				g.Loops[l].Back++
			}
		}
	}
	return nil
}

// Heads returns the loop whose header is at position at, -1 for none.
func (g *Layout) Heads(at int) int {
	l := g.Blocks[at].Loop
	if l >= 0 && g.Loops[l].First == at {
		return l
	}
	return -1
}

// leaves calls fn for each loop, inner ones first, that has from and not to.
func (g *Layout) leaves(from, to int, fn func(l *Span)) {
	for l := g.Blocks[from].Loop; l >= 0 && !g.Loops[l].Has(to); l = g.Loops[l].Parent {
		fn(&g.Loops[l])
	}
}

// Edge returns the edge of the IR that in stands for.
func (g *Layout) Edge(in InEdge) *ir.Edge { return &g.Blocks[in.From].Block.Term.Succs[in.Succ] }

// together reports whether the lanes that run block at are those that run block
// head before it, in the same iteration of the same loops.
func (g *Layout) together(head, at int) bool {
	h, b := &g.Blocks[head], &g.Blocks[at]
	return h.Loop == b.Loop && g.dom.Dominates(h.Block, b.Block) && g.pdom.Reachable(h.Block) && g.pdom.Dominates(b.Block, h.Block)
}
