package amd64

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/pass"
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

// wholeTest is the test that all lanes are there, and that integers which go up from
// lane to lane are within bounds in all of them. Of the value that stands for it
// operand 2k is such an integer and operand 2k+1, the same in all lanes, its bound.
// A test may have no bounds.
type wholeTest []bound

// none reports whether it is the test that no lane is left instead.
func (t wholeTest) none() bool { return len(t) > 0 && t[0].none }

// partial reports whether lanes may be off.
func (t wholeTest) partial() bool { return len(t) > 0 && t[0].some }

// bound is one of the bounds of a test.
type bound struct {
	rel relation
	// wraps says that the integer of the last lane may be beyond the largest one.
	wraps bool
	// none has the test be that no lane is within the bound, however many lanes there are.
	none bool
	// some has the test be about the numbers alone, of all lanes whether they are there or not.
	some bool
}

// relation says where an integer has to be.
type relation uint8

const (
	below   relation = iota // its bound
	upTo                    // its bound, which it may be
	atLeast                 // its bound
	above                   // its bound
)

// peeler duplicates code of a kernel.
type peeler struct {
	*analysis.Lanes
	f      *ir.Func
	tests  map[*ir.Value]wholeTest // by the value that stands for the test
	slow   map[*ir.Block]bool      // blocks of which there is a copy without masks
	found  []found                 // by position
	ranges func(*ir.Value, *ir.Block) (lo, hi int64)
	// wraps has of comparisons, and of their copies, which operands may wrap: the ranges of
	// copies do not follow from the tests in front of them.
	wraps map[*ir.Value][2]bool
	size  int
	done  []bool // by position: copied, or a part of what was
}

// found is a test that whole vectors pass at a branch, and by which successor they go
// on.
type found struct {
	bound
	i, n *ir.Value
	succ int
	ok   bool
}

// peel duplicates what is worth it and returns the tests.
func peel(f *ir.Func, width int) (map[*ir.Value]wholeTest, error) {
	g, err := analysis.NewLayout(f)
	if err != nil {
		return nil, err
	}
	p := newPeeler(g, f, width)
	for i := range p.Blocks { // before anything changes
		if p.Parts[i] {
			p.findWraps(p.Blocks[i].Block)
			p.found[i] = p.find(i)
		}
	}
	for i := range p.Blocks {
		if p.done[i] || !p.found[i].ok {
			continue
		}
		if l := p.Heads(i); l >= 0 {
			p.loop(l)
		} else {
			p.branch(i)
		}
	}
	if err := splitRows(f, width, p.tests, p.slow); err != nil {
		return nil, err
	}
	if err := p.inner(width); err != nil {
		return nil, err
	}
	return p.tests, unclip(f, width, p.tests, p.slow)
}

func newPeeler(g *analysis.Layout, f *ir.Func, width int) *peeler {
	p := &peeler{f: f, tests: map[*ir.Value]wholeTest{}, slow: map[*ir.Block]bool{}, wraps: map[*ir.Value][2]bool{}}
	p.look(g, width)
	return p
}

// look analyses the kernel as it is now.
func (p *peeler) look(g *analysis.Layout, width int) {
	p.Lanes, p.ranges = analysis.LanesOf(g, false, width), analysis.RangesOf(p.f)
	p.done, p.found = make([]bool, len(g.Blocks)), make([]found, len(g.Blocks))
}

// peelRounds bounds how deep branches are within each other of which there are copies.
const peelRounds = 4

// inner copies what is behind branches in the copies, which a vector takes as a whole
// most often, too.
func (p *peeler) inner(width int) error {
	for range peelRounds {
		if !slices.ContainsFunc(p.f.Blocks, func(b *ir.Block) bool { return !p.slow[b] && p.mayPart(b) }) {
			return nil
		}
		g, err := analysis.NewLayout(p.f)
		if err != nil {
			return err
		}
		p.look(g, width)
		for i := range p.Blocks {
			if p.Parts[i] && !p.slow[p.Blocks[i].Block] && p.inStep(i) {
				p.found[i] = p.findInner(i)
			}
		}
		again := false
		for i := range p.Blocks {
			if !p.done[i] && p.found[i].ok {
				again = p.branch(i) || again
			}
		}
		if !again {
			return nil
		}
	}
	return nil
}

// mayPart reports whether a block might end in a branch that [peeler.findInner] finds.
func (p *peeler) mayPart(b *ir.Block) bool {
	if b.Term.Kind != ir.TermBranch {
		return false
	}
	_, is := p.tests[b.Term.Args[0]]
	return !is && ordersWide(b.Term.Args[0])
}

