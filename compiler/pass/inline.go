package pass

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// inlineModule inlines every call, callees first, and drops the functions that
// the kernel no longer calls. A module without a kernel keeps all functions.
func inlineModule(m *ir.Module, opt *Options) error {
	n := 0
	for _, f := range m.Funcs {
		n += operations(f)
	}
	if n > largeModule {
		if err := fixTarget(m, opt); err != nil {
			return err
		}
		known(m, smallCallee)
	}
	in := inliner{state: map[*ir.Func]int{}, size: map[*ir.Func]int{}}
	for _, f := range m.Funcs {
		if err := in.visit(f, nil); err != nil {
			return err
		}
	}
	if m.Kernel() != nil {
		m.Funcs = slices.DeleteFunc(m.Funcs, func(f *ir.Func) bool { return !f.Kernel })
	}
	return nil
}

const (
	stateOpen = 1 // on the path from the root
	stateDone = 2
)

// maxInlined bounds the operations of a function with all that it calls. It is far above
// what kernels have.
const maxInlined = 1 << 17

// GrowthError is a call whose callee makes a function larger than maxInlined.
type GrowthError struct {
	Pos int // of the call, index into the module's positions
	Msg string
}

func (e *GrowthError) Error() string { return e.Msg }

type inliner struct {
	state map[*ir.Func]int
	size  map[*ir.Func]int // operations of functions without calls
}

// fits reports a function that would be too large with what it calls, by its largest callee.
func (in *inliner) fits(f *ir.Func) error {
	n := 0
	var largest *ir.Value
	for _, b := range f.Blocks {
		n += len(b.Instrs) + 1
		for _, v := range b.Instrs {
			if v.Op != ir.OpCall {
				continue
			}
			if n += in.size[v.Callee]; largest == nil || in.size[v.Callee] > in.size[largest.Callee] {
				largest = v
			}
		}
	}
	if n > maxInlined && largest != nil {
		return &GrowthError{largest.Pos, fmt.Sprintf("%s has %d operations with all that it calls, more than %d; this call of %s has %d", f.Name, n, maxInlined, largest.Callee.Name, in.size[largest.Callee])}
	}
	return nil
}

func (in *inliner) visit(f *ir.Func, path []string) error {
	path = append(path, "@"+f.Name)
	switch in.state[f] {
	case stateDone:
		return nil
	case stateOpen:
		return fmt.Errorf("recursive call %v: a kernel's calls are inlined; write the recursion as a loop", path)
	}
	in.state[f] = stateOpen
	calls := false
	for _, b := range f.Blocks {
		for _, v := range b.Instrs {
			if v.Op == ir.OpCall {
				calls = true
				if err := in.visit(v.Callee, path); err != nil {
					return err
				}
			}
		}
	}
	in.state[f] = stateDone
	if err := in.fits(f); err != nil {
		return err
	}
	if calls {
		inlineCalls(f, func(*ir.Func) bool { return true })
	}
	ir.RemoveUnreachable(f)
	hoistLocals(f)
	in.size[f] = operations(f)
	return nil
}

// operations is how large a function is.
func operations(f *ir.Func) (n int) {
	for _, b := range f.Blocks {
		n += len(b.Instrs) + 1
	}
	return n
}

// inlineCalls rebuilds the blocks of f without the calls of some functions, which hold no calls
// themselves.
func inlineCalls(f *ir.Func, which func(*ir.Func) bool) {
	s := splicer{f: f, which: which, repl: newReplacer(f)}
	old := f.Blocks
	f.Blocks = make([]*ir.Block, 0, 2*len(old))
	for _, b := range old {
		s.block(b)
	}
	for _, b := range f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, s.project)
	}
	s.repl.apply(f)
}

type splicer struct {
	f     *ir.Func
	which func(*ir.Func) bool
	repl  *replacer
	tuple map[*ir.Value][]*ir.Value // results of calls with several
}

// block splits b at its calls.
func (s *splicer) block(b *ir.Block) {
	s.f.Blocks = append(s.f.Blocks, b)
	instrs, term := b.Instrs, b.Term
	cur := b
	if !slices.ContainsFunc(instrs, s.takes) {
		return
	}
	b.Instrs = make([]*ir.Value, 0, len(instrs))
	for _, v := range instrs {
		if !s.takes(v) {
			cur.Append(v)
			continue
		}
		var results []*ir.Value
		cur, results = s.call(cur, v)
		s.bind(v, results)
	}
	cur.Term = term
}

// takes reports whether an operation is a call to inline.
func (s *splicer) takes(v *ir.Value) bool { return v.Op == ir.OpCall && s.which(v.Callee) }

func (s *splicer) bind(call *ir.Value, results []*ir.Value) {
	switch {
	case call.Type.Kind == ir.KTuple:
		if s.tuple == nil {
			s.tuple = map[*ir.Value][]*ir.Value{}
		}
		s.tuple[call] = results
	case call.Type != ir.Void:
		s.repl.set(call, results[0])
	}
}

// project replaces v if it is a result of an inlined call, and reports whether
// it was.
func (s *splicer) project(v *ir.Value) bool {
	if v.Op != ir.OpProj || s.tuple[v.Args[0]] == nil {
		return false
	}
	s.repl.set(v, s.tuple[v.Args[0]][v.Imm])
	return true
}

// call copies the callee behind cur. It returns the block where the caller goes
// on and the results there.
func (s *splicer) call(cur *ir.Block, call *ir.Value) (*ir.Block, []*ir.Value) {
	callee := call.Callee
	c := newCloner(s.f, callee)
	c.pos = call.Pos // for libraries, whose code has none
	for i, p := range callee.Params {
		c.vals[p.ID] = call.Args[i]
	}
	c.blocks[callee.Blocks[0].ID] = cur
	order := analysis.RPO(callee)
	returns := 0
	for _, b := range order {
		if b.Term.Kind == ir.TermReturn {
			returns++
		}
	}
	for _, b := range order[1:] {
		c.newBlock(b)
	}
	var next *ir.Block
	var results []*ir.Value
	if returns != 1 {
		next = s.f.NewBlock()
		for _, t := range callee.Results {
			results = append(results, next.NewParam(s.f, t))
		}
	}
	for _, b := range order {
		to := c.blocks[b.ID]
		c.instrs(b, to)
		switch {
		case b.Term.Kind != ir.TermReturn:
			c.term(b, to)
		case next != nil && returns != 1:
			to.Jump(next, c.list(b.Term.Args)...)
		default:
			next, results = to, c.list(b.Term.Args)
		}
	}
	return next, results
}

// hoistLocals moves local objects to the entry block: one object serves all
// executions, as a Go function's frame does.
func hoistLocals(f *ir.Func) {
	var locals []*ir.Value
	for _, b := range f.Blocks[1:] {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool {
			if v.Op != ir.OpLocal {
				return false
			}
			v.Block = f.Blocks[0]
			locals = append(locals, v)
			return true
		})
	}
	f.Blocks[0].Instrs = slices.Insert(f.Blocks[0].Instrs, 0, locals...)
}
