package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// The budgets of unrolling, in copies and in instructions made.
const (
	maxTrips       = 32   // copies of an ordinary loop
	maxSize        = 1536 // instructions that an ordinary loop may become
	maxTripsLocal  = 256  // for a loop that indexes a local array with its counter:
	maxSizeLocal   = 8192 // only constant indices let the array live in registers
	maxFuncSize    = 32768
	maxUnrollLevel = 8
)

// unroll replaces loops with a small constant trip count by copies of their
// bodies, innermost first. The trip count is found by running the loop's exit
// condition on constants, so any counter will do: up, down, or by doubling.
func unroll(f *ir.Func) {
	for range maxUnrollLevel {
		u := newUnroller(f)
		if !u.round() {
			return
		}
		fold(f)
	}
}

type unroller struct {
	f     *ir.Func
	dom   *ir.DomTree
	in    [][]analysis.Edge
	size  int // instructions of f
	spill []*ir.Value
}

func newUnroller(f *ir.Func) *unroller {
	ir.RemoveUnreachable(f)
	u := &unroller{f: f, in: analysis.InEdges(f)}
	for _, b := range f.Blocks {
		u.size += sizeOf(b)
	}
	return u
}

// sizeOf is the work in b. Checks do not count: most builds drop them,
// and a loop must not stay a loop for what is not there.
func sizeOf(b *ir.Block) int {
	n := 1
	for _, v := range b.Instrs {
		if !isCheck(v.Op) {
			n++
		}
	}
	return n
}

// round unrolls loops none of which contains another, and reports whether there
// were any.
func (u *unroller) round() bool {
	if !analysis.HasBackEdge(u.f) {
		return false
	}
	u.dom = ir.Dominators(u.f)
	loops := analysis.LoopsIn(u.f, u.in, u.dom)
	touched := map[*analysis.Loop]bool{} // around an unrolled loop
	any := false
	for _, l := range slices.Backward(loops) { // inner loops first
		if touched[l] {
			continue
		}
		if p := u.plan(l); p != nil {
			u.expand(p)
			any = true
			for o := l.Parent; o != nil; o = o.Parent {
				touched[o] = true
			}
		}
	}
	ir.RemoveUnreachable(u.f)
	if len(u.spill) > 0 {
		promote(u.f, newSplitter(u.f).only(u.spill))
	}
	return any
}

// only restricts s to objects known to be scalars.
func (s *splitter) only(objs []*ir.Value) *splitter {
	s.scalars = objs
	return s
}

// plan is a loop and how to unroll it.
type plan struct {
	*analysis.Loop
	trips int
	exit  *ir.Block // ends in the branch that counts
	out   int       // its successor that leaves
}

// plan returns how to unroll l, nil if it must stay a loop.
func (u *unroller) plan(l *analysis.Loop) *plan {
	size := 0
	for _, b := range l.Blocks {
		size += sizeOf(b)
	}
	trips, budget := maxTrips, maxSize
	if indexesLocal(l) {
		trips, budget = maxTripsLocal, maxSizeLocal
	}
	switch factor := l.Header.Unroll.Times; {
	case factor == 1:
		return nil
	case factor == ir.UnrollFully:
		trips, budget = maxFuncSize, maxFuncSize
	case factor > 1:
		trips, budget = factor, maxFuncSize
	}
	if size > budget {
		return nil
	}
	trips = min(trips, max(budget/size, 1))
	for _, b := range l.Blocks {
		n, ok := u.trips(l, b, trips)
		if ok && u.size+n*size <= maxFuncSize {
			u.size += n * size
			return &plan{l, n, b, outOf(l, b)}
		}
	}
	return nil
}

// trips returns how often l goes on at the end of b, if that is a constant of at most limit.
func (u *unroller) trips(l *analysis.Loop, b *ir.Block, limit int) (int, bool) {
	t := &b.Term
	if t.Kind != ir.TermBranch || l.Has(t.Succs[0].To) == l.Has(t.Succs[1].To) || !u.everyTrip(l, b) {
		return 0, false
	}
	return u.count(l, b, outOf(l, b), limit)
}