// ordersWide reports whether c compares signed numbers of 64 bits by size.
func ordersWide(c *ir.Value) bool {
	return c.Op >= ir.OpLt && c.Op <= ir.OpGe && analysis.Wide(c.Args[0].Type) && c.Args[0].Type.IsSigned()
}

// findInner is find for either side of the branch: for that of which there can be a copy.
func (p *peeler) findInner(i int) found {
	t := p.find(i)
	if !t.ok || copyable(p.Lanes, i, t.succ) {
		return t
	}
	t = t.turned()
	t.ok = copyable(p.Lanes, i, t.succ)
	return t
}

// inStep reports whether lanes stay together around block i: it heads no loop, there is
// none behind it, whose masks there would be in the copy, too, and none that they leave one by one
// is around it.
func (p *peeler) inStep(i int) bool {
	for l := p.Blocks[i].Loop; l >= 0; l = p.Loops[l].Parent {
		if p.Loops[l].Diverges {
			return false
		}
	}
	for at := i; at < p.Blocks[i].End; at++ {
		if p.Heads(at) >= 0 {
			return false
		}
	}
	return true
}

// copyable reports whether control comes to a successor of block i from there alone.
func copyable(a *analysis.Lanes, i, succ int) bool {
	to := &a.Blocks[a.Pos[a.Blocks[i].Block.Term.Succs[succ].To.ID]]
	return len(to.In) == 1 && a.Heads(to.At) < 0
}

// find returns the test at the branch of the block at i.
func (p *peeler) find(i int) found {
	b := p.Blocks[i].Block
	t := testAt(p.Lanes, b)
	if !t.ok || p.Of(t.i).Step != 1 {
		return found{}
	}
	if w, is := p.wraps[b.Term.Args[0]]; is {
		t.wraps = w[slices.Index(b.Term.Args[0].Args, t.i)]
	} else {
		t.wraps = mayWrap(p.ranges, t.i, b)
	}
	return t
}

// testAt returns the test that whole vectors pass at the branch of a block on whether numbers
// that go up from lane to lane are below a bound.
func testAt(a *analysis.Lanes, b *ir.Block) (t found) {
	c := b.Term.Args[0]
	if !ordersWide(c) {
		return t
	}
	x, y, op := c.Args[0], c.Args[1], c.Op
	if a.Of(x).Kind == analysis.UniformLanes { // n > i is i < n
		x, y = y, x
		op = exchanged[op]
	}
	if a.Of(x).Kind != analysis.AffineLanes || a.Of(y).Kind != analysis.UniformLanes {
		return t
	}
	t.i, t.n, t.ok = x, y, true
	switch op {
	case ir.OpLe:
		t.rel = upTo
	case ir.OpGe:
		t.succ = 1
	case ir.OpGt:
		t.succ, t.rel = 1, upTo
	}
	return t
}

// turned returns the test that whole vectors pass that take the other side.
func (t found) turned() found {
	t.succ = 1 - t.succ
	if t.rel == below {
		t.rel = atLeast
	} else {
		t.rel = above
	}
	return t
}

// findWraps notes which operands of the comparison at the end of a block may wrap.
func (p *peeler) findWraps(b *ir.Block) {
	if c := b.Term.Args[0]; ordersWide(c) {
		p.wraps[c] = [2]bool{mayWrap(p.ranges, c.Args[0], b), mayWrap(p.ranges, c.Args[1], b)}
	}
}

// mayWrap reports whether an integer that is x in lane 0 may pass the largest one on
// its way to the last lane, which then does not tell of all.
func mayWrap(ranges func(*ir.Value, *ir.Block) (lo, hi int64), x *ir.Value, b *ir.Block) bool {
	lo, hi := ranges(x, b)
	return lo < -1<<60 || hi > 1<<60
}

