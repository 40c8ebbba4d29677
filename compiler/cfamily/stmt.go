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

// setting is an edge that gives the parameters of a block their values, and the braces
// that it is in.
type setting struct {
	edge *ir.Edge
	path []int
}

// within reports whether braces are the same as others or lie in them.
func within(path, outer []int) bool {
	return len(path) >= len(outer) && slices.Equal(path[:len(outer)], outer)
}

// declare decides which variables stand at the head of the function: parameters of
// blocks and values that are used outside of the braces in which they are first set.
// The parameters of the block own are those of the function itself.
func (e *emitter) declare(tree []stmt, order []*ir.Block, own *ir.Block) {
	braces := map[*ir.Block][]int{}
	sets := map[*ir.Block][]setting{}
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
			case *copies:
				sets[x.e.To] = append(sets[x.e.To], setting{x.e, path})
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
	e.top, e.firsts = make([]bool, e.f.NumValues()), map[*ir.Edge]bool{}
	wide := map[*ir.Block]bool{} // blocks whose parameters are declared at the head
	for b, list := range sets {
		wide[b] = slices.ContainsFunc(list, func(s setting) bool { return !within(s.path, list[0].path) }) ||
			!within(braces[b], list[0].path) || slices.ContainsFunc(b.Params, func(p *ir.Value) bool { return slices.Contains(list[0].edge.Args, p) })
	}
	use := func(v *ir.Value, b *ir.Block) {
		switch {
		case v.Block == nil || e.inline[v.ID]:
		case v.Op == ir.OpBlockParam:
			if list := sets[v.Block]; len(list) == 0 || !within(braces[b], list[0].path) {
				wide[v.Block] = true
			}
		case !within(braces[b], braces[v.Block]):
			e.top[v.ID] = true
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
		if list := sets[b]; len(list) > 0 && !wide[b] {
			e.firsts[list[0].edge] = true
		}
		for _, p := range b.Params {
			if !wide[b] && len(sets[b]) > 0 {
				break
			}
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
		if x.head.Unroll.Times == 1 {
			e.line("#pragma unroll 1")
		}
		cond, body, behind := e.while(x, next)
		if cond == "" {
			return e.construct("for (;;) {", "}", c, x.body, x.head)
		}
		if err := e.construct("while ("+cond+") {", "}", c, body, x.head); err != nil {
			return err
		}
		return e.list(behind, next)
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

// flag is the variable that says that a jump to b is pending.
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
	if err != nil || len(x.then)+len(x.els) == 0 {
		return err
	}
	return e.arms("if", cond, x, next)
}

// arms writes a branch that begins with a word.
func (e *emitter) arms(word string, cond text, x *branch, next *ir.Block) error {
	then, els := x.then, x.els
	text := cond.s
	if len(then) == 0 {
		then, els = els, nil
		text = "!" + cond.operand()
	}
	if len(els) > 0 && !ends(then) && ends(els) {
		then, els = els, then
		text = "!" + cond.operand()
	}
	e.line("%s (%s) {", word, text)
	if err := e.indented(then, next); err != nil {
		return err
	}
	switch {
	case len(els) == 0:
		e.line("}")
		return nil
	case ends(then) && word == "if": // what follows needs no braces
		e.line("}")
		return e.list(els, next)
	}
	if inner, cond := e.only(els); inner != nil {
		return e.arms("} else if", cond, inner, next)
	}
	e.line("} else {")
	err := e.indented(els, next)
	e.line("}")
	return err
}

// only returns the branch that is all there is in a list, with its condition, nil if
// there is more.
func (e *emitter) only(list []stmt) (*branch, text) {
	for len(list) > 1 {
		first, ok := list[0].(*code)
		if !ok || slices.ContainsFunc(first.b.Instrs, e.written) {
			return nil, text{}
		}
		list = list[1:]
	}
	x, ok := list[0].(*branch)
	if !ok || len(x.then)+len(x.els) == 0 {
		return nil, text{}
	}
	body, inline := e.body, slices.Clone(e.inline)
	e.body = new(strings.Builder)
	cond, err := e.expr(x.cond)
	alone := err == nil && e.body.Len() == 0
	e.body = body
	if !alone { // statements would have to come first
		e.inline = inline
		return nil, text{}
	}
	return x, cond
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

// while returns the condition under which a loop goes on, what it does then, and what
// follows it, if the condition is all that it begins with.
func (e *emitter) while(x *loop, after *ir.Block) (cond string, body, behind []stmt) {
	if len(x.body) != 2 {
		return "", nil, nil
	}
	head, isCode := x.body[0].(*code)
	br, isBranch := x.body[1].(*branch)
	if !isCode || !isBranch || slices.ContainsFunc(head.b.Instrs, func(v *ir.Value) bool { return e.written(v) }) {
		return "", nil, nil
	}
	out := func(list []stmt) bool {
		if len(list) != 1 {
			return false
		}
		j, ok := list[0].(jump)
		return ok && after != nil && j.to == after
	}
	// What ends the loop may follow it if nothing else does.
	last := func(list, body []stmt) bool { return e.follows(list, after) && stays(body, x.head) }
	var negated bool
	switch {
	case out(br.els):
		body = br.then
	case out(br.then):
		body, negated = br.els, true
	case last(br.els, br.then):
		body, behind = br.then, fallThrough(br.els, after)
	case last(br.then, br.els):
		body, behind, negated = br.els, fallThrough(br.then, after), true
	default:
		return "", nil, nil
	}
	before := e.body.Len()
	c, err := e.expr(br.cond)
	switch {
	case err != nil || e.body.Len() != before: // too long for a condition; it has a name now
		return "", nil, nil
	case negated:
		return "!" + c.operand(), body, behind
	}
	return c.s, body, behind
}

// follows reports whether a list that ends a loop can stand behind it, where after comes
// next: it jumps at its end only, and to where one statement leads.
func (e *emitter) follows(list []stmt, after *ir.Block) bool {
	if len(list) == 0 || jumps(list[:len(list)-1], func(*ir.Block) bool { return true }) {
		return false
	}
	switch x := list[len(list)-1].(type) {
	case leave:
		return true
	case jump:
		return after != nil && x.to == after || e.direct(x.to) != ""
	}
	return false
}

// fallThrough returns a list without a jump at its end to what comes next.
func fallThrough(list []stmt, after *ir.Block) []stmt {
	if j, ok := list[len(list)-1].(jump); ok && after != nil && j.to == after {
		return list[:len(list)-1]
	}
	return list
}

// stays reports whether a list leaves the loop of head nowhere: all of its jumps are to
// there, or to what it holds itself.
func stays(list []stmt, head *ir.Block) bool {
	inside := map[*ir.Block]bool{head: true}
	walk(list, func(x stmt) {
		switch x := x.(type) {
		case *loop:
			inside[x.head] = true
		case *scope:
			inside[x.next] = true
		}
	})
	return !jumps(list, func(to *ir.Block) bool { return !inside[to] })
}

// jumps reports whether a list has a jump to a block that matches.
func jumps(list []stmt, match func(*ir.Block) bool) bool {
	found := false
	walk(list, func(x stmt) {
		if j, ok := x.(jump); ok && match(j.to) {
			found = true
		}
	})
	return found
}

// walk calls visit for all statements of a list, and of those in them.
func walk(list []stmt, visit func(stmt)) {
	for _, x := range list {
		visit(x)
		switch x := x.(type) {
		case *branch:
			walk(x.then, visit)
			walk(x.els, visit)
		case *loop:
			walk(x.body, visit)
		case *scope:
			walk(x.body, visit)
		}
	}
}

// written reports whether v gets a statement of its own in its block.
func (e *emitter) written(v *ir.Value) bool {
	switch {
	case e.inline[v.ID], v.Op == ir.OpLocal, v.Op == ir.OpShared, v.Op == ir.OpTable, v.Op == ir.OpConst, v.Op == ir.OpWarpSize:
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
			return e.m.At(v.Pos, err)
		}
	}
	e.pos = b.Term.Pos
	return nil
}

// instr writes v, between fences if it is an atomic operation with an order that its row
// does not write.
func (e *emitter) instr(v *ir.Value) error {
	if !v.Op.IsAtomic() || v.Order() == ir.Relaxed || e.lang.ordered(v) {
		return e.statement(v)
	}
	fence := &ir.Value{Op: ir.OpFence, Type: ir.Void}
	if v.Scope() == ir.BlockScope {
		fence.Op = ir.OpFenceBlock
	}
	if v.Order()&ir.Release != 0 {
		if err := e.statement(fence); err != nil {
			return err
		}
	}
	err := e.statement(v)
	if err == nil && v.Order()&ir.Acquire != 0 {
		err = e.statement(fence)
	}
	return err
}

func (e *emitter) statement(v *ir.Value) error {
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
	typed := func(p *ir.Value) string {
		if e.firsts[edge] {
			return e.types.value(p.Type, false) + " "
		}
		return ""
	}
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
		e.line("%s%s = %s;", typed(todo[i].to), e.name(todo[i].to), todo[i].from)
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
