package cfamily

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// construct is a loop or a scope of the language around what is being written.
type construct struct {
	head    *ir.Block   // of a loop, nil for a scope
	after   *ir.Block   // where control is after it
	pending []*ir.Block // where jumps from inside it go that do not end there
}

func (e *emitter) line(format string, args ...any) {
	e.comment()
	e.body.WriteString(strings.Repeat("\t", e.depth))
	fmt.Fprintf(e.body, format, args...)
	e.body.WriteByte('\n')
}

// comment names the Go line of what follows.
func (e *emitter) comment() {
	p := e.m.PosOf(e.pos)
	if !e.opt.Lines || p.File == "" || p.File == e.line0.File && p.Line == e.line0.Line {
		return
	}
	e.line0 = p
	fmt.Fprintf(e.body, "%s// %s:%d\n", strings.Repeat("\t", e.depth), p.File, p.Line)
}

// declare decides which variables stand at the head of the function: parameters
// of blocks, and values that are used outside of the braces in which they are
// computed.
// The parameters of the block own are those of the function itself.
func (e *emitter) declare(tree []stmt, order []*ir.Block, own *ir.Block) {
	braces := map[*ir.Block][]int{}
	count := 0
	var walk func(list []stmt, path []int)
	walk = func(list []stmt, path []int) {
		inside := func() []int {
			count++
			return append(slices.Clone(path), count)
		}
		for _, x := range list {
			switch x := x.(type) {
			case *code:
				braces[x.b] = path
			case *branch:
				walk(x.then, inside())
				walk(x.els, inside())
			case *loop:
				walk(x.body, inside())
			case *scope:
				if x.real {
					walk(x.body, inside())
				} else {
					walk(x.body, path)
				}
			}
		}
	}
	walk(tree, nil)
	e.top = make([]bool, e.f.NumValues())
	use := func(v *ir.Value, b *ir.Block) {
		if v.Block != nil && !e.inline[v.ID] && v.Op != ir.OpBlockParam {
			in, at := braces[v.Block], braces[b]
			if len(in) > len(at) || !slices.Equal(in, at[:len(in)]) {
				e.top[v.ID] = true
			}
		}
	}
	for _, b := range order {
		for _, v := range b.Instrs {
			for _, a := range v.Args {
				use(a, b)
			}
		}
		for _, a := range termOperands(b) {
			use(a, b)
		}
	}
	for _, b := range order {
		for _, p := range b.Params {
			if b != own {
				fmt.Fprintf(&e.head, "\t%s %s;\n", e.types.value(p.Type, false), e.name(p))
			}
		}
		for _, v := range b.Instrs {
			switch {
			case v.Op == ir.OpLocal:
				fmt.Fprintf(&e.head, "\t%s %s;\n", e.types.memory(v.Type.Elem), e.name(v))
			case e.top[v.ID]:
				fmt.Fprintf(&e.head, "\t%s %s;\n", e.types.value(v.Type, false), e.name(v))
			}
		}
	}
}