// outOf returns which successor of b leaves l.
func outOf(l *analysis.Loop, b *ir.Block) int {
	if l.Has(b.Term.Succs[0].To) {
		return 1
	}
	return 0
}

// everyTrip reports whether b runs in every iteration that goes on. It may run
// more than once, in a loop inside l: its condition, computed from l's counters
// alone, is the same each time.
func (u *unroller) everyTrip(l *analysis.Loop, b *ir.Block) bool {
	for _, e := range l.Latches {
		if !u.dom.Dominates(b, e.From) {
			return false
		}
	}
	return true
}

// indexesLocal reports whether l addresses an array in local memory.
func indexesLocal(l *analysis.Loop) bool {
	for _, b := range l.Blocks {
		for _, v := range b.Instrs {
			if (v.Op == ir.OpIndex || v.Op == ir.OpOffset) && v.Type.Space == ir.Local && !v.Args[1].IsConst() {
				return true
			}
		}
	}
	return false
}

// count returns how often the loop goes on at the branch that ends b, whose
// successor out leaves. It fails unless that is a constant of at most limit.
func (u *unroller) count(l *analysis.Loop, b *ir.Block, out, limit int) (int, bool) {
	c := &counter{Loop: l, now: map[*ir.Value]uint64{}}
	for i, p := range l.Header.Params {
		if v := c.entryArg(i); v != nil && v.IsConst() {
			c.now[p] = v.Imm
		}
	}
	if len(c.now) == 0 && !b.Term.Args[0].IsConst() {
		return 0, false
	}
	for n := 0; n <= limit; n++ {
		c.memo = map[*ir.Value]uint64{}
		c.fuel = 256
		cond, ok := c.eval(b.Term.Args[0])
		if !ok {
			return 0, false
		}
		if (cond == 0) == (out == 1) {
			return n, true
		}
		c.step()
	}
	return 0, false
}

// counter runs the part of a loop that depends on constants alone.
type counter struct {
	*analysis.Loop
	now  map[*ir.Value]uint64 // header parameters in this iteration
	memo map[*ir.Value]uint64 // other values in this iteration
	fuel int
}

// entryArg returns what header parameter i gets from outside, nil if that
// differs between edges.
func (c *counter) entryArg(i int) *ir.Value { return oneArg(c.Entries, i) }

func oneArg(edges []analysis.Edge, i int) *ir.Value {
	var one *ir.Value
	for _, e := range edges {
		a := e.Args()[i]
		if one != nil && !analysis.SameValue(one, a) {
			return nil
		}
		one = a
	}
	return one
}

func (c *counter) step() {
	next := make(map[*ir.Value]uint64, len(c.now))
	for i, p := range c.Header.Params {
		if _, ok := c.now[p]; !ok {
			continue
		}
		if v := oneArg(c.Latches, i); v != nil {
			if x, ok := c.eval(v); ok {
				next[p] = x
			}
		}
	}
	c.now = next
}

func (c *counter) eval(v *ir.Value) (uint64, bool) {
	if v.IsConst() {
		return v.Imm, true
	}
	if x, ok := c.now[v]; ok {
		return x, true
	}
	if x, ok := c.memo[v]; ok {
		return x, true
	}
	if c.fuel--; c.fuel < 0 || !v.Op.Pure() || len(v.Args) == 0 || len(v.Args) > 3 {
		return 0, false
	}
	var args [3]uint64
	var types [3]*ir.Type
	for i, a := range v.Args {
		x, ok := c.eval(a)
		if !ok {
			return 0, false
		}
		args[i], types[i] = x, a.Type
	}
	n := len(v.Args)
	x, ok := ir.Eval(v.Op, v.Type, v.Imm, args[:n], types[:n])
	if ok {
		c.memo[v] = x
	}
	return x, ok
}

// expand replaces the loop by trips whole copies and one that leaves at the
// counting branch. The loop itself becomes the first copy.
func (u *unroller) expand(p *plan) {
	p.Header.Unroll = ir.Unroll{}
	u.isolate(p)
	copies := make([]*cloner, p.trips+1)
	for i := 1; i <= p.trips; i++ {
		copies[i] = u.copyLoop(p)
	}
	for i := p.trips; i >= 0; i-- {
		var next *ir.Block
		if i < p.trips {
			next = copies[i+1].blocks[p.Header.ID]
		}
		u.link(p, copies[i], next)
	}
}

