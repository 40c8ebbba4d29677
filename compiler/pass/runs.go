package pass

import (
	"math"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Kernels that search text, or compress it, count how many bytes at two addresses are equal:
//
//	for n < limit && a[i+n] == b[j+n] {
//		n++
//	}
//
// All lanes of a vector go round for as long as the longest of these runs, with two gathers
// for each byte. In front of such a loop goes one that compares four bytes an iteration. A lane
// whose bytes differ counts the equal ones and is done; where one of the next four bytes may
// not be looked at, the lane goes on in the loop as it was.

const (
	runBytes = 4
	// maxRun is what the counter stays below, so that it fits in 32 bits.
	maxRun = math.MaxInt32 - 2*runBytes
)

// byteRun is a loop that counts equal bytes.
type byteRun struct {
	loop  *analysis.Loop
	n     *ir.Value // the counter, the parameter of the header
	tests []runTest
	bytes [2]*ir.Value // the loads
	out   ir.Edge      // taken at bytes that differ
}

// runTest wants n+add, or n if add is nil, below bound, and not below zero if index is set.
type runTest struct {
	add, bound *ir.Value
	index      bool
}

// runWidener puts loops in front of those that count equal bytes.
type runWidener struct {
	*analysis.Lanes
	f      *ir.Func
	ranges func(*ir.Value, *ir.Block) (lo, hi int64)
	at     *ir.Block // what is made goes here
	pos    int
}

// widenRuns does so for all such loops of a kernel whose loops are closed. Its code is for
// vectors of neighbouring threads.
func widenRuns(f *ir.Func, lanes int) error {
	var runs []*byteRun
	for _, l := range analysis.Loops(f, analysis.InEdges(f)) {
		if r := findRun(f, l); r != nil {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return nil
	}
	a, err := lanesOf(f, lanes)
	if err != nil {
		return err
	}
	w := &runWidener{Lanes: a, f: f, ranges: analysis.RangesOf(f)}
	for _, r := range runs {
		if w.worth(r) {
			w.widen(r)
		}
	}
	return nil
}

// findRun returns what loop l counts, nil if it is none of these loops.
func findRun(f *ir.Func, l *analysis.Loop) *byteRun {
	h := l.Header
	if len(h.Params) != 1 || h.Params[0].Type != ir.I64 || usedOutside(f, l.Blocks) {
		return nil
	}
	r := &byteRun{loop: l, n: h.Params[0]}
	for b, seen := h, 0; ; seen++ {
		if seen > len(l.Blocks) || !r.instructions(b) {
			return nil
		}
		next := r.follow(b)
		if next == nil {
			return nil
		}
		if next.To == h {
			if seen+1 != len(l.Blocks) || r.out.To == nil || !r.stepsBy(next.Args[0], 1) {
				return nil
			}
			return r
		}
		b = next.To
	}
}

// follow returns the edge by which the loop goes on behind b, if what decides is a test.
func (r *byteRun) follow(b *ir.Block) *ir.Edge {
	t := &b.Term
	if t.Kind == ir.TermJump {
		return &t.Succs[0]
	}
	if t.Kind != ir.TermBranch || r.out.To != nil { // nothing is tested behind the bytes
		return nil
	}
	stay := slices.IndexFunc(t.Succs, func(e ir.Edge) bool { return r.loop.Has(e.To) })
	if stay < 0 || r.loop.Has(t.Succs[1-stay].To) {
		return nil
	}
	c := t.Args[0]
	if (c.Op == ir.OpEq && stay == 0 || c.Op == ir.OpNe && stay == 1) && isByteLoad(c.Args[0]) && isByteLoad(c.Args[1]) {
		r.bytes, r.out = [2]*ir.Value{c.Args[0], c.Args[1]}, t.Succs[1-stay]
		for _, v := range r.bytes {
			if _, ok := r.distance(v.Args[0].Args[1]); !ok || !r.fixed(v.Args[0].Args[0]) {
				return nil
			}
		}
		if slices.ContainsFunc(r.out.Args, func(v *ir.Value) bool { return v != r.n && !r.fixed(v) }) {
			return nil
		}
		return &t.Succs[stay]
	}
	if !analysis.OrdersWide(c) {
		return nil
	}
	x, y, op := c.Args[0], c.Args[1], c.Op
	if op == ir.OpGt || op == ir.OpLe {
		x, y, op = y, x, analysis.Mirrored[op]
	}
	if (op == ir.OpLt) != (stay == 0) || !r.test(x, y, false) {
		return nil
	}
	return &t.Succs[stay]
}

// isByteLoad reports whether v loads a byte of a slice.
func isByteLoad(v *ir.Value) bool {
	return v.Op == ir.OpLoad && v.Type.IsInt() && v.Type.Size() == 1 && v.Args[0].Op == ir.OpOffset && v.Args[0].Type.Space != ir.Local
}

// instructions reports whether what b does can be done for several bytes at once, and
// notes its checks.
func (r *byteRun) instructions(b *ir.Block) bool {
	for _, v := range b.Instrs {
		switch {
		case v.Op == ir.OpBounds:
			if !r.test(v.Args[0], v.Args[1], true) {
				return false
			}
		case v.Op != ir.OpLoad && !v.Op.Pure(), v.Op == ir.OpLoad && !isByteLoad(v):
			return false
		}
	}
	return true
}

// test notes that x has to be below y, if it goes up with the counter.
func (r *byteRun) test(x, y *ir.Value, index bool) bool {
	add, ok := r.distance(x)
	if !ok || !r.fixed(y) {
		return false
	}
	for i := range r.tests {
		if t := &r.tests[i]; t.add == add && t.bound == y {
			t.index = t.index || index
			return true
		}
	}
	r.tests = append(r.tests, runTest{add, y, index})
	return true
}

// fixed reports whether v does not change in the loop.
func (r *byteRun) fixed(v *ir.Value) bool {
	return v.Block == nil || v.Op == ir.OpConst || !r.loop.Has(v.Block)
}

// distance returns what is added to the counter to get x, nil for nothing.
func (r *byteRun) distance(x *ir.Value) (add *ir.Value, ok bool) {
	switch {
	case x == r.n:
		return nil, true
	case x.Op != ir.OpAdd || x.Type != ir.I64:
		return nil, false
	case x.Args[0] == r.n:
		return x.Args[1], r.fixed(x.Args[1])
	}
	return x.Args[0], x.Args[1] == r.n && r.fixed(x.Args[0])
}

// stepsBy reports whether x is the counter plus c.
func (r *byteRun) stepsBy(x *ir.Value, c uint64) bool {
	add, ok := r.distance(x)
	return ok && add != nil && add.IsConst() && add.Imm == c
}

// worth reports whether lanes have one counter, which is not negative, and no sum or
// difference that is made for the tests wraps.
func (w *runWidener) worth(r *byteRun) bool {
	h := r.loop.Header
	if w.Of(r.n).Kind != analysis.UniformLanes {
		return false
	}
	for _, b := range w.f.Blocks {
		for _, e := range b.Term.Succs {
			if e.To == h && !r.loop.Has(b) {
				if lo, _ := w.ranges(e.Args[0], b); lo < 0 {
					return false
				}
			}
		}
	}
	const far = 1 << 60
	small := func(v *ir.Value) bool {
		lo, hi := w.ranges(v, h)
		return lo > -far && hi < far
	}
	return !slices.ContainsFunc(r.tests, func(t runTest) bool {
		sums := t.add != nil && (w.Of(t.bound).Kind != analysis.UniformLanes || w.rises(t.add))
		return sums && !small(t.add)
	})
}

// widen puts the loop of four bytes an iteration in front of r.
func (w *runWidener) widen(r *byteRun) {
	h := r.loop.Header
	head := w.f.NewBlock()
	w.at, w.pos = head, h.Term.Pos
	for _, b := range w.f.Blocks {
		for s := range b.Term.Succs {
			if e := &b.Term.Succs[s]; e.To == h && !r.loop.Has(b) {
				e.To = head
			}
		}
	}
	n := head.NewParam(w.f, ir.I64)
	w.tests(r, n, ir.Edge{To: h, Args: []*ir.Value{n}})
	var words [2]*ir.Value
	for i, v := range r.bytes {
		p := v.Args[0]
		add, _ := r.distance(p.Args[1])
		to := w.emit(ir.OpOffset, p.Type, p.Args[0], n) // what is the same in all lanes first
		if add != nil {
			to = w.emit(ir.OpOffset, p.Type, to, add)
		}
		words[i] = w.emit(ir.OpLoadBytes, ir.I32, to)
	}
	differ := w.emit(ir.OpXor, ir.I32, words[0], words[1])
	count := w.emit(ir.OpConvert, ir.I32, n)
	more := w.f.NewBlock()
	end := w.f.NewBlock()
	w.branch(w.emit(ir.OpEq, ir.Bool, differ, w.constant(ir.I32, 0)),
		ir.Edge{To: more}, ir.Edge{To: end, Args: []*ir.Value{differ, count}})
	w.at = more
	more.Jump(head, w.emit(ir.OpAdd, ir.I64, n, w.constant(ir.I64, runBytes)))
	w.finish(r, end)
}

// finish counts the equal ones of the last four bytes and leaves.
func (w *runWidener) finish(r *byteRun, end *ir.Block) {
	w.at = end
	differ, count := end.NewParam(w.f, ir.I32), end.NewParam(w.f, ir.I32)
	zeros := w.emit(ir.OpCtz, ir.I32, differ)
	equal := w.emit(ir.OpShr, ir.I32, zeros, w.constant(ir.U32, 3))
	n := w.emit(ir.OpConvert, ir.I64, w.emit(ir.OpAdd, ir.I32, count, equal))
	out := ir.Edge{To: r.out.To, Args: slices.Clone(r.out.Args)}
	for i, v := range out.Args {
		if v == r.n {
			out.Args[i] = n
		}
	}
	end.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{out}, Pos: w.pos}
}

func (w *runWidener) emit(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
	v := w.at.Emit(w.f, op, t, args...)
	v.Pos = w.pos
	return v
}

func (w *runWidener) constant(t *ir.Type, x int64) *ir.Value {
	return w.at.EmitConst(w.f, t, uint64(x))
}

func (w *runWidener) branch(cond *ir.Value, yes, no ir.Edge) {
	w.at.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{cond}, Succs: []ir.Edge{yes, no}, Pos: w.pos}
}

