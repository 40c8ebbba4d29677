package llvm

import (
	"fmt"

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
	e := &emitter{
		m: m, f: f, t: t, d: d, opt: o, names: make([]string, f.NumValues()), label: make([]string, f.NumBlocks()),
		into: make([][]incoming, f.NumBlocks()), shared: make([]bool, len(m.Shared)), declared: map[string]bool{},
	}
	if err := e.run(); err != nil {
		return "", fmt.Errorf("llvm: kernel %s: %w", f.Name, err)
	}
	return e.print(), nil
}

// EntryName returns the symbol of the kernel called name: the name itself, with
// each character that a symbol of all targets cannot have replaced by $ and its
// code.
func EntryName(name string) string {
	out := make([]byte, 0, len(name))
	for i := 0; i < len(name); i++ {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		digit := c >= '0' && c <= '9'
		switch {
		case letter, digit && i > 0, c == '_' && len(name) > 1:
			out = append(out, c)
		default:
			out = fmt.Appendf(out, "$%02x", c)
		}
	}
	return string(out)
}

// section is the text of a block of the IR; phis come before it.
type section struct {
	block *ir.Block
	lines []line
}

// line is an instruction, a label, or both in one text.
type line struct {
	text string
	pos  int
}

// incoming is an edge to a block: the label it comes from, and its arguments.
type incoming struct {
	from string
	args []*ir.Value
}

type emitter struct {
	m   *ir.Module
	f   *ir.Func
	t   target.Target
	d   *dialect
	opt Options

	sections []section
	params   []string // of the function, with types
	entry    []string // before the first block: objects, parameters
	names    []string // by value ID: how a value is written
	label    []string // by block ID
	into     [][]incoming
	shared   []bool // which shared objects are used
	parts    []int  // where they are in the memory that launches ask for, if they do
	declared map[string]bool
	inexact  bool // metadata of rows is used
	counts   [4]int
	here     string // label of the block that instructions go to
	pos      int
}

// What the emitter counts for names of its own, which begin with a point, as no
// name of Go does.
const (
	countValues = iota
	countLabels
	countObjects
	countPads
)

var countLetters = [...]string{countValues: "%.", countLabels: ".l", countObjects: "%.local", countPads: "%.pad"}

func (e *emitter) fresh(what int) string {
	e.counts[what]++
	return fmt.Sprint(countLetters[what], e.counts[what])
}

func (e *emitter) run() error {
	offsets, size := e.m.SharedLayout()
	if err := e.t.CheckShared(size); err != nil {
		return err
	}
	if e.d.triple != "" && e.t.Dynamic(size) {
		e.parts = offsets
	}
	order := ir.RPO(e.f)
	for i, b := range order {
		e.label[b.ID] = fmt.Sprintf(".b%d", i)
	}
	e.parameters()
	for _, b := range order {
		for _, p := range b.Params {
			e.names[p.ID] = e.fresh(countValues)
		}
	}
	for _, b := range order {
		if err := e.block(b); err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) block(b *ir.Block) error {
	e.sections = append(e.sections, section{block: b})
	e.here = e.label[b.ID]
	for _, v := range b.Instrs {
		e.pos = v.Pos
		if err := e.value(v); err != nil {
			if p := e.m.PosOf(v.Pos); p.File != "" {
				return fmt.Errorf("%s:%d: %w", p.File, p.Line, err)
			}
			return err
		}
	}
	e.pos = b.Term.Pos
	e.terminate(&b.Term)
	return nil
}

// add appends an instruction to the section that is being written.
func (e *emitter) add(format string, args ...any) {
	e.addText("  " + fmt.Sprintf(format, args...))
}

func (e *emitter) addText(text string) {
	s := &e.sections[len(e.sections)-1]
	s.lines = append(s.lines, line{text, e.pos})
}

// place writes a label; instructions after it are in its block.
func (e *emitter) place(label string) {
	e.here = label
	e.addText(label + ":")
}

// terminate writes the end of a block and notes its edges for the phis.
func (e *emitter) terminate(t *ir.Term) {
	switch {
	case t.Kind == ir.TermReturn:
		e.add("ret void")
	case t.Kind == ir.TermJump:
		e.add("br label %%%s", e.label[t.Succs[0].To.ID])
		e.edge(e.here, t.Succs[0])
	case t.Succs[0].To == t.Succs[1].To:
		e.join(t)
	default:
		e.add("br i1 %s, label %%%s, label %%%s", e.operand(t.Args[0]), e.label[t.Succs[0].To.ID], e.label[t.Succs[1].To.ID])
		e.edge(e.here, t.Succs[0])
		e.edge(e.here, t.Succs[1])
	}
}

// join writes a branch with one target. A phi takes one value from a block, so
// that the second edge needs a block of its own where there are arguments.
func (e *emitter) join(t *ir.Term) {
	to := e.label[t.Succs[0].To.ID]
	e.edge(e.here, t.Succs[0])
	if len(t.Succs[0].Args) == 0 {
		e.add("br label %%%s", to)
		return
	}
	other := e.fresh(countLabels)
	e.add("br i1 %s, label %%%s, label %%%s", e.operand(t.Args[0]), to, other)
	e.place(other)
	e.add("br label %%%s", to)
	e.edge(e.here, t.Succs[1])
}

func (e *emitter) edge(from string, to ir.Edge) {
	e.into[to.To.ID] = append(e.into[to.To.ID], incoming{from, to.Args})
}
