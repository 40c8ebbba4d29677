package interp

import "github.com/gokiln/kiln/compiler/ir"

// class says how a value is kept. Each is a special case of the next.
type class uint8

const (
	uniform class = iota // one scalar: every active lane has this value
	affine               // two scalars: lane l has base + l*step, modulo 2^64
	varying              // an array
)

// classes is the result of the uniformity analysis of one kernel.
//
// It relies on the order of execution: all lanes of a loop are in the same
// iteration, and a block is executed once an iteration with all lanes that come
// to it. A scalar is therefore valid from its definition to its last use, unless
// lanes that took different paths meet (join), or lanes that left a loop earlier
// look at it (outlives).
type classes struct {
	g    *graph
	rows bool // lanes are consecutive threads along x; thread y and z are uniform

	of       []class // by value ID
	outlives []bool  // by value ID: used after lanes left its loop in different iterations
	join     []bool  // by position: lanes that parted may meet here
	parted   []bool  // by position: ends in a varying branch
	diverges []bool  // by loop: lanes may leave in different iterations
	label    []int   // for markJoins: all noLabel between calls
	changed  bool
}

func classify(g *graph, rows bool) *classes {
	c := &classes{
		g: g, rows: rows,
		of:       make([]class, g.f.NumValues()),
		outlives: make([]bool, g.f.NumValues()),
		join:     make([]bool, len(g.blocks)),
		parted:   make([]bool, len(g.blocks)),
		diverges: make([]bool, len(g.loops)),
		label:    make([]int, len(g.blocks)),
	}
	for c.changed = true; c.changed; {
		c.changed = false
		for at, b := range g.blocks {
			c.block(at, b)
		}
	}
	return c
}

// raise makes v at least of class k.
func (c *classes) raise(v *ir.Value, k class) {
	if c.g.polls && !invariant(v) {
		k = varying
	}
	if k > c.of[v.ID] {
		c.of[v.ID] = k
		c.changed = true
	}
}

func (c *classes) block(at int, b *ir.Block) {
	if at > 0 {
		c.params(at, b)
	}
	for _, v := range b.Instrs {
		if v.Type != ir.Void {
			c.raise(v, c.result(v))
		}
		c.uses(v.Args, at)
	}
	c.uses(b.Term.Args, at)
	for _, e := range b.Term.Succs {
		c.uses(e.Args, at)
	}
	if b.Term.Kind == ir.TermBranch && c.of[b.Term.Args[0].ID] == varying && !c.parted[at] {
		c.parted[at], c.changed = true, true
		c.markJoins(at)
		c.markLoops(at)
	}
}

// params raises the parameters of the block at position at to what its edges pass.
func (c *classes) params(at int, b *ir.Block) {
	for _, p := range c.g.preds[at] {
		for _, e := range c.g.blocks[p].Term.Succs {
			if e.To != b {
				continue
			}
			for i, v := range e.Args {
				c.raise(b.Params[i], c.passed(v, p, at))
			}
		}
	}
	if !c.join[at] {
		return
	}
	for i, v := range b.Params {
		if c.g.headed(at) >= 0 || !c.samePassed(at, i) {
			c.raise(v, varying)
		}
	}
}

// passed returns the class of v as an argument of the edge from one position to
// another.
func (c *classes) passed(v *ir.Value, from, to int) class {
	k := c.of[v.ID]
	if invariant(v) {
		return k
	}
	c.g.leaves(from, to, func(l int) {
		if c.diverges[l] && c.g.loops[l].has(c.g.defAt(v)) {
			k = varying
		}
	})
	return k
}

func (c *classes) samePassed(at, i int) bool {
	b := c.g.blocks[at]
	var first *ir.Value
	for _, p := range c.g.preds[at] {
		for _, e := range c.g.blocks[p].Term.Succs {
			if e.To != b {
				continue
			}
			if first == nil {
				first = e.Args[i]
			}
			if e.Args[i] != first {
				return false
			}
		}
	}
	return true
}

// uses notes which values are looked at after a divergent loop.
func (c *classes) uses(args []*ir.Value, at int) {
	for _, v := range args {
		def := c.g.defAt(v)
		if def < 0 || c.g.inner[def] < 0 || invariant(v) || c.outlives[v.ID] {
			continue
		}
		c.g.leaves(def, at, func(l int) {
			if c.diverges[l] {
				c.outlives[v.ID], c.changed = true, true
				c.raise(v, varying)
			}
		})
	}
}

// invariant reports whether v is the same however often it is computed.
func invariant(v *ir.Value) bool {
	switch v.Op {
	case ir.OpConst, ir.OpParam, ir.OpThread, ir.OpBlock, ir.OpBlockDim, ir.OpGridDim,
		ir.OpLane, ir.OpWarp, ir.OpWarpSize, ir.OpLocal, ir.OpShared, ir.OpTable:
		return true
	}
	return false
}

