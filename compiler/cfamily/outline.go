package cfamily

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// The end of a kernel that many blocks jump to becomes a function of its own: such is
// the record of a failed check, which hundreds of checks may lead to, out of loops in
// loops. Flags that are tested behind each construct would be most of the text.

// call goes to the function that the end of the kernel became.
type call struct{ e *ir.Edge }

// leastEntries and leastBlocks are how many jumps, and what is jumped to, make an end
// worth a function.
const leastEntries, leastBlocks = 3, 2

// ending returns the block that a function begins with, nil for none: the one that most
// jumps lead to of those that fit.
func (s *structurer) ending(rpo []*ir.Block) *ir.Block {
	entries := map[*ir.Block]int{}
	for _, b := range rpo {
		for _, e := range b.Term.Succs {
			entries[e.To]++
		}
	}
	var best *ir.Block
	for _, b := range rpo[1:] {
		if entries[b] >= leastEntries && (best == nil || entries[b] > entries[best]) && s.separable(b, rpo) {
			best = b
		}
	}
	return best
}

// separable reports whether b and what it dominates end the kernel, know nothing but
// the kernel's parameters and their own, and join no threads.
func (s *structurer) separable(b *ir.Block, rpo []*ir.Block) bool {
	own := func(v *ir.Value) bool {
		return v.IsConst() || v.Op == ir.OpTable || v.Op == ir.OpParam || v.Op == ir.OpWarpSize || v.Block != nil && s.dom.Dominates(b, v.Block)
	}
	part := s.part(b, rpo)
	return len(part) >= leastBlocks && !slices.ContainsFunc(part, func(in *ir.Block) bool {
		for _, e := range in.Term.Succs {
			if e.To == b || !s.dom.Dominates(b, e.To) {
				return true
			}
		}
		for _, v := range in.Instrs {
			if v.Op.Has(ir.Convergent) || v.Op == ir.OpLocal || v.Op == ir.OpShared || !all(v.Args, own) {
				return true
			}
		}
		return !all(termOperands(in), own)
	})
}

func all(list []*ir.Value, ok func(*ir.Value) bool) bool {
	return !slices.ContainsFunc(list, func(v *ir.Value) bool { return !ok(v) })
}

// part returns b and what it dominates, in order.
func (s *structurer) part(b *ir.Block, rpo []*ir.Block) []*ir.Block {
	return slices.DeleteFunc(slices.Clone(rpo), func(in *ir.Block) bool { return !s.dom.Dominates(b, in) })
}

// calls reports whether b does nothing in the end but call the ending. Such a block is
// written where it is jumped to, inside of loops too.
func (s *structurer) calls(b *ir.Block) bool {
	return s.last != nil && b.Term.Kind == ir.TermJump && b.Term.Succs[0].To == s.last
}

// ending is the function at the end of a kernel.
type ending struct {
	first *ir.Block
	tree  []stmt
	order []*ir.Block
	name  string
	args  []Param // what is passed by name
}

// function writes an ending. What it names of the kernel's is passed to it.
func (e *emitter) function(end *ending, params []Param) (string, error) {
	kernel := *e
	e.head, e.body, e.flags, e.around = strings.Builder{}, new(strings.Builder), nil, nil
	e.declare(end.tree, end.order, end.first)
	err := e.list(end.tree, nil)
	head, body := e.head.String(), e.body.String()
	flags := e.flags
	e.head, e.body, e.flags, e.around, e.line0 = kernel.head, kernel.body, kernel.flags, kernel.around, kernel.line0
	if err != nil {
		return "", err
	}
	text := head + body
	for _, p := range append(slices.Clone(params), e.lang.Inputs...) {
		if names(text, p.Name) {
			end.args = append(end.args, p)
		}
	}
	var list []string
	for _, p := range end.args {
		list = append(list, p.Type+" "+p.Name)
	}
	for _, p := range end.first.Params {
		list = append(list, e.types.value(p.Type, false)+" "+e.name(p))
	}
	for _, f := range flags {
		text = fmt.Sprintf("\tbool %s = false;\n", f) + text
	}
	return fmt.Sprintf("FAR void %s(%s) {\n%s}\n\n", end.name, strings.Join(list, ", "), text), nil
}

// call writes the call of the ending, and the return after it.
func (e *emitter) call(edge *ir.Edge) error {
	var list []string
	for _, p := range e.end.args {
		list = append(list, p.Name)
	}
	for _, a := range edge.Args {
		x, err := e.expr(a)
		if err != nil {
			return err
		}
		list = append(list, x.s)
	}
	e.line("%s(%s);", e.end.name, strings.Join(list, ", "))
	e.line("return;")
	return nil
}
