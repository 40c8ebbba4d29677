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

// domTree is a dominator tree with constant-time queries.
type domTree struct {
	order    []*ir.Block // reverse postorder
	num      []int32     // block ID -> position in order, -1 if unreachable
	idom     []int32     // position -> position of the immediate dominator
	pre, end []int32     // position -> interval of the subtree in a preorder
}

// dominators computes the dominator tree by the algorithm of Cooper, Harvey and
// Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
func dominators(f *ir.Func, in [][]edge) *domTree {
	t := &domTree{order: rpo(f), num: make([]int32, f.NumBlocks())}
	n := len(t.order)
	buf := make([]int32, 3*n)
	t.idom, t.pre, t.end = buf[:n], buf[n:2*n], buf[2*n:]
	for i := range t.num {
		t.num[i] = -1
	}
	for i, b := range t.order {
		t.num[b.ID] = int32(i)
		t.idom[i] = -1
	}
	t.idom[0] = 0
	for changed := true; changed; {
		changed = false
		for i := 1; i < n; i++ {
			d := int32(-1)
			for _, e := range in[t.order[i].ID] {
				p := t.num[e.from.ID]
				switch {
				case p < 0 || t.idom[p] < 0:
				case d < 0:
					d = p
				default:
					d = t.meet(p, d)
				}
			}
			if t.idom[i] != d {
				t.idom[i], changed = d, true
			}
		}
	}
	t.number()
	return t
}

func (t *domTree) meet(a, b int32) int32 {
	for a != b {
		for a > b {
			a = t.idom[a]
		}
		for b > a {
			b = t.idom[b]
		}
	}
	return a
}

// number gives every subtree an interval. Subtree sizes are summed upwards,
// then children take their places inside their parent's interval.
func (t *domTree) number() {
	n := len(t.order)
	for i := range n {
		t.end[i] = 1
	}
	for i := n - 1; i > 0; i-- {
		t.end[t.idom[i]] += t.end[i]
	}
	next := make([]int32, n)
	next[0] = 1
	for i := 1; i < n; i++ {
		d := t.idom[i]
		t.pre[i] = next[d]
		next[d] += t.end[i]
		next[i] = t.pre[i] + 1
	}
	for i := range n {
		t.end[i] += t.pre[i]
	}
}

// dominates reports whether a dominates b; every block dominates itself.
func (t *domTree) dominates(a, b *ir.Block) bool {
	i, j := t.num[a.ID], t.num[b.ID]
	return i >= 0 && j >= 0 && t.pre[i] <= t.pre[j] && t.pre[j] < t.end[i]
}

// parent returns the immediate dominator of b, nil for the entry.
func (t *domTree) parent(b *ir.Block) *ir.Block {
	i := t.num[b.ID]
	if i <= 0 {
		return nil
	}
	return t.order[t.idom[i]]
}

// children returns the dominator tree's children by position in t.order.
func (t *domTree) children() [][]int32 {
	n := make([]int32, len(t.order))
	for i := 1; i < len(t.order); i++ {
		n[t.idom[i]]++
	}
	kids := make([][]int32, len(t.order))
	all := make([]int32, len(t.order))
	for i, k := range n {
		kids[i], all = all[:0:k], all[k:]
	}
	for i := 1; i < len(t.order); i++ {
		d := t.idom[i]
		kids[d] = append(kids[d], int32(i))
	}
	return kids
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