// copyLoop makes a copy of the loop whose back edges still go to the copy's own
// header.
func (u *unroller) copyLoop(p *plan) *cloner {
	c := newCloner(u.f, u.f)
	for _, b := range p.Blocks {
		c.newBlock(b)
	}
	for _, b := range p.Blocks {
		c.instrs(b, c.blocks[b.ID])
	}
	for _, b := range p.Blocks {
		c.term(b, c.blocks[b.ID])
	}
	return c
}

// link decides the counting branch of a copy, nil for the loop itself, and sends
// its back edges to the next copy's header. The last copy has none left.
func (u *unroller) link(p *plan, c *cloner, next *ir.Block) {
	at := func(b *ir.Block) *ir.Block {
		if c == nil {
			return b
		}
		return c.blocks[b.ID]
	}
	t := &at(p.exit).Term
	take := p.out
	if next != nil {
		take = 1 - p.out
	}
	*t = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{t.Succs[take]}, Pos: t.Pos}
	if next == nil {
		return // what follows the branch is unreachable now
	}
	header := at(p.Header)
	for _, b := range p.Blocks {
		s := at(b).Term.Succs
		for k := range s {
			if s[k].To == header {
				s[k].To = next
			}
		}
	}
}

// isolate rewrites uses of the loop's values behind it. The copies define such a
// value several times, so it travels through a local object that is promoted
// again when all loops of the round are done.
func (u *unroller) isolate(p *plan) {
	slots := map[*ir.Value]*ir.Value{}
	for _, b := range u.f.Blocks {
		if !p.Has(b) { // values on the edges that leave are still inside
			u.isolateBlock(p, b, slots)
		}
	}
	if len(slots) == 0 {
		return
	}
	for _, b := range p.Blocks {
		b.Instrs = storeDefs(u.f, b, slots)
	}
}

// isolateBlock replaces the operands in b that l defines by loads.
func (u *unroller) isolateBlock(p *plan, b *ir.Block, slots map[*ir.Value]*ir.Value) {
	loads := map[*ir.Value]*ir.Value{}
	fix := func(vs []*ir.Value) {
		for i, v := range vs {
			if v.Block == nil || !p.Has(v.Block) {
				continue
			}
			if loads[v] == nil {
				loads[v] = u.f.NewValue(ir.OpLoad, v.Type, u.slot(v, slots))
				loads[v].Pos, loads[v].Block = v.Pos, b
			}
			vs[i] = loads[v]
		}
	}
	for _, v := range b.Instrs {
		fix(v.Args)
	}
	fix(b.Term.Args)
	for _, e := range b.Term.Succs {
		fix(e.Args)
	}
	if len(loads) == 0 {
		return
	}
	list := make([]*ir.Value, 0, len(loads))
	for _, l := range loads {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b *ir.Value) int { return a.ID - b.ID })
	b.Instrs = slices.Insert(b.Instrs, 0, list...)
}

func (u *unroller) slot(v *ir.Value, slots map[*ir.Value]*ir.Value) *ir.Value {
	if s := slots[v]; s != nil {
		return s
	}
	s := u.f.NewValue(ir.OpLocal, ir.PtrTo(ir.Local, v.Type))
	entry := u.f.Blocks[0]
	s.Block = entry
	entry.Instrs = slices.Insert(entry.Instrs, 0, s)
	slots[v] = s
	u.spill = append(u.spill, s)
	return s
}

// storeDefs returns b's instructions with a store behind each value that has a
// slot.
func storeDefs(f *ir.Func, b *ir.Block, slots map[*ir.Value]*ir.Value) []*ir.Value {
	out := make([]*ir.Value, 0, len(b.Instrs)+len(slots))
	store := func(v *ir.Value) {
		if s := slots[v]; s != nil {
			w := f.NewValue(ir.OpStore, ir.Void, s, v)
			w.Pos, w.Block = v.Pos, b
			out = append(out, w)
		}
	}
	for _, v := range b.Params {
		store(v)
	}
	for _, v := range b.Instrs {
		out = append(out, v)
		store(v)
	}
	return out
}
