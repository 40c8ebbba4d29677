package pass

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/internal/devlog"
)

// Mistake is what the pass diagnose found: something that goes wrong whenever the kernel does any
// work.
type Mistake struct {
	Kind MistakeKind
	Pos  int    // index into Module.Pos
	Msg  string // of an index, and of what is not unrolled
}

// MistakeKind says what is wrong.
type MistakeKind uint8

// The kinds of mistakes.
const (
	OutOfRange  MistakeKind = iota // an index is out of range
	NoExit                         // nothing leaves a loop
	NoChange                       // what decides whether a loop goes on does not change in it
	NotUnrolled                    // a loop is not unrolled as it should be
)

// MistakeError is the error of the pass diagnose.
type MistakeError struct{ Found []Mistake }

func (e *MistakeError) Error() string {
	return fmt.Sprintf("%d indices are out of range, or loops without end or not unrolled", len(e.Found))
}

// diagnose fails if an index of an array is out of range whenever m does any work, or a loop
// has no end. It removes the checks that release kept for it.
func diagnose(m *ir.Module, opt *Options) error {
	var found []Mistake
	for _, f := range m.Funcs {
		if opt.Converge {
			found = append(found, outOfRange(f, opt.Small)...)
			found = append(found, endless(m, f)...)
			if !slices.Contains(opt.Disable, "unroll") {
				found = append(found, unfulfilled(f)...)
			}
		}
		if opt.Release && !opt.Small {
			drop(f, ir.OpBounds)
		}
	}
	if len(found) > 0 {
		return &MistakeError{found}
	}
	return nil
}

// outOfRange returns the checks of f that fail whenever it does any work.
func outOfRange(f *ir.Func, small bool) (found []Mistake) {
	var s *surety
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op != ir.OpBounds || !v.Args[1].IsConst() {
				continue
			}
			if s == nil {
				s = newSurety(f, small)
			}
			if msg := s.outside(v, b); msg != "" && s.certain(b) {
				found = append(found, Mistake{OutOfRange, v.Pos, msg})
			}
		}
	}
	return found
}

// surety finds what happens in every launch that does any work.
type surety struct {
	*analysis.Ranges
	known []int8 // by block ID: 1 if the block is certain, -1 if it is not
}

func newSurety(f *ir.Func, small bool) *surety {
	ir.RemoveUnreachable(f)
	return &surety{analysis.NewRanges(f, small), make([]int8, f.NumBlocks())}
}

// outside says how the check v in block b, of a constant limit, always fails; "" if it need not.
func (s *surety) outside(v *ir.Value, b *ir.Block) string {
	x, n := s.At(v.Args[0], b), int64(v.Args[1].Imm)
	check := devlog.Check(v.Imm)
	switch {
	case x.Lo == x.Hi && (x.Lo < 0 || x.Lo >= n):
		return check.OutOfRange(x.Lo, n)
	case x.Hi < 0:
		return check.OutOfRange(x.Hi, n) + ", or a smaller one"
	case x.Lo >= n:
		return check.OutOfRange(x.Lo, n) + ", or a larger one"
	}
	return ""
}

// certain reports whether every path from the entry to an end of the kernel leads through x. A
// branch that asks whether there is any work, such as i < len(s) for the index i of the thread,
// counts as taken to where the work is.
func (s *surety) certain(x *ir.Block) bool {
	if s.known[x.ID] == 0 {
		s.known[x.ID] = 1
		if s.avoids(x) {
			s.known[x.ID] = -1
		}
	}
	return s.known[x.ID] > 0
}

// avoids reports whether an end can be reached other than through x.
func (s *surety) avoids(x *ir.Block) bool {
	seen := make([]bool, s.Func.NumBlocks())
	work := []*ir.Block{s.Func.Blocks[0]}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if b == x || seen[b.ID] {
			continue
		}
		seen[b.ID] = true
		if b.Term.Kind == ir.TermReturn {
			return true
		}
		for i, e := range b.Term.Succs {
			if b.Term.Kind != ir.TermBranch || !s.leads(analysis.Edge{From: b, Succ: 1 - i}, x) {
				work = append(work, e.To)
			}
		}
	}
	return false
}

// leads reports whether x is behind the edge e alone, and e is taken where there is work.
func (s *surety) leads(e analysis.Edge, x *ir.Block) bool {
	to := e.From.Term.Succs[e.Succ].To
	if len(s.In[to.ID]) != 1 || !s.Dom.Dominates(to, x) {
		return false
	}
	takes := false
	analysis.Conjuncts(e.From.Term.Args[0], e.Succ == 0, func(cond *ir.Value, truth bool) { takes = s.works(cond, truth) })
	return takes
}

