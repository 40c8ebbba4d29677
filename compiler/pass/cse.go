package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// cse gives equal pure expressions one value where one dominates the other,
// moves operations without operands to the entry block, forwards stores and
// loads to later loads of the same address, and decides branches whose condition
// a dominating branch has decided.
func cse(f *ir.Func) {
	ir.RemoveUnreachable(f)
	c := &numbering{f: f, in: analysis.InEdges(f), repl: newReplacer(f)}
	c.dom = ir.Dominators(f)
	size := 16
	for size < 2*f.NumValues() {
		size *= 2
	}
	c.heads = make([]int32, size)
	c.next = make([]int32, f.NumValues())
	c.vals = make([]*ir.Value, f.NumValues())
	c.memory = make([][]access, len(c.dom.Order))
	c.gatherLeaves()
	for i, b := range c.dom.Order {
		c.block(i, b)
	}
	c.repl.apply(f)
	if c.decided {
		ir.RemoveUnreachable(f)
		forwardParams(f)
		straighten(f)
	}
}

// numbering is a hash table of expressions, chained by value ID.
type numbering struct {
	f       *ir.Func
	in      [][]analysis.Edge
	dom     *ir.DomTree
	repl    *replacer
	heads   []int32 // hash -> value ID + 1
	next    []int32 // value ID -> value ID + 1
	vals    []*ir.Value
	memory  [][]access // what is known of memory at the end of a block, by position
	decided bool
}

func (c *numbering) hash(v *ir.Value) uint32 {
	h := uint64(v.Op)<<8 | uint64(v.Type.Kind)
	h = h*0x9e3779b97f4a7c15 + v.Imm
	for _, a := range v.Args {
		h = (h ^ h>>29) * 0xbf58476d1ce4e5b9
		h += uint64(a.ID) + 1
	}
	h = (h ^ h>>32) * 0x94d049bb133111eb
	return uint32(h>>33) & uint32(len(c.heads)-1)
}

// find returns an equal expression that is available in block b, or enters v.
func (c *numbering) find(v *ir.Value, b *ir.Block) *ir.Value {
	h := c.hash(v)
	for id := c.heads[h]; id != 0; id = c.next[id-1] {
		w := c.vals[id-1]
		if w.Op == v.Op && w.Type == v.Type && w.Imm == v.Imm && slices.Equal(w.Args, v.Args) && c.dom.Dominates(w.Block, b) {
			return w
		}
	}
	c.vals[v.ID] = v
	c.next[v.ID], c.heads[h] = c.heads[h], int32(v.ID)+1
	return v
}

// isLeaf reports whether v is the same wherever it stands.
func isLeaf(v *ir.Value) bool {
	return len(v.Args) == 0 && v.Op.Pure() && v.Op != ir.OpLocal
}

// gatherLeaves moves constants and other operations without operands to the
// start of the entry block, each once.
func (c *numbering) gatherLeaves() {
	entry := c.f.Blocks[0]
	var leaves []*ir.Value
	for _, b := range c.dom.Order {
		kept := b.Instrs[:0]
		for _, v := range b.Instrs {
			if !isLeaf(v) {
				kept = append(kept, v)
				continue
			}
			v.Block = entry
			if w := c.find(v, entry); w != v {
				c.repl.set(v, w)
			} else {
				leaves = append(leaves, v)
			}
		}
		b.Instrs = kept
	}
	entry.Instrs = slices.Insert(entry.Instrs, 0, leaves...)
}

func (c *numbering) block(i int, b *ir.Block) {
	var known []access
	if in := c.in[b.ID]; len(in) == 1 {
		known = slices.Clone(c.memory[c.dom.Num[in[0].From.ID]])
	}
	kept := b.Instrs[:0]
	for _, v := range b.Instrs {
		c.repl.list(v.Args)
		if isLeaf(v) {
			kept = append(kept, v)
			continue
		}
		w := v
		switch {
		case v.Op == ir.OpLoad:
			w, known = load(known, v)
		case v.Op.Pure() && v.Op != ir.OpLocal:
			if v.Op.Info().Commute && v.Args[0].ID > v.Args[1].ID && !v.Args[1].IsConst() {
				v.Args[0], v.Args[1] = v.Args[1], v.Args[0]
			}
			w = c.find(v, b)
		default:
			known = clobber(known, v)
		}
		if w != v {
			c.repl.set(v, w)
		} else {
			kept = append(kept, v)
		}
	}
	clear(b.Instrs[len(kept):])
	b.Instrs = kept
	c.memory[i] = known
	c.repl.term(&b.Term)
	c.decide(b)
}

