package analysis

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// RPO returns the reachable blocks in reverse postorder: definitions before
// uses, except for what travels along back edges.
func RPO(f *ir.Func) []*ir.Block {
	// The last successor first puts the first successor right after its block.
	out := ir.DepthFirst(f.Blocks[0], f.NumBlocks(), (*ir.Block).Backwards, nil)
	slices.Reverse(out)
	return out
}

// Edge names the edge from a block to its successor number succ.
type Edge struct {
	From *ir.Block
	Succ int
}

func (e Edge) Args() []*ir.Value { return e.From.Term.Succs[e.Succ].Args }

// InEdges returns the edges into each block, by block ID.
func InEdges(f *ir.Func) [][]Edge {
	n := make([]int32, f.NumBlocks())
	total := 0
	for _, b := range f.Blocks {
		for _, e := range b.Term.Succs {
			n[e.To.ID]++
			total++
		}
	}
	in := make([][]Edge, f.NumBlocks())
	all := make([]Edge, total)
	for id, k := range n {
		in[id], all = all[:0:k], all[k:]
	}
	for _, b := range f.Blocks {
		for i, e := range b.Term.Succs {
			in[e.To.ID] = append(in[e.To.ID], Edge{b, i})
		}
	}
	return in
}