// works reports whether cond is truth in the first iteration of the first thread, if slices have
// elements and parameters that are compared with indices are not zero.
func (s *surety) works(cond *ir.Value, truth bool) bool {
	if len(cond.Args) != 2 {
		return false
	}
	op, limit := analysis.ComparisonOf(cond.Args[0], cond, truth)
	start := cond.Args[0]
	if op == ir.OpGt {
		op, start, limit = ir.OpLt, limit, start
	}
	if op != ir.OpLt && op != ir.OpNe {
		return false
	}
	x, ok := s.first(start, 8)
	if !ok {
		return false
	}
	if limit.IsConst() {
		return op == ir.OpLt && x < int64(limit.Imm)
	}
	return x <= 0 && sized(limit, 8)
}

// first returns what the integer v is in the first iteration of the first thread.
func (s *surety) first(v *ir.Value, depth int) (int64, bool) {
	switch {
	case v.IsConst():
		return int64(v.Imm), true
	case depth == 0:
		return 0, false
	}
	arg := func(i int) (int64, bool) { return s.first(v.Args[i], depth-1) }
	switch v.Op {
	case ir.OpThread, ir.OpBlock, ir.OpLane, ir.OpWarp:
		return 0, true
	case ir.OpConvert:
		if x, ok := arg(0); v.Args[0].Type.IsInt() && ok && x == 0 {
			return 0, true
		}
	case ir.OpMul:
		for i := range v.Args {
			if x, ok := arg(i); ok && x == 0 {
				return 0, true
			}
		}
	case ir.OpAdd:
		x, ok1 := arg(0)
		y, ok2 := arg(1)
		return x + y, ok1 && ok2
	case ir.OpBlockParam:
		l := s.LoopAt(v.Block)
		if l == nil {
			break
		}
		if a := oneArg(l.Entries, analysis.ParamIndex(v)); a != nil {
			return s.first(a, depth-1)
		}
	}
	return 0, false
}

// sized reports whether v is made of parameters, which say how much work there is.
func sized(v *ir.Value, depth int) bool {
	switch {
	case v.Op == ir.OpParam:
		return true
	case depth == 0 || !v.Op.Pure() || v.Op == ir.OpBlockParam:
		return false
	}
	any := false
	for _, a := range v.Args {
		if a.IsConst() {
			continue
		}
		if !sized(a, depth-1) {
			return false
		}
		any = true
	}
	return any
}

// endless returns the loops of f that cannot end once they are entered: nothing leaves them, or
// they are left by conditions alone that are the same in all iterations. If that is so for some
// copies only of a loop inside an unrolled one, these may never be entered.
func endless(m *ir.Module, f *ir.Func) (found []Mistake) {
	ir.RemoveUnreachable(f)
	if len(f.Blocks) == 0 {
		return nil
	}
	changing := map[int]bool{} // positions of conditions that may change
	for _, l := range analysis.Loops(f, analysis.InEdges(f)) {
		h := &hoister{Loop: l}
		switch exits := l.Exits(); {
		case len(exits) == 0:
			found = append(found, Mistake{Kind: NoExit, Pos: firstPos(m, l)})
		case !slices.ContainsFunc(exits, func(b *ir.Block) bool { return h.mayChange(b.Term.Args[0], 16) }):
			found = append(found, Mistake{Kind: NoChange, Pos: condPos(exits[0])})
		default:
			changing[condPos(exits[0])] = true
		}
	}
	return slices.DeleteFunc(found, func(x Mistake) bool { return x.Kind == NoChange && changing[x.Pos] })
}

// condPos returns the position of the condition that b ends in.
func condPos(b *ir.Block) int {
	if b.Term.Pos != 0 {
		return b.Term.Pos
	}
	return b.Term.Args[0].Pos
}

// firstPos returns the first position in l, of its operations and branches if they have any: that
// of a jump may be from in front of the loop.
func firstPos(m *ir.Module, l *analysis.Loop) (first int) {
	take := func(pos int) {
		if p, q := m.PosOf(pos), m.PosOf(first); pos != 0 && (first == 0 || p.Line < q.Line || p.Line == q.Line && p.Col < q.Col) {
			first = pos
		}
	}
	for _, b := range l.Blocks {
		for _, v := range b.Instrs {
			if !v.IsConst() {
				take(v.Pos)
			}
		}
		if b.Term.Kind == ir.TermBranch {
			take(b.Term.Pos)
		}
	}
	if first == 0 {
		first = l.Header.Term.Pos
	}
	return first
}

// mayChange reports whether v may be another value in another iteration: through a counter or
// variable of the loop, what the loop or another thread writes to memory, or an atomic operation.
func (h *hoister) mayChange(v *ir.Value, depth int) bool {
	switch {
	case v.Block == nil || !h.Has(v.Block) || v.IsConst():
		return false
	case depth == 0 || v.Op == ir.OpBlockParam:
		return true
	case v.Op == ir.OpLoad:
		return h.changes(v.Args[0].Type.Space) || h.mayChange(v.Args[0], depth-1)
	case !v.Op.Pure():
		return true
	}
	return slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return h.mayChange(a, depth-1) })
}