// want goes on in a new block if a condition holds, else by an edge.
func (w *runWidener) want(cond *ir.Value, no ir.Edge) {
	next := w.f.NewBlock()
	w.branch(cond, ir.Edge{To: next}, ir.Edge{To: no.To, Args: slices.Clone(no.Args)})
	w.at = next
}

// tests goes on where the four bytes from n on may be looked at, else by an edge. What all
// lanes have in common is tested first, the rest as one.
func (w *runWidener) tests(r *byteRun, n *ir.Value, no ir.Edge) {
	w.want(w.emit(ir.OpLt, ir.Bool, n, w.constant(ir.I64, maxRun)), no)
	last := w.emit(ir.OpAdd, ir.I64, n, w.constant(ir.I64, runBytes-1))
	var rest *ir.Value
	for _, t := range r.tests {
		if t.add != nil && w.Of(t.bound).Kind == analysis.UniformLanes {
			if lo, _ := w.ranges(t.bound, r.loop.Header); lo < 0 { // the room below it is a number if it is positive
				w.want(w.emit(ir.OpLt, ir.Bool, last, t.bound), no)
			}
		}
		conds := []*ir.Value{w.upper(t, last)}
		if t.index && t.add != nil {
			if lo, _ := w.ranges(t.add, r.loop.Header); lo < 0 {
				conds = append(conds, w.lower(t, n))
			}
		}
		for _, c := range conds {
			switch {
			case w.inCommon(t):
				w.want(c, no)
			case rest == nil:
				rest = c
			default:
				rest = w.emit(ir.OpAnd, ir.Bool, rest, c)
			}
		}
	}
	if rest != nil {
		w.want(rest, no)
	}
}

