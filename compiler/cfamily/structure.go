package cfamily

import (
	"fmt"
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// stmt is a node of the structured tree of a function.
type stmt interface{}

type (
	// code is the instructions of a block.
	code struct{ b *ir.Block }
	// copies gives the parameters of a block their values.
	copies struct{ e *ir.Edge }
	// jump goes to where the code of a block begins: the next round of a loop, or
	// what follows a scope. Most jumps need no text: see settle.
	jump struct{ to *ir.Block }
	// leave ends the kernel.
	leave struct{}
	// branch chooses.
	branch struct {
		cond      *ir.Value
		then, els []stmt
	}
	// loop repeats its body until a jump leaves it.
	loop struct {
		head *ir.Block
		body []stmt
	}
	// scope is a body that jumps to next leave; the code of next follows it.
	scope struct {
		next *ir.Block
		body []stmt
		real bool // needs a construct of the language that break leaves
	}
)

// structurer turns a reducible control-flow graph into a tree (Ramsey, Beyond
// Relooper, ICFP 2022): the dominator tree gives the nesting, and a block that
// several edges enter follows a scope with everything that may jump to it. Blocks
// that end a loop follow the loop, however deep inside it their dominator lies.
type structurer struct {
	f      *ir.Func
	dom    *ir.DomTree
	order  map[*ir.Block]int              // in reverse postorder
	kids   map[*ir.Block][]*ir.Block      // what follows the code of a block, inside its loop
	after  map[*ir.Block][]*ir.Block      // what follows the loop of a header
	placed map[*ir.Block]bool             // blocks of kids and after: jumps go to them
	loops  map[*ir.Block]*analysis.Loop   // by header
	inner  map[*ir.Block][]*analysis.Loop // the loops around a block, outermost first
	last   *ir.Block                      // the block that the function at the end begins with, or nil
}

// structure returns the tree of f, and the function that its end becomes, or nil.
func structure(f *ir.Func) ([]stmt, *ending, error) {
	s := &structurer{
		f: f, dom: ir.Dominators(f), order: map[*ir.Block]int{}, kids: map[*ir.Block][]*ir.Block{}, after: map[*ir.Block][]*ir.Block{},
		placed: map[*ir.Block]bool{}, loops: map[*ir.Block]*analysis.Loop{}, inner: map[*ir.Block][]*analysis.Loop{},
	}
	rpo := analysis.LoopOrder(f)
	for i, b := range rpo {
		s.order[b] = i
	}
	if err := s.reducible(rpo); err != nil {
		return nil, nil, err
	}
	s.findLoops(rpo)
	s.last = s.ending(rpo)
	s.place(rpo)
	body := settle(s.tree(f.Blocks[0]), nil)
	if s.last == nil {
		return body, nil, nil
	}
	return body, &ending{first: s.last, tree: settle(s.tree(s.last), nil), order: s.part(s.last, rpo)}, nil
}

// reducible refuses graphs with a loop that has two entries. Go without goto has
// none.
func (s *structurer) reducible(rpo []*ir.Block) error {
	for _, b := range rpo {
		for _, e := range b.Term.Succs {
			if s.order[e.To] <= s.order[b] && !s.dom.Dominates(e.To, b) {
				return fmt.Errorf("control flow of %s is not reducible: block %d jumps into the loop at block %d", s.f.Name, b.ID, e.To.ID)
			}
		}
	}
	return nil
}

func (s *structurer) findLoops(rpo []*ir.Block) {
	for _, l := range analysis.Loops(s.f, analysis.InEdges(s.f)) {
		s.loops[l.Header] = l
	}
	for _, b := range rpo {
		for _, h := range rpo[:s.order[b]+1] {
			if l := s.loops[h]; l != nil && l.Has(b) {
				s.inner[b] = append(s.inner[b], l)
			}
		}
	}
}

// place decides which blocks are jumped to and what they follow.
func (s *structurer) place(rpo []*ir.Block) {
	entries := map[*ir.Block]int{} // forward edges
	for _, b := range rpo {
		for _, e := range b.Term.Succs {
			if !s.back(b, e.To) {
				entries[e.To]++
			}
		}
	}
	for _, b := range rpo[1:] {
		d := s.dom.Idom(b)
		if empty(b) || b == s.last || entries[b] == 1 && s.calls(b) {
			continue // written where it is jumped to
		}
		if l := s.left(d, b); l != nil {
			s.after[l.Header] = append(s.after[l.Header], b)
			s.placed[b] = true
		} else if entries[b] > 1 {
			s.kids[d] = append(s.kids[d], b)
			s.placed[b] = true
		}
	}
}

// left returns the outermost loop that has d and not b.
func (s *structurer) left(d, b *ir.Block) *analysis.Loop {
	for _, l := range s.inner[d] {
		if !l.Has(b) {
			return l
		}
	}
	return nil
}

func (s *structurer) back(from, to *ir.Block) bool { return s.order[to] <= s.order[from] }

// empty reports whether b only ends the kernel.
func empty(b *ir.Block) bool {
	return len(b.Instrs) == 0 && len(b.Params) == 0 && b.Term.Kind == ir.TermReturn
}

// tree returns the code of b and of all that it dominates.
func (s *structurer) tree(b *ir.Block) []stmt {
	body := append([]stmt{&code{b}}, s.term(b)...)
	body = s.follow(body, s.kids[b])
	if s.loops[b] != nil {
		body = s.follow([]stmt{&loop{b, body}}, s.after[b])
	}
	return body
}

// follow puts blocks behind a body that jumps to them.
func (s *structurer) follow(body []stmt, next []*ir.Block) []stmt {
	slices.SortFunc(next, func(a, b *ir.Block) int { return s.order[a] - s.order[b] })
	for _, b := range next {
		body = append([]stmt{&scope{next: b, body: body}}, s.tree(b)...)
	}
	return body
}

func (s *structurer) term(b *ir.Block) []stmt {
	t := &b.Term
	switch t.Kind {
	case ir.TermJump:
		return s.edge(b, &t.Succs[0])
	case ir.TermBranch:
		return []stmt{&branch{cond: t.Args[0], then: s.edge(b, &t.Succs[0]), els: s.edge(b, &t.Succs[1])}}
	}
	return []stmt{leave{}}
}

func (s *structurer) edge(from *ir.Block, e *ir.Edge) []stmt {
	if e.To == s.last {
		return []stmt{&call{e}}
	}
	var out []stmt
	if len(e.Args) > 0 {
		out = append(out, &copies{e})
	}
	switch {
	case s.back(from, e.To) || s.placed[e.To]:
		return append(out, jump{e.To})
	case empty(e.To):
		return append(out, leave{})
	}
	return append(out, s.tree(e.To)...)
}

// settle removes the jumps to where control goes anyhow, next being what comes
// after the list (nil for the end of the kernel), and finds the scopes that need a
// construct of their own.
func settle(list []stmt, next *ir.Block) []stmt {
	for i, x := range list {
		last := i == len(list)-1
		switch x := x.(type) {
		case jump:
			if last && x.to == next {
				return list[:i]
			}
		case leave:
			if last && next == nil {
				return list[:i]
			}
		case *branch:
			after := next
			x.then, x.els = settle(x.then, after), settle(x.els, after)
		case *loop:
			x.body = settle(x.body, x.head)
		case *scope:
			x.body = settle(x.body, x.next)
			x.real = strays(x.body, x.next, x.next, false)
		}
	}
	return list
}

// strays reports whether some jump in list to the block to would not arrive there
// by leaving the constructs around it. next comes after the list; once inside a
// construct (in), next stays what comes after the outermost one.
func strays(list []stmt, to, next *ir.Block, in bool) bool {
	for i, x := range list {
		here := next
		if !in && i < len(list)-1 {
			here = nil // other code follows
		}
		found := false
		switch x := x.(type) {
		case jump:
			found = x.to == to && (!in || next != to)
		case *branch:
			found = strays(x.then, to, here, in) || strays(x.els, to, here, in)
		case *loop:
			found = strays(x.body, to, here, true)
		case *scope:
			switch {
			case in:
				found = strays(x.body, to, next, true)
			case x.real:
				found = strays(x.body, to, x.next, true)
			default:
				found = strays(x.body, to, x.next, false)
			}
		}
		if found {
			return true
		}
	}
	return false
}
