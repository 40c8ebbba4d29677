package pass

import (
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// The budgets of partial unrolling.
const (
	partialCopies = 4   // bodies in an iteration of the new loop
	maxPartial    = 40  // instructions of a body
	maxEven       = 256 // instructions of twice as many bodies, where no rest is left
	maxLoads      = 4   // in a body: more are in flight together anyway
)

// partial gives small innermost loops that read memory and count up to a limit
// a loop of several bodies an iteration in front of them, as long as that many iterations
// are left; the loop itself does the rest. The loads of the bodies are then
// in flight together, and their counting is shared.
//
// Loops with an unroll factor in the source are unrolled by that, in any build.
func partial(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		ir.RemoveUnreachable(f)
		if !analysis.HasBackEdge(f) {
			leaveAlone(f)
			continue
		}
		factored, err := unrollByFactor(f, opt.Small)
		if err != nil {
			return err
		}
		if opt.Narrow && partialLoops(f, opt.Small) || factored { // an interpreter gains nothing
			straighten(f)
		}
		leaveAlone(f)
	}
	return nil
}

// partialLoops unrolls the loops of f that gain by it, and reports whether there are any.
func partialLoops(f *ir.Func, small bool) (any bool) {
	u := newUnroller(f)
	r := analysis.NewRanges(f, small)
	for _, l := range r.Loops {
		if l.Header.Unroll.Times == 1 {
			continue
		}
		c, even := countedLoop(r, l, 0), false
		if c == nil {
			c, even = evenLoop(l, 0), true
		}
		if c == nil || u.size+c.copies()*c.size > maxFuncSize {
			continue
		}
		any = true
		u.size += c.copies() * c.size
		if even {
			u.repeat(c)
		} else {
			u.interleave(c)
		}
	}
	return any
}

// counted is a loop that goes on while counter < limit, which its header tests.
type counted struct {
	*analysis.Loop
	cond  *ir.Value // the test
	step  *ir.Value // added to the counter each iteration
	stay  int       // the header's successor inside the loop
	index int       // of the counter among the header's parameters
	size  int
	trips int64 // of a loop that ends with its test
	times int   // unroll factor in the source, 0 if that is left to the compiler
}

// countedLoop returns l if it can be unrolled in part, else nil.
func countedLoop(r *analysis.Ranges, l *analysis.Loop, times int) *counted {
	c := &counted{Loop: l, times: times}
	t := &l.Header.Term
	if t.Kind != ir.TermBranch || l.Has(t.Succs[0].To) == l.Has(t.Succs[1].To) || !c.suitable(l.Header, l.Header) {
		return nil
	}
	if !l.Has(t.Succs[0].To) {
		c.stay = 1
	}
	c.cond = t.Args[0]
	if want := []ir.Op{ir.OpLt, ir.OpGe}[c.stay]; c.cond.Op != want || c.cond.Args[0].Type != ir.I64 || c.varies(c.cond.Args[1]) {
		return nil
	}
	p := c.cond.Args[0]
	if p.Op != ir.OpBlockParam || p.Block != l.Header {
		return nil
	}
	c.index = analysis.ParamIndex(p)
	next := oneArg(l.Latches, c.index)
	if next == nil || next.Op != ir.OpAdd {
		return nil
	}
	switch p {
	case next.Args[0]:
		c.step = next.Args[1]
	case next.Args[1]:
		c.step = next.Args[0]
	default:
		return nil
	}
	if c.varies(c.step) {
		return nil
	}
	by, ok := analysis.MulRange(r.Of(c.step), analysis.Point(int64(c.copies())))
	if _, fits := analysis.AddRange(r.Of(p), by); !ok || !fits {
		return nil // the test of the new loop could wrap
	}
	return c
}

// varies reports whether v is computed in the loop.
func (c *counted) varies(v *ir.Value) bool { return v.Block != nil && c.Has(v.Block) }

// evenLoop returns l if it ends with its test and its trip count is known to be a
// multiple of the copies, else nil.
func evenLoop(l *analysis.Loop, times int) *counted {
	if len(l.Latches) != 1 {
		return nil
	}
	c := &counted{Loop: l, times: times}
	last := l.Latches[0].From
	t := &last.Term
	if t.Kind != ir.TermBranch || l.Has(t.Succs[0].To) == l.Has(t.Succs[1].To) || !c.suitable(last, nil) {
		return nil
	}
	test := t.Args[0]
	if test.Op != ir.OpLt || !l.Has(t.Succs[0].To) || test.Args[0].Type != ir.I64 || !test.Args[1].IsConst() {
		return nil
	}
	next := test.Args[0]
	if next.Op != ir.OpAdd || !next.Args[1].IsConst() || next.Args[0].Op != ir.OpBlockParam || next.Args[0].Block != l.Header {
		return nil
	}
	i := analysis.ParamIndex(next.Args[0])
	first := oneArg(l.Entries, i)
	if first == nil || !first.IsConst() || l.Latches[0].Args()[i] != next {
		return nil
	}
	from, to, step := int64(first.Imm), int64(test.Args[1].Imm), int64(next.Args[1].Imm)
	if trips := (to - from) / max(step, 1); step <= 0 || from < 0 || to <= from || (to-from)%step != 0 || trips%int64(c.copies()) != 0 {
		return nil
	}
	c.trips = (to - from) / step
	return c
}

