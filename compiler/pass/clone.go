package pass

import (
	"cmp"

	"github.com/gokiln/kiln/compiler/ir"
)

// cloner copies blocks into f. Values and blocks that it has no copy of stand
// for themselves.
type cloner struct {
	f      *ir.Func
	vals   []*ir.Value // source value ID -> copy
	blocks []*ir.Block // source block ID -> copy
	pos    int         // position of what has none
}

// newCloner prepares to copy from one function into f, which may be the same.
func newCloner(f, from *ir.Func) *cloner {
	return &cloner{f: f, vals: make([]*ir.Value, from.NumValues()), blocks: make([]*ir.Block, from.NumBlocks())}
}

func (c *cloner) value(v *ir.Value) *ir.Value {
	if v.ID < len(c.vals) && c.vals[v.ID] != nil {
		return c.vals[v.ID]
	}
	return v
}

func (c *cloner) list(vs []*ir.Value) []*ir.Value {
	if len(vs) == 0 {
		return nil
	}
	out := make([]*ir.Value, len(vs))
	for i, v := range vs {
		out[i] = c.value(v)
	}
	return out
}

// newBlock makes the copy of b with its parameters, still empty.
func (c *cloner) newBlock(b *ir.Block) *ir.Block {
	to := c.f.NewBlock()
	c.blocks[b.ID] = to
	to.Unroll, to.Tail = b.Unroll, b.Tail
	for _, p := range b.Params {
		q := to.NewParam(c.f, p.Type)
		q.Pos = cmp.Or(p.Pos, c.pos)
		c.vals[p.ID] = q
	}
	return to
}

// instrs appends copies of b's instructions to to.
func (c *cloner) instrs(b, to *ir.Block) {
	for _, v := range b.Instrs {
		w := c.f.NewValue(v.Op, v.Type, c.list(v.Args)...)
		w.Imm, w.Callee, w.Pos, w.Contract = v.Imm, v.Callee, cmp.Or(v.Pos, c.pos), v.Contract
		c.vals[v.ID] = w
		to.Append(w)
	}
}

// term gives to a copy of b's end.
func (c *cloner) term(b, to *ir.Block) {
	t := b.Term
	t.Pos = cmp.Or(t.Pos, c.pos)
	t.Args = c.list(t.Args)
	t.Succs = make([]ir.Edge, len(b.Term.Succs))
	for i, e := range b.Term.Succs {
		t.Succs[i] = ir.Edge{To: c.block(e.To), Args: c.list(e.Args)}
	}
	to.Term = t
}

func (c *cloner) block(b *ir.Block) *ir.Block {
	if b.ID < len(c.blocks) && c.blocks[b.ID] != nil {
		return c.blocks[b.ID]
	}
	return b
}

// duplicate adds copies of some blocks of f to it and returns what stands for their
// values and blocks in the copies. Edges between the blocks become edges between the
// copies; others lead where they led.
func duplicate(f *ir.Func, blocks []*ir.Block) (value func(*ir.Value) *ir.Value, block func(*ir.Block) *ir.Block) {
	c := newCloner(f, f)
	for _, b := range blocks {
		c.newBlock(b)
	}
	for _, b := range blocks { // in an order in which definitions come before uses
		c.instrs(b, c.blocks[b.ID])
	}
	for _, b := range blocks {
		c.term(b, c.blocks[b.ID])
	}
	return c.value, c.block
}