// decide turns b's branch into a jump if b is dominated by one side of another
// branch on the same condition.
func (c *numbering) decide(b *ir.Block) {
	if b.Term.Kind != ir.TermBranch {
		return
	}
	const levels = 32 // deep nests gain little from looking further
	d := b
	for range levels {
		in := c.in[d.ID]
		if len(in) == 1 {
			t := &in[0].From.Term
			if t.Kind == ir.TermBranch && t.Args[0] == b.Term.Args[0] && t.Succs[0].To != t.Succs[1].To {
				e := b.Term.Succs[in[0].Succ]
				b.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{e}, Pos: b.Term.Pos}
				c.decided = true
				return
			}
		}
		if d = c.dom.Idom(d); d == nil {
			return
		}
	}
}

// access says that the object at ptr holds val.
type access struct {
	ptr, val *ir.Value
}

const maxAccesses = 64

// load returns what v is known to load, or records it.
func load(known []access, v *ir.Value) (*ir.Value, []access) {
	for i := len(known) - 1; i >= 0; i-- {
		if known[i].ptr == v.Args[0] {
			return known[i].val, known
		}
	}
	return v, remember(known, access{v.Args[0], v})
}

func remember(known []access, a access) []access {
	if len(known) >= maxAccesses {
		known = known[:copy(known, known[1:])]
	}
	return append(known, a)
}

// clobber forgets what the operation v may change.
func clobber(known []access, v *ir.Value) []access {
	switch v.Op {
	case ir.OpMMA, ir.OpLoadMatrix, ir.OpWarpgroupMMA, ir.OpPackedMMA: // several elements, from the one at the address on
		known = slices.DeleteFunc(known, func(a access) bool { return analysis.BaseOf(a.ptr) == analysis.BaseOf(v.Args[0]) })
	case ir.OpStore, ir.OpZero, ir.OpCopyAsync:
		known = slices.DeleteFunc(known, func(a access) bool { return mayAlias(a.ptr, v.Args[0]) })
		if v.Op == ir.OpStore {
			known = remember(known, access{v.Args[0], v.Args[1]})
		}
	case ir.OpCall, ir.OpWarpgroupWait:
		known = slices.DeleteFunc(known, func(a access) bool { return a.ptr.Type.Space != ir.Constant })
	default:
		// Barriers and atomics order memory that other threads can write.
		if v.Op.Has(ir.Writes) {
			known = slices.DeleteFunc(known, func(a access) bool { return a.ptr.Type.Space != ir.Local && a.ptr.Type.Space != ir.Constant })
		}
	}
	return known
}

// mayAlias reports whether p and q may address the same memory. Different
// objects do not overlap; two kernel arguments may.
func mayAlias(p, q *ir.Value) bool {
	if p.Type.Space != q.Type.Space {
		return false
	}
	a, b := analysis.BaseOf(p), analysis.BaseOf(q)
	if a != b && isObject(a) && isObject(b) {
		return false
	}
	return p == q || !distinctParts(p, q)
}

func isObject(v *ir.Value) bool {
	return v.Op == ir.OpLocal || v.Op == ir.OpShared || v.Op == ir.OpTable
}

// distinctParts reports whether p and q are different constant elements or
// fields of one object.
func distinctParts(p, q *ir.Value) bool {
	if p.Op != q.Op || len(p.Args) == 0 || p.Args[0] != q.Args[0] {
		return false
	}
	switch p.Op {
	case ir.OpField:
		return p.Imm != q.Imm
	case ir.OpIndex, ir.OpOffset:
		return p.Args[1].IsConst() && q.Args[1].IsConst() && p.Args[1].Imm != q.Args[1].Imm
	}
	return false
}
