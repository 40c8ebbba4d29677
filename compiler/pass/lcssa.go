package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// closeLoops gives every value that is defined in a loop and used behind it a
// parameter of the blocks to which the loop exits, so that lanes which leave in
// different iterations each keep the value of their last one.
func closeLoops(f *ir.Func) {
	loops := analysis.Loops(f, analysis.InEdges(f))
	dom := ir.Dominators(f)
	for i := len(loops) - 1; i >= 0; i-- { // inner loops first
		c := &closer{f: f, loop: loops[i], dom: dom, preds: f.Preds()}
		c.close()
	}
}

// closer works on one loop.
type closer struct {
	f     *ir.Func
	loop  *analysis.Loop
	dom   *ir.DomTree
	preds [][]*ir.Block

	v    *ir.Value               // the value that is being closed
	at   map[*ir.Block]*ir.Value // what stands for it at the start of a block outside
	made []*ir.Value             // parameters that were added for it
	in   []*ir.Block             // blocks that may use one of these
}

// use is an operand outside the loop of a value defined inside.
type use struct {
	at   *ir.Block // where the value must be there: of an edge, where it comes from
	list func() []*ir.Value
	arg  int // in the list, which moves when edges get more arguments
}

func (c *closer) close() {
	uses := map[*ir.Value][]use{}
	var order []*ir.Value
	note := func(at *ir.Block, list func() []*ir.Value) {
		for i, v := range list() {
			if v.Block == nil || v.Op == ir.OpConst || !c.loop.Has(v.Block) {
				continue
			}
			if uses[v] == nil {
				order = append(order, v)
			}
			uses[v] = append(uses[v], use{at, list, i})
		}
	}
	for _, b := range c.f.Blocks {
		if c.loop.Has(b) {
			continue
		}
		for _, v := range b.Instrs {
			note(b, func() []*ir.Value { return v.Args })
		}
		note(b, func() []*ir.Value { return b.Term.Args })
		for s := range b.Term.Succs {
			note(b, func() []*ir.Value { return b.Term.Succs[s].Args })
		}
	}
	for _, v := range order {
		c.v, c.at, c.made, c.in = v, map[*ir.Block]*ir.Value{}, nil, nil
		for _, u := range uses[v] {
			c.in = append(c.in, u.at)
			to := c.start(u.at) // may give the list more arguments
			u.list()[u.arg] = to
		}
		c.simplify()
	}
}

// start returns what stands for the value at the start of a block outside of the
// loop.
func (c *closer) start(b *ir.Block) *ir.Value {
	if got := c.at[b]; got != nil {
		return got
	}
	preds := c.preds[b.ID]
	if len(preds) == 1 && !c.loop.Has(preds[0]) {
		got := c.start(preds[0])
		c.at[b] = got
		return got
	}
	p := b.NewParam(c.f, c.v.Type)
	p.Pos = c.v.Pos
	c.at[b] = p
	c.made = append(c.made, p)
	c.in = append(c.in, preds...)
	for i, from := range preds {
		if i > 0 && slices.Contains(preds[:i], from) {
			continue // its edges are done together
		}
		arg := c.v
		if !c.loop.Has(from) {
			arg = c.start(from)
		}
		for s := range from.Term.Succs {
			if e := &from.Term.Succs[s]; e.To == b {
				e.Args = append(e.Args[:len(e.Args):len(e.Args)], arg)
			}
		}
	}
	return p
}

// simplify removes the parameters that were added at joins outside of the loop
// which all edges give the same value.
func (c *closer) simplify() {
	if len(c.made) == 0 {
		return
	}
	slices.SortFunc(c.in, func(a, b *ir.Block) int { return a.ID - b.ID })
	c.in = slices.Compact(c.in)
	for again := true; again; {
		again = false
		for i, p := range c.made {
			if p == nil || c.isExit(p.Block) {
				continue
			}
			if v := c.only(p); v != nil {
				c.drop(p)
				c.replace(p, v)
				c.made[i], again = nil, true
			}
		}
	}
}

// replace uses v wherever parameter p is used, which is nowhere but in blocks that used the value
// that is being closed, or lead to one with a parameter for it.
func (c *closer) replace(p, v *ir.Value) {
	for _, b := range c.in {
		b.EachUse(func(use **ir.Value) {
			if *use == p {
				*use = v
			}
		})
	}
}

// isExit reports whether the loop exits to b.
func (c *closer) isExit(b *ir.Block) bool {
	for _, from := range c.preds[b.ID] {
		if c.loop.Has(from) {
			return true
		}
	}
	return false
}

// only returns the one value other than p itself that all edges give p, nil if
// there are several.
func (c *closer) only(p *ir.Value) *ir.Value {
	var one *ir.Value
	i := analysis.ParamIndex(p)
	for _, from := range c.preds[p.Block.ID] {
		for _, e := range from.Term.Succs {
			if e.To != p.Block || e.Args[i] == p {
				continue
			}
			if one != nil && one != e.Args[i] {
				return nil
			}
			one = e.Args[i]
		}
	}
	return one
}

// drop removes parameter p and its arguments.
func (c *closer) drop(p *ir.Value) {
	b, i := p.Block, analysis.ParamIndex(p)
	b.Params = append(b.Params[:i:i], b.Params[i+1:]...)
	done := map[*ir.Block]bool{}
	for _, from := range c.preds[b.ID] {
		if done[from] {
			continue
		}
		done[from] = true
		for s := range from.Term.Succs {
			if e := &from.Term.Succs[s]; e.To == b {
				e.Args = append(e.Args[:i:i], e.Args[i+1:]...)
			}
		}
	}
}