// region returns the blocks at positions from up to end, unless they are too many.
func (p *peeler) region(from, end int) ([]*ir.Block, bool) {
	var list []*ir.Block
	n := 0
	for i := from; i < end; i++ {
		b := p.Blocks[i].Block
		list = append(list, b)
		n += len(b.Instrs) + 1
		if p.done[i] {
			return nil, false
		}
		for _, v := range b.Instrs {
			if v.Op == ir.OpLocal || v.Op == ir.OpBarrier {
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

// copies returns copies of blocks, which are the slow ones from then on. Tests in them are
// tests in the copies, too, and what was slow already is there as well.
func (p *peeler) copies(list []*ir.Block) (value func(*ir.Value) *ir.Value, block func(*ir.Block) *ir.Block) {
	value, block = pass.Copies(p.f, list)
	for _, b := range list {
		p.slow[block(b)] = p.slow[b]
		p.slow[b] = true
		for _, v := range b.Instrs {
			if t, is := p.tests[v]; is {
				p.tests[value(v)] = t
			}
			if w, is := p.wraps[v]; is {
				p.wraps[value(v)] = w
			}
		}
	}
	return value, block
}

// decide ends a block with a branch on a test of the operands.
func decide(f *ir.Func, b *ir.Block, operands []*ir.Value, yes, no ir.Edge) *ir.Value {
	v := f.NewValue(ir.OpAll, ir.Bool, operands...)
	v.Pos = b.Term.Pos
	b.Append(v)
	b.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{v}, Succs: []ir.Edge{yes, no}, Pos: b.Term.Pos}
	return v
}

// branch copies what the block at i dominates behind one side of its branch, and reports
// whether it did.
func (p *peeler) branch(i int) bool {
	t := &p.found[i]
	b := p.Blocks[i].Block
	if !copyable(p.Lanes, i, t.succ) {
		return false
	}
	to := &p.Blocks[p.Pos[b.Term.Succs[t.succ].To.ID]]
	list, ok := p.region(to.At, to.End)
	if !ok {
		return false
	}
	_, block := p.copies(list)
	c := b.Term.Args[0]
	sinks := c.Block == b && !usedOften(p.f, c) // it is only wanted in the original now
	rest := p.f.NewBlock()
	rest.Term, p.slow[rest] = b.Term, true
	if sinks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return v == c })
		rest.Append(c)
	}
	edge := b.Term.Succs[t.succ]
	edge.To, edge.Args = block(edge.To), slices.Clone(edge.Args)
	p.tests[decide(p.f, b, []*ir.Value{t.i, t.n}, edge, ir.Edge{To: rest})] = wholeTest{t.bound}
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
func (p *peeler) loop(l int) {
	x := &p.Loops[l]
	t := &p.found[x.First]
	succ := t.succ
	h := p.Blocks[x.First].Block
	for _, in := range p.Blocks[x.First].In {
		if from := p.Blocks[in.From].Block; in.Succ >= len(from.Term.Succs) || p.Edge(in).To != h {
			return // its block ends otherwise by now
		}
	}
	if x.Has(p.Pos[h.Term.Succs[1-succ].To.ID]) || !x.Has(p.Pos[h.Term.Succs[succ].To.ID]) || len(h.Instrs) > 40 {
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
	out, rest := fast.Term.Succs[1-succ], ir.Edge{To: h, Args: args}
	if p.Heads(p.Pos[out.To.ID]) < 0 && !usedOutside(p.f, list) {
		rest = p.left(t, value, out, rest)
	}
	test := decide(p.f, fast, []*ir.Value{value(t.i), value(t.n)}, fast.Term.Succs[succ], rest)
	p.tests[test] = wholeTest{t.bound}
}

// usedOutside reports whether other blocks use what is made in these, other than by
// parameters.
func usedOutside(f *ir.Func, list []*ir.Block) bool {
	made := func(v *ir.Value) bool { return v.Op != ir.OpConst && slices.Contains(list, v.Block) }
	for _, b := range f.Blocks {
		if slices.Contains(list, b) {
			continue
		}
		if slices.ContainsFunc(b.Term.Args, made) ||
			slices.ContainsFunc(b.Term.Succs, func(e ir.Edge) bool { return slices.ContainsFunc(e.Args, made) }) ||
			slices.ContainsFunc(b.Instrs, func(v *ir.Value) bool { return slices.ContainsFunc(v.Args, made) }) {
			return true
		}
	}
	return false
}

// left returns the edge by which the copy of a loop is left: if no lane goes round again,
// which is most often so, on behind the loop, and else to the original.
func (p *peeler) left(t *found, value func(*ir.Value) *ir.Value, out, again ir.Edge) ir.Edge {
	b := p.f.NewBlock()
	b.Term.Pos = t.i.Pos
	none := t.bound
	none.none = true
	p.tests[decide(p.f, b, []*ir.Value{value(t.i), value(t.n)}, out, again)] = wholeTest{none}
	return ir.Edge{To: b}
}
