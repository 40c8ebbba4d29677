package llvm

import (
	"fmt"
	"runtime/debug"
	"slices"

	llir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

// Options change what the text holds besides the code.
type Options struct {
	// Lines adds a comment with the Go file and line wherever it changes.
	Lines bool
	// Aligned says that the slices of every launch begin at multiples of 16 bytes.
	Aligned bool
	// Disjoint says that no slice that the kernel writes overlaps another.
	Disjoint bool
	// Host writes the code for the processor of this machine, as tests run it: the
	// kernel takes the address of its argument block, and the instructions that only
	// the GPU has are functions that have to be given.
	Host bool
}

// Emit returns the LLVM IR of the kernel of m for t. The module must satisfy
// [ir.Verify] and hold no calls, which the inline pass sees to.
func Emit(m *ir.Module, t target.Target) (string, error) { return Options{}.Emit(m, t) }

// Emit is the function [Emit] under the options o.
func (o Options) Emit(m *ir.Module, t target.Target) (string, error) {
	d := dialectOf(t)
	if d == nil {
		return "", fmt.Errorf("llvm: kernel %s: cannot compile for target %s; use one of llvm:<arch>", m.Name, t)
	}
	if o.Host {
		d = d.host()
	}
	f := m.Kernel()
	if f == nil {
		return "", fmt.Errorf("llvm: module %q has no kernel", m.Name)
	}
	e := newEmitter(d)
	e.m, e.f, e.t, e.opt = m, f, t, o
	e.vals, e.blocks = make([]value.Value, f.NumValues()), make([]*llir.Block, f.NumBlocks())
	return e.emit()
}

// emit builds the module and prints it. The library panics on operands that its constructors
// do not take: that becomes an error here, in one place.
func (e *emitter) emit() (text string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			text, err = "", e.fault(cause)
		}
	}()
	if err := e.run(); err != nil {
		return "", fmt.Errorf("llvm: kernel %s: %w", e.f.Name, err)
	}
	return e.print(), nil
}

// fault is the error for a panic: of the module, if it is not valid, and else of this package.
func (e *emitter) fault(cause any) error {
	if err := ir.Verify(e.m); err != nil {
		return fmt.Errorf("llvm: kernel %s is not valid: %w", e.f.Name, err)
	}
	at := "as it is printed"
	if e.at != nil {
		at = e.f.Line(e.at)
	}
	return &compiler.InternalError{Kernel: e.f.Name, Cause: fmt.Sprintf("LLVM IR of %s: %v", at, cause), Stack: debug.Stack()}
}

// emitter builds the module of a kernel.
type emitter struct {
	*llir.Block // that instructions go to

	m   *ir.Module
	f   *ir.Func
	t   target.Target
	d   *dialect
	opt Options

	out       *llir.Module
	fn        *llir.Func
	vals      []value.Value      // by value ID
	blocks    []*llir.Block      // by block ID
	locals    []llir.Instruction // private objects, which the entry begins with
	variables map[string]address // of the module
	declared  map[string]*llir.Func
	parts     []int // where shared objects are in the memory that launches ask for, if they do
	labels    int
	last      ir.Pos    // of the last comment
	at        *ir.Value // whose instructions are being written
}

func newEmitter(d *dialect) *emitter {
	return &emitter{d: d, out: llir.NewModule(), fn: llir.NewFunc("", types.Void), variables: map[string]address{}, declared: map[string]*llir.Func{}}
}

// operand returns what was written for v. An operand without a value would be printed as text
// that is no LLVM IR.
func (e *emitter) operand(v *ir.Value) value.Value {
	x := e.vals[v.ID]
	if x == nil {
		panic(fmt.Sprintf("operand %s has no value", v.Op))
	}
	return x
}

// fresh returns the name of a label that is not a block of the IR. It begins with a
// point, as no name of Go does. Values have no names: the library numbers them.
func (e *emitter) fresh() string {
	e.labels++
	return fmt.Sprint(".l", e.labels)
}

func (e *emitter) run() error {
	_, size := e.m.SharedLayout()
	if err := e.t.CheckShared(size); err != nil {
		return err
	}
	if e.d.triple != "" {
		e.parts = e.m.SharedParts(e.t.Dynamic(size))
	}
	order := analysis.LoopOrder(e.f)
	for i, b := range order {
		e.blocks[b.ID] = llir.NewBlock(fmt.Sprintf(".b%d", i))
	}
	// Blocks are in an order in which a value is written before it is used, by phis aside.
	for _, b := range order {
		for _, p := range b.Params {
			e.Block = e.blocks[b.ID]
			e.vals[p.ID] = e.phi(e.d.typeOf(p.Type))
		}
	}
	for i, b := range order {
		e.place(e.blocks[b.ID])
		if i == 0 {
			e.function()
		}
		if err := e.block(b); err != nil {
			return err
		}
	}
	entry := e.fn.Blocks[0]
	entry.Insts = slices.Concat(e.locals, entry.Insts)
	return nil
}

func (e *emitter) block(b *ir.Block) error {
	for _, v := range b.Instrs {
		into, n := e.Block, len(e.Insts)
		e.at = v
		if err := e.value(v); err != nil {
			if p := e.m.PosOf(v.Pos); p.File != "" {
				return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
			}
			return err
		}
		if len(into.Insts) > n {
			e.comment(into, n, v.Pos)
		}
	}
	e.at = nil
	e.comment(e.Block, len(e.Insts), b.Term.Pos)
	e.terminate(&b.Term)
	return nil
}

// comment writes the position of the instruction with number n of a block, if it is not
// the last one that was written.
func (e *emitter) comment(b *llir.Block, n, pos int) {
	if !e.opt.Lines {
		return
	}
	if p := e.m.PosOf(pos); p.File != "" && (p.File != e.last.File || p.Line != e.last.Line) {
		b.Insts = slices.Insert(b.Insts, n, llir.Instruction(comment{text: fmt.Sprintf("%s:%d", p.File, p.Line)}))
		e.last = p
	}
}

// terminate writes the end of a block, and the values of the phis that follow.
func (e *emitter) terminate(t *ir.Term) {
	switch {
	case t.Kind == ir.TermReturn:
		e.NewRet(nil)
	case t.Kind == ir.TermJump:
		e.NewBr(e.edge(t.Succs[0]))
	case t.Succs[0].To == t.Succs[1].To:
		e.join(t)
	default:
		e.NewCondBr(e.operand(t.Args[0]), e.edge(t.Succs[0]), e.edge(t.Succs[1]))
	}
}

// join writes a branch with one target. A phi takes one value from a block, so
// that the second edge needs a block of its own where there are arguments.
func (e *emitter) join(t *ir.Term) {
	to := e.edge(t.Succs[0])
	if len(t.Succs[0].Args) == 0 {
		e.NewBr(to)
		return
	}
	other := e.newLabel()
	e.NewCondBr(e.operand(t.Args[0]), to, other)
	e.place(other)
	e.NewBr(e.edge(t.Succs[1]))
}

// edge gives the arguments of an edge to the phis of its block, which it returns.
func (e *emitter) edge(to ir.Edge) *llir.Block {
	for i, p := range to.To.Params {
		phi := e.vals[p.ID].(*llir.InstPhi)
		phi.Incs = append(phi.Incs, llir.NewIncoming(e.operand(to.Args[i]), e.Block))
	}
	return e.blocks[to.To.ID]
}
