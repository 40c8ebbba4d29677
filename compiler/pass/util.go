package pass

import "github.com/gokiln/kiln/compiler/ir"

// replacer maps values to the values that replace them, by ID.
type replacer struct {
	f   *ir.Func
	to  []*ir.Value
	any bool
}

// newReplacer returns one without replacements; its table is made with the first.
func newReplacer(f *ir.Func) *replacer { return &replacer{f: f} }

func (r *replacer) set(old, by *ir.Value) {
	if old.ID >= len(r.to) {
		r.to = append(r.to, make([]*ir.Value, r.f.NumValues()-len(r.to))...)
	}
	r.to[old.ID] = by
	r.any = true
}

// get follows replacements to their end and shortens the path on the way.
func (r *replacer) get(v *ir.Value) *ir.Value {
	if v.ID >= len(r.to) || r.to[v.ID] == nil {
		return v
	}
	end := r.to[v.ID]
	for end.ID < len(r.to) && r.to[end.ID] != nil {
		end = r.to[end.ID]
	}
	for v.ID < len(r.to) && r.to[v.ID] != nil {
		v, r.to[v.ID] = r.to[v.ID], end
	}
	return end
}

func (r *replacer) list(vs []*ir.Value) {
	if !r.any {
		return
	}
	for i, v := range vs {
		vs[i] = r.get(v)
	}
}

func (r *replacer) term(t *ir.Term) {
	r.list(t.Args)
	for _, e := range t.Succs {
		r.list(e.Args)
	}
}

// apply rewrites every operand of f.
func (r *replacer) apply(f *ir.Func) {
	if !r.any {
		return
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			r.list(v.Args)
		}
		r.term(&b.Term)
	}
}

// useCounts returns the number of operands that name each value, by ID.
func useCounts(f *ir.Func) []int32 {
	n := make([]int32, f.NumValues())
	count := func(vs []*ir.Value) {
		for _, v := range vs {
			n[v.ID]++
		}
	}
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			count(v.Args)
		}
		count(b.Term.Args)
		for _, e := range b.Term.Succs {
			count(e.Args)
		}
	}
	return n
}

// rpo returns the reachable blocks in reverse postorder: definitions before
// uses, except for what travels along back edges.
func rpo(f *ir.Func) []*ir.Block {
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

// edge names the edge from a block to its successor number succ.
type edge struct {
	from *ir.Block
	succ int
}

func (e edge) args() []*ir.Value { return e.from.Term.Succs[e.succ].Args }

// inEdges returns the edges into each block, by block ID.
func inEdges(f *ir.Func) [][]edge {
	n := make([]int32, f.NumBlocks())
	total := 0
	for _, b := range f.Blocks {
		for _, e := range b.Term.Succs {
			n[e.To.ID]++
			total++
		}
	}
	in := make([][]edge, f.NumBlocks())
	all := make([]edge, total)
	for id, k := range n {
		in[id], all = all[:0:k], all[k:]
	}
	for _, b := range f.Blocks {
		for i, e := range b.Term.Succs {
			in[e.To.ID] = append(in[e.To.ID], edge{b, i})
		}
	}
	return in
}

// sameValue reports whether a and b are one value or equal constants.
func sameValue(a, b *ir.Value) bool {
	return a == b || a.Op == ir.OpConst && b.Op == ir.OpConst && a.Type == b.Type && a.Imm == b.Imm
}

// baseOf follows address arithmetic to where a pointer comes from.
func baseOf(v *ir.Value) *ir.Value {
	for v.Op == ir.OpIndex || v.Op == ir.OpOffset || v.Op == ir.OpField {
		v = v.Args[0]
	}
	return v
}
