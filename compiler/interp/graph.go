package interp

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// graph is the control flow of a kernel with its blocks in the order in which
// waiting lanes are resumed: reverse postorder, the blocks of a loop together.
// Edges go forward, except those back to the header of a loop around them.
type graph struct {
	f      *ir.Func
	blocks []*ir.Block
	at     []int   // block ID -> position, -1 if unreachable
	preds  [][]int // position -> positions of predecessors, once for each edge
	loops  []loop  // outer loops first
	inner  []int   // position -> innermost loop, -1 for none
	polls  bool    // lanes wait for each other in loops
	pdom   *ir.DomTree
}

// loop is a natural loop: positions first to last, the header first.
type loop struct {
	first, last int
	parent      int // -1 for none

	// latched says that lanes which take a back edge have to wait for those that are
	// elsewhere in the loop: there are several such edges, or the only one is not from the
	// last block, as where an inner loop ends with the iteration of the outer one.
	latched   bool
	backEdges int
}

func (l *loop) has(at int) bool { return l.first <= at && at <= l.last }

func newGraph(f *ir.Func) (*graph, error) {
	g := &graph{f: f, polls: polls(f), blocks: analysis.LoopOrder(f), pdom: ir.PostDominators(f)}
	g.at = make([]int, f.NumBlocks())
	for i := range g.at {
		g.at[i] = -1
	}
	for i, b := range g.blocks {
		g.at[b.ID] = i
	}
	g.preds = make([][]int, len(g.blocks))
	g.inner = make([]int, len(g.blocks))
	for i, b := range g.blocks {
		g.inner[i] = -1
		for _, e := range b.Term.Succs {
			to := g.at[e.To.ID]
			g.preds[to] = append(g.preds[to], i)
		}
	}
	return g, g.findLoops()
}

func (g *graph) findLoops() error {
	index := map[*analysis.Loop]int{}
	for _, l := range analysis.Loops(g.f, analysis.InEdges(g.f)) {
		x := loop{first: g.at[l.Header.ID], parent: -1}
		if l.Parent != nil {
			x.parent = index[l.Parent]
		}
		index[l] = len(g.loops)
		x.last = x.first
		for _, b := range l.Blocks {
			x.last = max(x.last, g.at[b.ID])
			g.inner[g.at[b.ID]] = len(g.loops) // inner loops come later
		}
		if x.last-x.first+1 != len(l.Blocks) {
			return fmt.Errorf("the blocks of the loop at b%d are not contiguous", l.Header.ID)
		}
		g.loops = append(g.loops, x)
	}
	for i, b := range g.blocks {
		for _, e := range b.Term.Succs {
			to := g.at[e.To.ID]
			if to > i {
				continue
			}
			l := g.headed(to)
			if l < 0 || !g.loops[l].has(i) {
				return fmt.Errorf("irreducible control flow: b%d enters a loop in its middle", b.ID)
			}
			g.loops[l].backEdges++
			g.loops[l].latched = g.loops[l].backEdges > 1 || i != g.loops[l].last
		}
	}
	return nil
}

// headed returns the loop whose header is at position at, -1 if there is none.
func (g *graph) headed(at int) int {
	l := g.inner[at]
	if l >= 0 && g.loops[l].first == at {
		return l
	}
	return -1
}

// leaves calls fn for each loop that has from and not to.
func (g *graph) leaves(from, to int, fn func(l int)) {
	for l := g.inner[from]; l >= 0 && !g.loops[l].has(to); l = g.loops[l].parent {
		fn(l)
	}
}

// defAt returns the position of the block that defines v, -1 for a parameter of
// the kernel.
func (g *graph) defAt(v *ir.Value) int {
	if v.Block == nil {
		return -1
	}
	return g.at[v.Block.ID]
}