// result returns the class of v given its operands.
func (c *classes) result(v *ir.Value) class {
	k := uniform
	for _, a := range v.Args {
		k = max(k, c.of[a.ID])
	}
	arg := func(i int) class { return c.of[v.Args[i].ID] }
	switch v.Op {
	case ir.OpThread:
		switch {
		case !c.rows:
			return varying
		case v.Imm == 0:
			return affine
		}
		return uniform
	case ir.OpLocal:
		return affine
	case ir.OpIndex, ir.OpOffset, ir.OpField:
		return k
	case ir.OpAdd, ir.OpSub, ir.OpNeg:
		return onlyWide(v.Type, k)
	case ir.OpMul:
		if arg(0) == affine && arg(1) == affine {
			return varying
		}
		return onlyWide(v.Type, k)
	case ir.OpShl:
		if arg(1) == uniform {
			return onlyWide(v.Type, k)
		}
	case ir.OpConvert, ir.OpBitcast:
		if isWide(v.Args[0].Type) {
			return onlyWide(v.Type, k)
		}
	case ir.OpLoad:
		if k == uniform {
			return uniform
		}
		return varying
	}
	if k == affine || v.Op.Info().Uniform > ir.UniformBlock || v.Op.Has(ir.Convergent) {
		return varying
	}
	return k
}

func isWide(t *ir.Type) bool { return t.Kind == ir.KI64 || t.Kind == ir.KU64 || t.Kind == ir.KPtr }

// onlyWide returns k, but varying in place of affine for types of less than 64
// bits, whose wrap-around base + l*step does not follow.
func onlyWide(t *ir.Type, k class) class {
	if k == affine && !isWide(t) {
		return varying
	}
	return k
}

// markJoins finds the blocks where lanes that part at the branch at position at
// may meet: those that two paths from its successors reach separately, up to the
// block where all of them meet again. Each block gets the label of the path by
// which it is reached, or its own if there are several.
func (c *classes) markJoins(at int) {
	w := ways{g: c.g, branch: at, meet: -1, label: c.label}
	if m := c.g.pdom.Idom(c.g.blocks[at]); m != nil {
		w.meet = c.g.at[m.ID]
	}
	first, last := w.region()
	defer clear(c.label[first : last+1])
	for again := true; again; {
		again = false
		for x := first; x <= last; x++ {
			got := w.incoming(x)
			if got == noLabel || got == w.label[x] {
				continue
			}
			if got == ownLabel(x) {
				c.join[x] = true
			}
			w.label[x] = got
			again = again || c.g.inner[x] >= 0 // a back edge may carry it round
		}
	}
}

// region returns bounds of the positions that lanes may pass between the branch and
// the block where they meet.
func (w *ways) region() (first, last int) {
	first, last = len(w.label), w.meet
	for _, e := range w.g.blocks[w.branch].Term.Succs {
		first = min(first, w.g.at[e.To.ID])
	}
	switch {
	case w.meet < 0:
		last = len(w.label) - 1
	case w.meet <= w.branch: // at the header of a loop around the branch, by its back edges
		first, last = w.meet, w.g.loops[w.g.inner[w.meet]].last
	}
	w.g.leaves(w.branch, w.meet, func(l int) { first = min(first, w.g.loops[l].first) })
	return first, last
}

// ways labels blocks with the path by which lanes come to them from a branch.
type ways struct {
	g            *graph
	branch, meet int
	label        []int
}

const noLabel = 0 // 1 and 2 are the two edges of the branch

func ownLabel(x int) int { return x + 3 }

// incoming returns the label that the edges into x agree on, or the label of x
// itself if they do not agree.
func (w *ways) incoming(x int) int {
	if w.label[x] == ownLabel(x) {
		return ownLabel(x)
	}
	got := noLabel
	for _, p := range w.g.preds[x] {
		for i, e := range w.g.blocks[p].Term.Succs {
			if w.g.at[e.To.ID] != x {
				continue
			}
			l := w.label[p]
			switch p {
			case w.branch:
				l = i + 1
			case w.meet:
				l = noLabel
			}
			switch {
			case l == noLabel || l == got:
			case got == noLabel:
				got = l
			default:
				return ownLabel(x)
			}
		}
	}
	return got
}

// markLoops marks the loops that lanes may leave in different iterations because
// of the branch at position at: those that end before the lanes meet again.
func (c *classes) markLoops(at int) {
	meet := c.g.pdom.Idom(c.g.blocks[at])
	for l := c.g.inner[at]; l >= 0; l = c.g.loops[l].parent {
		if meet == nil || !c.g.loops[l].has(c.g.at[meet.ID]) {
			c.diverges[l] = true
		}
	}
}
