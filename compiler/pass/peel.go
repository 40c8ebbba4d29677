package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Most vectors are whole: every lane has a thread, and every thread is in range. So
// what is behind a test that indices are, `i < n` with i one more in each lane, is
// there twice: once for vectors of which all lanes pass, which two scalar
// instructions find out, and whose code has no masks; and as it was.
//
// Of a loop it is the loop: the copy goes round as long as whole vectors do, and
// then goes on in the original.

// peelLimit bounds how many operations are copied.
const peelLimit = 800

// peeler duplicates code of a kernel.
type peeler struct {
	*analysis.Lanes
	f      *ir.Func
	ranges func(*ir.Value, *ir.Block) (lo, hi int64)
	size   int
	done   []bool // by position: copied, or a part of what was
}

// peel duplicates what is worth it.
func peel(f *ir.Func, lanes int) error {
	p, err := newPeeler(f, lanes)
	if err != nil {
		return err
	}
	tests := make([]laneTest, len(p.Blocks))
	for i := range p.Blocks { // before anything changes
		if p.Parts[i] {
			p.findFar(p.Blocks[i].Block)
			tests[i] = p.find(i)
		}
	}
	for i, t := range tests {
		if p.done[i] || !t.OK {
			continue
		}
		if l := p.Heads(i); l >= 0 {
			p.loop(l, t)
		} else {
			p.branch(i, t)
		}
	}
	return nil
}

func newPeeler(f *ir.Func, lanes int) (*peeler, error) {
	a, err := lanesOf(f, lanes)
	if err != nil {
		return nil, err
	}
	return &peeler{Lanes: a, f: f, ranges: analysis.RangesOf(f), done: make([]bool, len(a.Blocks))}, nil
}

// laneTest is a test with what is known of its number.
type laneTest struct {
	analysis.LaneTest
	wraps bool // see [bound]
}

func (t laneTest) bound() bound { return bound{t.Op, t.X, t.N, t.wraps} }

// findFar notes which operands of the comparison at the end of a block are far from the ends of
// their range: in copies of it that does not follow from the tests in front of them.
func (p *peeler) findFar(b *ir.Block) {
	c := b.Term.Args[0]
	if !analysis.OrdersWide(c) {
		return
	}
	for k, far := range []uint64{ir.FarX, ir.FarY} {
		if !analysis.MayWrap(p.ranges, c.Args[k], b) {
			c.Imm |= far
		}
	}
}

// find returns the test at the branch of the block at i, if it is one of an index that is one
// more in each lane.
func (p *peeler) find(i int) laneTest {
	b := p.Blocks[i].Block
	t := laneTest{LaneTest: p.TestAt(b)}
	if t.OK = t.OK && p.Of(t.X).Step == 1; !t.OK {
		return t
	}
	c, far := b.Term.Args[0], uint64(ir.FarX)
	if c.Args[1] == t.X {
		far = ir.FarY
	}
	t.wraps = c.Imm&far == 0 && analysis.MayWrap(p.ranges, t.X, b)
	return t
}

// region returns the blocks at positions from up to end, unless they are too many.
func (p *peeler) region(from, end int) ([]*ir.Block, bool) {
	var list []*ir.Block
	n := 0
	for i := from; i < end; i++ {
		b := p.Blocks[i].Block
		list = append(list, b)
		n += vectorSize(b.Instrs)
		if p.done[i] {
			return nil, false
		}
		for _, v := range b.Instrs {
			if !mayBeCopied(v) {
				return nil, false
			}
		}
	}
	if p.size+n > peelLimit {
		return nil, false
	}
	p.size += n
	for i := from; i < end; i++ {
		p.done[i] = true
	}
	return list, true
}

// copies returns copies of blocks, which are for what is left from then on.
func (p *peeler) copies(list []*ir.Block) (value func(*ir.Value) *ir.Value, block func(*ir.Block) *ir.Block) {
	value, block = duplicate(p.f, list)
	for _, b := range list {
		b.Tail = true
	}
	return value, block
}

// branch copies what the block at i dominates behind the side of its branch that vectors take
// which pass test t, and reports whether it did.
func (p *peeler) branch(i int, t laneTest) bool {
	b := p.Blocks[i].Block
	if !p.OnlyFrom(i, t.Succ) {
		return false
	}
	to := &p.Blocks[p.Pos[b.Term.Succs[t.Succ].To.ID]]
	list, ok := p.region(to.At, to.End)
	if !ok {
		return false
	}
	_, block := p.copies(list)
	c := b.Term.Args[0]
	sinks := c.Block == b && !usedOften(p.f, c) // it is only wanted in the original now
	rest := p.f.NewBlock()
	rest.Term, rest.Tail = b.Term, true
	if sinks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return v == c })
		rest.Append(c)
	}
	edge := b.Term.Succs[t.Succ]
	edge.To, edge.Args = block(edge.To), slices.Clone(edge.Args)
	decide(p.f, b, []bound{t.bound()}, false, edge, ir.Edge{To: rest})
	return true
}

// usedOften reports whether v has more than one use.
func usedOften(f *ir.Func, v *ir.Value) bool {
	uses := 0
	f.EachUse(func(use **ir.Value) {
		if *use == v {
			uses++
		}
	})
	return uses > 1
}

// loop copies a loop in front of itself. Its header is left by one side, and goes on
// in the original by that.
func (p *peeler) loop(l int, t laneTest) {
	x := &p.Loops[l]
	h := p.Blocks[x.First].Block
	for _, in := range p.Blocks[x.First].In {
		if from := p.Blocks[in.From].Block; in.Succ >= len(from.Term.Succs) || p.Edge(in).To != h {
			return // its block ends otherwise by now
		}
	}
	if x.Has(p.Pos[h.Term.Succs[1-t.Succ].To.ID]) || !x.Has(p.Pos[h.Term.Succs[t.Succ].To.ID]) || len(h.Instrs) > 40 {
		return
	}
	// Who goes on in the original does what is in the header again.
	if slices.ContainsFunc(h.Instrs, func(v *ir.Value) bool { return v.Op.Has(ir.Writes) }) {
		return
	}
	list, ok := p.region(x.First, x.Last+1)
	if !ok {
		return
	}
	value, block := p.copies(list)
	fast := block(h)
	for _, in := range p.Blocks[x.First].In { // who comes from outside comes to the copy
		if !x.Has(in.From) {
			p.Edge(in).To = fast
		}
	}
	var args []*ir.Value
	for _, q := range h.Params {
		args = append(args, value(q))
	}
	within := bound{t.Op, value(t.X), value(t.N), t.wraps}
	out, rest := fast.Term.Succs[1-t.Succ], ir.Edge{To: h, Args: args}
	if p.Heads(p.Pos[out.To.ID]) < 0 && !usedOutside(p.f, list) {
		rest = p.left(within, out, rest)
	}
	decide(p.f, fast, []bound{within}, false, fast.Term.Succs[t.Succ], rest)
}

// left returns the edge by which the copy of a loop is left: if no lane goes round again,
// which is most often so, on behind the loop, and else to the original.
func (p *peeler) left(within bound, out, again ir.Edge) ir.Edge {
	b := p.f.NewBlock()
	b.Term.Pos = within.x.Pos
	within.op = analysis.Inverse[within.op]
	decide(p.f, b, []bound{within}, true, out, again)
	return ir.Edge{To: b}
}