// inCommon reports whether a test is one of all lanes together.
func (w *runWidener) inCommon(t runTest) bool {
	return w.Of(t.bound).Kind == analysis.UniformLanes && (t.add == nil || w.Of(t.add).Kind == analysis.UniformLanes || w.rises(t.add))
}

// rises reports whether x goes up from lane to lane.
func (w *runWidener) rises(x *ir.Value) bool {
	s := w.Of(x)
	return s.Kind == analysis.AffineLanes && s.Step > 0
}

// short returns the integer of 32 bits that x is made of, if there is one that differs from
// lane to lane.
func (w *runWidener) short(x *ir.Value) *ir.Value {
	if x.Op == ir.OpConvert && x.Args[0].Type == ir.I32 && w.Of(x).Kind == analysis.VaryingLanes {
		return x.Args[0]
	}
	return nil
}

// first returns x in the first lane.
func (w *runWidener) first(x *ir.Value) *ir.Value {
	return w.emit(ir.OpShflIdx, ir.I64, x, w.constant(ir.I64, 0))
}

// upper returns whether last, with what a test adds, is below its bound in a lane, or in
// all of them if the test is one in common.
func (w *runWidener) upper(t runTest, last *ir.Value) *ir.Value {
	x := t.add
	switch {
	case x == nil:
		return w.emit(ir.OpLt, ir.Bool, last, t.bound)
	case w.Of(t.bound).Kind != analysis.UniformLanes:
		return w.emit(ir.OpLt, ir.Bool, w.emit(ir.OpAdd, ir.I64, x, last), t.bound)
	}
	room := w.emit(ir.OpSub, ir.I64, t.bound, last)
	if w.rises(x) {
		room = w.emit(ir.OpSub, ir.I64, room, w.constant(ir.I64, w.Of(x).Step*(w.Wide-1)))
		return w.emit(ir.OpLt, ir.Bool, w.first(x), room)
	}
	if short := w.short(x); short != nil {
		room = w.emit(ir.OpMin, ir.I64, room, w.constant(ir.I64, math.MaxInt32))
		room = w.emit(ir.OpMax, ir.I64, room, w.constant(ir.I64, math.MinInt32))
		return w.emit(ir.OpLt, ir.Bool, short, w.emit(ir.OpConvert, ir.I32, room))
	}
	return w.emit(ir.OpLt, ir.Bool, x, room)
}

// lower returns whether n, with what a test adds, is not below zero.
func (w *runWidener) lower(t runTest, n *ir.Value) *ir.Value {
	x, least := t.add, w.emit(ir.OpNeg, ir.I64, n)
	if w.inCommon(t) && w.rises(x) {
		return w.emit(ir.OpGe, ir.Bool, w.first(x), least)
	}
	if short := w.short(x); short != nil {
		return w.emit(ir.OpGe, ir.Bool, short, w.emit(ir.OpConvert, ir.I32, least))
	}
	return w.emit(ir.OpGe, ir.Bool, x, least)
}