// list writes statements; control is at next behind them.
func (e *emitter) list(list []stmt, next *ir.Block) error {
	for i, x := range list {
		here := next
		if i < len(list)-1 {
			here = nil
		}
		if err := e.stmt(x, here); err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) stmt(x stmt, next *ir.Block) error {
	switch x := x.(type) {
	case *code:
		return e.block(x.b)
	case *copies:
		return e.copies(x.e)
	case jump:
		return e.jump(x.to, true)
	case leave:
		e.line("return;")
	case *call:
		return e.call(x.e)
	case *branch:
		return e.branch(x, next)
	case *loop:
		c := &construct{head: x.head, after: next}
		if cond, body := e.while(x, next); cond != "" {
			return e.construct("while ("+cond+") {", "}", c, body, x.head)
		}
		return e.construct("for (;;) {", "}", c, x.body, x.head)
	case *scope:
		if !x.real {
			return e.list(x.body, x.next)
		}
		return e.construct("do {", "} while (0);", &construct{after: x.next}, x.body, x.next)
	}
	return nil
}

// construct writes a loop or scope, and goes on with the jumps that leave more than
// it.
func (e *emitter) construct(open, end string, c *construct, body []stmt, next *ir.Block) error {
	e.line("%s", open)
	e.around = append(e.around, c)
	e.depth++
	err := e.list(body, next)
	e.depth--
	e.around = e.around[:len(e.around)-1]
	e.line("%s", end)
	if err != nil {
		return err
	}
	for _, to := range c.pending {
		e.line("if (%s) {", e.flag(to))
		e.depth++
		if e.direct(to) != "" {
			e.line("%s = false;", e.flag(to))
		}
		if err := e.jump(to, false); err != nil {
			return err
		}
		e.depth--
		e.line("}")
	}
	return nil
}

// flag is the variable that says that a jump to b is under way.
func (e *emitter) flag(b *ir.Block) string {
	name := fmt.Sprintf("to%d", b.ID)
	if !slices.Contains(e.flags, name) {
		e.flags = append(e.flags, name)
	}
	return name
}

// direct is the statement that jumps to b if one will do.
func (e *emitter) direct(b *ir.Block) string {
	if len(e.around) == 0 {
		return ""
	}
	switch c := e.around[len(e.around)-1]; {
	case c.head == b:
		return "continue;"
	case c.after == b:
		return "break;"
	}
	return ""
}

// jump goes to b, through the constructs around it. set says that the flag of the
// jump is not set yet.
func (e *emitter) jump(b *ir.Block, set bool) error {
	if s := e.direct(b); s != "" {
		e.line("%s", s)
		return nil
	}
	if len(e.around) == 0 {
		return fmt.Errorf("internal: jump to block %d from outside of what it leaves", b.ID)
	}
	c := e.around[len(e.around)-1]
	if !slices.Contains(c.pending, b) {
		c.pending = append(c.pending, b)
	}
	if set {
		e.line("%s = true;", e.flag(b))
	}
	e.line("break;")
	return nil
}

func (e *emitter) branch(x *branch, next *ir.Block) error {
	cond, err := e.expr(x.cond)
	if err != nil {
		return err
	}
	then, els := x.then, x.els
	text := cond.s
	if len(then) == 0 {
		if len(els) == 0 {
			return nil
		}
		then, els = els, nil
		text = "!" + cond.operand()
	}
	if len(els) > 0 && !ends(then) && ends(els) {
		then, els = els, then
		text = "!" + cond.operand()
	}
	e.line("if (%s) {", text)
	if err := e.indented(then, next); err != nil {
		return err
	}
	switch {
	case len(els) == 0:
		e.line("}")
		return nil
	case ends(then): // what follows needs no braces
		e.line("}")
		return e.list(els, next)
	}
	e.line("} else {")
	err = e.indented(els, next)
	e.line("}")
	return err
}

func (e *emitter) indented(list []stmt, next *ir.Block) error {
	e.depth++
	defer func() { e.depth-- }()
	return e.list(list, next)
}

// ends reports whether control never comes to the end of list.
func ends(list []stmt) bool {
	if len(list) == 0 {
		return false
	}
	switch x := list[len(list)-1].(type) {
	case jump, leave, *call:
		return true
	case *branch:
		return ends(x.then) && ends(x.els)
	}
	return false
}

// while returns the condition under which a loop goes on and what it does then, if
// that is all there is to the loop.
func (e *emitter) while(x *loop, after *ir.Block) (cond string, body []stmt) {
	if len(x.body) != 2 || after == nil {
		return "", nil
	}
	head, isCode := x.body[0].(*code)
	br, isBranch := x.body[1].(*branch)
	if !isCode || !isBranch || slices.ContainsFunc(head.b.Instrs, func(v *ir.Value) bool { return e.written(v) }) {
		return "", nil
	}
	out := func(list []stmt) bool {
		if len(list) != 1 {
			return false
		}
		j, ok := list[0].(jump)
		return ok && j.to == after
	}
	before := e.body.Len()
	c, err := e.expr(br.cond)
	if err != nil || e.body.Len() != before {
		return "", nil // too long for a condition; it has a name now
	}
	switch {
	case out(br.els):
		return c.s, br.then
	case out(br.then):
		return "!" + c.operand(), br.els
	}
	return "", nil
}

// written reports whether v gets a statement of its own in its block.
func (e *emitter) written(v *ir.Value) bool {
	switch {
	case e.inline[v.ID], v.Op == ir.OpLocal, v.Op == ir.OpShared, v.Op == ir.OpConst, v.Op == ir.OpWarpSize:
		return false
	}
	return v.Op.Info().NoValue || e.uses[v.ID] > 0 || !v.Op.Pure() && v.Op != ir.OpLoad
}

// block writes the instructions of a block that are not written elsewhere.
func (e *emitter) block(b *ir.Block) error {
	for _, v := range b.Instrs {
		if !e.written(v) {
			continue
		}
		e.pos = v.Pos
		if err := e.instr(v); err != nil {
			return e.at(v.Pos, err)
		}
	}
	e.pos = b.Term.Pos
	return nil
}

func (e *emitter) instr(v *ir.Value) error {
	switch {
	case v.Op == ir.OpStore:
		p, err := e.place(v.Args[0])
		if err != nil {
			return err
		}
		x, err := e.whole(v.Args[1])
		e.line("%s = %s;", p, x.s)
		return err
	case v.Op == ir.OpZero:
		p, err := e.place(v.Args[0])
		t := v.Args[0].Type.Elem
		switch {
		case t.Size() == 0:
		case t.IsValue():
			e.line("%s = 0;", p)
		default:
			e.line("%s", strings.NewReplacer("{p}", p, "{t}", e.types.memory(t)).Replace(e.lang.Zero))
		}
		return err
	case v.Op.Info().NoValue:
		x, err := e.compute(v)
		e.line("%s;", x.s)
		return err
	}
	x, err := e.compute(v)
	switch {
	case err != nil:
		return err
	case e.uses[v.ID] == 0:
		e.line("(void)%s;", x.operand())
	case e.top[v.ID]:
		e.line("%s = %s;", e.name(v), x.s)
	default:
		e.line("%s %s = %s;", e.types.value(v.Type, false), e.name(v), x.s)
	}
	return nil
}

// assignment is one of those that an edge makes at the same time.
type assignment struct {
	to    *ir.Value
	from  string
	reads map[*ir.Value]bool
}

// copies gives the parameters of a block their values, in an order in which none
// is overwritten that is still to be read; where there is no such order it goes
// through temporary variables.
func (e *emitter) copies(edge *ir.Edge) error {
	var todo []assignment
	for i, p := range edge.To.Params {
		if edge.Args[i] == p {
			continue
		}
		reads := map[*ir.Value]bool{}
		e.reads(edge.Args[i], reads)
		x, err := e.whole(edge.Args[i])
		if err != nil {
			return err
		}
		todo = append(todo, assignment{p, x.s, reads})
	}
	for len(todo) > 0 {
		i := slices.IndexFunc(todo, func(a assignment) bool {
			return !slices.ContainsFunc(todo, func(b assignment) bool { return b.to != a.to && b.reads[a.to] })
		})
		if i < 0 { // compute one that reads variables, without assigning it yet
			i = slices.IndexFunc(todo, func(a assignment) bool { return a.reads != nil })
			a := &todo[i]
			next := e.name(a.to) + "_next"
			e.line("%s %s = %s;", e.types.value(a.to.Type, false), next, a.from)
			a.from, a.reads = next, nil
			continue
		}
		e.line("%s = %s;", e.name(todo[i].to), todo[i].from)
		todo = slices.Delete(todo, i, i+1)
	}
	return nil
}

// reads collects the variables in the expression of v.
func (e *emitter) reads(v *ir.Value, into map[*ir.Value]bool) {
	if v.Op == ir.OpBlockParam {
		into[v] = true
	}
	if e.inline[v.ID] {
		for _, a := range v.Args {
			e.reads(a, into)
		}
	}
}
