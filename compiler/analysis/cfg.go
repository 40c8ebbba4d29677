package analysis

import "github.com/gokiln/kiln/compiler/ir"

// RPO returns the reachable blocks in reverse postorder: definitions before
// uses, except for what travels along back edges.
func RPO(f *ir.Func) []*ir.Block {
	type frame struct {
		b    *ir.Block
		next int
	}
	seen := make([]bool, f.NumBlocks())
	out := make([]*ir.Block, len(f.Blocks))
	n := len(out)
	stack := make([]frame, 1, 32)
	stack[0] = frame{b: f.Blocks[0]}
	seen[f.Blocks[0].ID] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		// The last successor first puts the first successor right after b.
		if k := len(top.b.Term.Succs) - 1 - top.next; k >= 0 {
			top.next++
			if s := top.b.Term.Succs[k].To; !seen[s.ID] {
				seen[s.ID] = true
				stack = append(stack, frame{b: s})
			}
			continue
		}
		n--
		out[n] = top.b
		stack = stack[:len(stack)-1]
	}
	return out[n:]
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