// copies returns how many bodies an iteration of the loop gets.
func (c *counted) copies() int {
	if c.times > 0 {
		return c.times
	}
	if n := 2 * partialCopies; c.trips > 0 && c.trips%int64(n) == 0 && n*c.size <= maxEven {
		return n
	}
	return partialCopies
}

// repeat puts copies of c in front of it that leave their tests out. What is
// used behind the loop comes out of c, which is last.
func (u *unroller) repeat(c *counted) {
	p := &plan{Loop: c.Loop}
	e := c.Latches[0]
	first := c.Header
	for range c.copies() - 1 { // from the last copy to the first
		to := u.copyLoop(p)
		last := to.blocks[e.From.ID]
		back := ir.Edge{To: first, Args: last.Term.Succs[e.Succ].Args}
		last.Term = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{back}, Pos: last.Term.Pos}
		first = to.blocks[c.Header.ID]
	}
	e.From.Term.Succs[e.Succ].To = first
	for _, in := range c.Entries {
		in.From.Term.Succs[in.Succ].To = first
	}
}

// suitable reports whether the loop is left at the block exit alone and, with no factor in the
// source, is small, reads a little memory, and holds no other loop and no operation of several
// threads. The block again does nothing that must not happen twice.
func (c *counted) suitable(exit, again *ir.Block) bool {
	loads := 0
	for _, b := range c.Blocks {
		for _, e := range b.Term.Succs {
			if b != exit && !c.Has(e.To) {
				return false
			}
		}
		if b.Term.Kind == ir.TermReturn || b.ID >= len(c.Inner) || c.times == 0 && c.Inner[b.ID] != c.Loop {
			return false
		}
		for _, v := range b.Instrs {
			switch {
			case c.times == 0 && v.Op.Has(ir.Convergent), b == again && !v.Op.Pure():
				return false
			case v.Op == ir.OpLoad && v.Args[0].Type.Space != ir.Local:
				loads++
			}
			if v.Op != ir.OpConst && !isCheck(v.Op) {
				c.size++
			}
		}
	}
	return c.times > 0 || loads > 0 && loads <= maxLoads && c.size <= maxPartial
}

// interleave puts the new loop in front of c.
func (u *unroller) interleave(c *counted) {
	p := &plan{Loop: c.Loop}
	copies := make([]*cloner, c.copies())
	headers := make([]*ir.Block, len(copies))
	for k := range copies {
		copies[k] = u.copyLoop(p)
		headers[k] = copies[k].blocks[c.Header.ID]
	}
	for k, to := range copies {
		next := headers[(k+1)%len(copies)]
		for _, e := range c.Latches {
			to.blocks[e.From.ID].Term.Succs[e.Succ].To = next
		}
		if t := &headers[k].Term; k > 0 {
			*t = ir.Term{Kind: ir.TermJump, Succs: []ir.Edge{t.Succs[c.stay]}, Pos: t.Pos}
		}
	}
	for _, e := range c.Entries {
		e.From.Term.Succs[e.Succ].To = headers[0]
	}
	u.guard(c, headers[0])
}

// guard makes the new loop go on while all the bodies of a turn have their
// turn, and leave for c.
func (u *unroller) guard(c *counted, h *ir.Block) {
	emit := func(op ir.Op, t *ir.Type, args ...*ir.Value) *ir.Value {
		v := h.Emit(u.f, op, t, args...)
		v.Pos = c.cond.Pos
		return v
	}
	times := emit(ir.OpConst, ir.I64)
	times.Imm = uint64(c.copies() - 1)
	last := emit(ir.OpAdd, ir.I64, h.Params[c.index], emit(ir.OpMul, ir.I64, c.step, times))
	foldConst(last.Args[1])
	more := emit(ir.OpLt, ir.Bool, last, c.cond.Args[1])
	args := make([]*ir.Value, len(h.Params))
	copy(args, h.Params)
	in := h.Term.Succs[c.stay]
	h.Term = ir.Term{Kind: ir.TermBranch, Args: []*ir.Value{more}, Succs: []ir.Edge{in, {To: c.Header, Args: args}}, Pos: h.Term.Pos}
}
