package gen

import (
	"fmt"
	"strings"
)

// statements writes statements until the budget is used up.
func (g *gen) statements() {
	for g.budget > 0 {
		g.budget--
		g.statement()
	}
}

// block writes a nested block of a few statements without its braces. What it
// declares goes out of scope; in the kernel it is folded into the result first.
func (g *gen) block() {
	nv, nc := len(g.vars), len(g.closures)
	g.indent++
	g.depth++
	n := max(1, min(1+g.r.IntN(4), g.budget))
	g.budget = max(0, g.budget-n)
	outer := g.budget
	g.budget = n
	g.statements()
	g.budget = outer
	g.fold(nv)
	g.depth--
	g.indent--
	g.vars, g.closures = g.vars[:nv], g.closures[:nc]
}

// fold mixes variables declared since from into the kernel's result.
func (g *gen) fold(from int) {
	if !g.kernel {
		return
	}
	for range 3 {
		t := g.draw(scalars)
		v := g.find(func(v variable) bool { return v.t.has(t) })
		if v == nil {
			continue
		}
		for i := from; i < len(g.vars); i++ {
			if g.vars[i].name == v.name {
				g.line("acc = acc*31 + %s", mix(t, g.path(v.name, v.t, t, 1)))
				break
			}
		}
	}
}

// mix converts a scalar to uint64 so that all its bits count.
func mix(t *typ, text string) string {
	switch t {
	case boolT:
		return fmt.Sprintf("b2u(%s)", text)
	case f32:
		return fmt.Sprintf("uint64(bits32(%s))", text)
	case f64:
		return fmt.Sprintf("bits64(%s)", text)
	}
	return fmt.Sprintf("uint64(%s)", text)
}

func (g *gen) statement() {
	if g.depth > 4 {
		g.simple()
		return
	}
	if g.uni && g.kernel && g.one(3) {
		g.together()
		return
	}
	switch g.r.IntN(24) {
	case 0, 1, 2:
		g.ifStmt()
	case 3, 4:
		g.forStmt()
	case 5:
		g.switchStmt()
	case 6:
		g.leave()
	case 7:
		g.closure()
	case 8, 9:
		g.callStmt()
	case 10:
		g.pointerDecl()
	case 11:
		g.sliceDecl()
	case 12:
		g.atomic()
	case 13:
		g.line("{")
		g.shadowed()
		g.line("}")
	default:
		g.simple()
	}
}

// declare writes the declaration of a variable and brings it into scope.
func (g *gen) declare(v variable, format string, args ...any) {
	g.line(format, args...)
	g.line("_ = %s", v.name)
	g.vars = append(g.vars, v)
}

// simple writes a declaration or an assignment.
func (g *gen) simple() {
	switch g.r.IntN(10) {
	case 0, 1, 2:
		g.declaration()
	case 3:
		g.tuple()
	case 4:
		g.wholeAssign()
	case 5:
		g.byPointer()
	default:
		g.assign()
	}
}

func (g *gen) declaration() {
	t := g.valueType()
	if g.one(3) {
		t = g.arrayType()
	}
	name := g.name("v")
	v := variable{name: name, t: t, mut: true}
	switch {
	case g.one(4):
		g.declare(v, "var %s %s", name, t)
	case g.one(3):
		g.declare(v, "var %s %s = %s", name, t, g.value(t))
	default:
		g.declare(v, "%s := %s", name, g.value(t))
	}
}

// shadowed writes a block that declares a name again.
func (g *gen) shadowed() {
	v := g.find(func(v variable) bool { return v.t.kind == scalar && v.name != "id" })
	nv := len(g.vars)
	if v != nil {
		t := g.draw(scalars)
		g.line("\t%s := %s", v.name, g.expr(t, 2))
		g.line("\t_ = %s", v.name)
		g.vars = append(g.vars, variable{name: v.name, t: t, mut: true})
	}
	g.block()
	if v != nil && g.kernel {
		g.indent++
		g.fold(nv)
		g.indent--
	}
	g.vars = g.vars[:nv]
}

// target draws something of scalar type to assign to.
func (g *gen) target(t *typ) (string, bool) {
	v := g.find(func(v variable) bool { return v.t.has(t) && g.writable(v) })
	if v == nil {
		return "", false
	}
	return g.path(v.name, v.t, t, 2), true
}

func (g *gen) assign() {
	for range 10 {
		t := g.draw(scalars)
		to, ok := g.target(t)
		if !ok {
			continue
		}
		switch n := g.r.IntN(8); {
		case t == boolT || n < 4:
			g.line("%s = %s", to, g.operand(t, 3))
		case n == 4:
			g.line("%s%s", to, pick(g, []string{"++", "--"}))
		case t.integer() && n == 5:
			op := pick(g, []string{"/", "%", "<<", ">>"})
			if op[0] == '/' || op[0] == '%' {
				g.line("%s %s= %s", to, op, g.divisor(t, 2))
			} else {
				g.line("%s %s= %s", to, op, g.count(2))
			}
		case t.integer():
			g.line("%s %s= %s", to, pick(g, []string{"+", "-", "*", "&", "|", "^", "&^"}), g.operand(t, 3))
		default:
			g.line("%s %s= %s", to, pick(g, []string{"+", "-", "*", "/"}), g.operand(t, 3))
		}
		return
	}
	g.declaration()
}

// tuple assigns to two places at once, in Go's two phases.
func (g *gen) tuple() {
	t, u := g.draw(numbers), g.draw(numbers)
	if g.one(2) {
		u = t
	}
	a, ok1 := g.target(t)
	b, ok2 := g.target(u)
	if !ok1 || !ok2 {
		g.assign()
		return
	}
	if t == u && g.one(2) {
		g.line("%s, %s = %s, %s", a, b, b, a)
		return
	}
	g.line("%s, %s = %s, %s", a, b, g.expr(t, 2), g.expr(u, 2))
}

// byPointer writes through a pointer parameter, or moves a slice on.
func (g *gen) byPointer() {
	if v := g.find(func(v variable) bool { return v.moves }); v != nil && g.one(2) {
		g.line("if len(%s) > %d && %s {", v.name, 1+g.r.IntN(2), g.expr(boolT, 2))
		g.line("\t%s = %s[1:]", v.name, v.name)
		g.line("}")
		return
	}
	t := g.draw(scalars)
	a, ok1 := g.target(t)
	b, ok2 := g.target(t)
	if !ok1 || !ok2 || a[0] == '*' || b[0] == '*' {
		g.assign()
		return
	}
	if g.one(2) {
		g.line("swap(&%s, &%s)", a, b)
		return
	}
	g.line("put(&%s, %s)", a, g.expr(t, 2))
}

// wholeAssign assigns a struct or an array.
func (g *gen) wholeAssign() {
	v := g.find(func(v variable) bool {
		return g.writable(v) && (v.t.kind == array || v.t.kind == structure || v.t.kind == pointer)
	})
	switch {
	case v == nil:
		g.declaration()
	case v.t.kind == pointer:
		g.line("*%s = %s", v.name, g.value(v.t.elem))
	case v.t.kind == array && v.t.elem.kind != scalar && g.one(2):
		g.line("%s[%s] = %s", v.name, g.index(v.name, v.t, 2), g.value(v.t.elem))
	default:
		g.line("%s = %s", v.name, g.value(v.t))
	}
}

// branch runs fn with control flow that threads may not share.
func (g *gen) branch(fn func()) {
	uni := g.uni
	g.uni = false
	fn()
	g.uni = uni
}

func (g *gen) ifStmt() {
	g.branch(func() {
		nv := len(g.vars)
		if g.one(5) {
			name, t := g.name("c"), g.draw(numbers)
			e := g.expr(t, 2)
			g.vars = append(g.vars, variable{name: name, t: t, mut: true})
			g.line("if %s := %s; (%s %s %s) {", name, e, name, pick(g, []string{"<", "!=", ">="}), g.operand(t, 2))
		} else {
			g.line("if %s {", g.expr(boolT, 3))
		}
		g.block()
		for g.one(4) {
			g.line("} else if %s {", g.expr(boolT, 2))
			g.block()
		}
		if g.one(2) {
			g.line("} else {")
			g.block()
		}
		g.line("}")
		g.vars = g.vars[:nv]
	})
}

// trips draws a number of iterations that keeps the running time bounded.
func (g *gen) trips() int {
	most := max(1, min(20, 200/g.weight))
	return 1 + g.r.IntN(most)
}

// forStmt writes a loop of one of many forms; threads may leave it one by one.
func (g *gen) forStmt() {
	g.branch(func() { g.loop(false) })
}

// loop writes a loop. A uniform one has the same trips in all threads.
func (g *gen) loop(uniform bool) {
	l := &loop{label: g.name("l"), uni: uniform}
	n := g.trips()
	saved, weight, nv := g.out, g.weight, len(g.vars)
	var text strings.Builder
	g.out = &text
	g.weight *= n
	g.loops = append(g.loops, l)
	form := g.r.IntN(8)
	if uniform {
		form = g.r.IntN(3)
	}
	switch form {
	case 0:
		g.rangeInt(fmt.Sprint(n))
	case 1:
		g.counted(n, uniform)
	case 2:
		g.line("for range %d {", n)
		g.block()
		g.line("}")
	case 3:
		g.rangeInt(fmt.Sprintf("int(uint(%s)%%%d)", g.expr(pick(g, ints), 2), n+1))
	case 4, 5:
		g.rangeOver()
	default:
		g.while(n)
	}
	g.loops = g.loops[:len(g.loops)-1]
	g.out, g.weight, g.vars = saved, weight, g.vars[:nv]
	if l.used {
		g.line("%s:", l.label)
	}
	g.out.WriteString(text.String())
}

func (g *gen) rangeInt(n string) {
	name := g.name("i")
	g.line("for %s := range %s {", name, n)
	g.line("\t_ = %s", name)
	g.vars = append(g.vars, variable{name: name, t: intT, uni: g.uni})
	g.block()
	g.line("}")
}

// counted writes a three-clause loop over some integer type.
func (g *gen) counted(n int, uniform bool) {
	t := pick(g, ints)
	name := g.name("i")
	step := 1 + g.r.IntN(3)
	n = min(n, 30)
	// The body may move the counter on, and a function literal may capture it:
	// each iteration has its own.
	mut := !uniform && g.one(3)
	switch {
	case g.one(3) && t.signed:
		g.line("for %s := %s(%d); %s > 0; %s -= %d {", name, t, n*step, name, name, step)
		mut = false
	case g.one(2):
		g.line("for %s := %s(%d); %s < %d; %s += %d {", name, t, g.r.IntN(4), name, 4+n*step, name, step)
	default:
		g.line("for %s := %s(0); %s != %d; %s++ {", name, t, name, n, name)
		mut = false
	}
	g.vars = append(g.vars, variable{name: name, t: t, uni: uniform})
	if mut && g.one(2) {
		g.line("\tif %s {\n%s\t\t%s++\n%s\t}", g.expr(boolT, 2), strings.Repeat("\t", g.indent), name, strings.Repeat("\t", g.indent))
	}
	g.block()
	g.line("}")
}

// rangeOver ranges over an array, which is copied, or over a slice.
func (g *gen) rangeOver() {
	v := g.find(func(v variable) bool {
		return v.t.kind == array && v.t.elem.kind == scalar || v.t.kind == slice && v.t.n > 0
	})
	if v == nil || g.weight*v.t.n > 400 {
		g.while(3)
		return
	}
	g.weight *= v.t.n
	over := v.name
	if v.t.kind == array && g.one(3) {
		over = pick(g, []string{over + "[:]", "&" + over})
	}
	i, e := g.name("i"), g.name("e")
	if g.one(4) {
		g.line("for _, %s := range %s {", e, over)
	} else {
		g.line("for %s, %s := range %s {", i, e, over)
		g.line("\t_ = %s", i)
		g.vars = append(g.vars, variable{name: i, t: intT})
	}
	g.line("\t_ = %s", e)
	g.vars = append(g.vars, variable{name: e, t: v.t.elem, mut: true})
	g.block()
	g.line("}")
}

// while writes a loop with a condition, or none and a break; fuel ends it.
func (g *gen) while(n int) {
	fuel := g.name("n")
	g.line("%s := 0", fuel)
	g.vars = append(g.vars, variable{name: fuel, t: intT})
	// A label must stand right before its for: none here.
	g.loops[len(g.loops)-1].label = ""
	if g.one(2) {
		g.line("for %s < %d && %s {", fuel, n, g.expr(boolT, 2))
		g.line("\t%s++", fuel)
	} else {
		g.line("for {")
		g.line("\tif %s++; %s > %d {\n%s\t\tbreak\n%s\t}", fuel, fuel, n, strings.Repeat("\t", g.indent), strings.Repeat("\t", g.indent))
	}
	g.block()
	g.line("}")
}

// leave breaks, continues or returns under a condition.
func (g *gen) leave() {
	var words []string
	for i, l := range g.loops {
		if l.uni {
			continue
		}
		inner := true
		for _, m := range g.loops[i+1:] {
			inner = inner && !m.uni
		}
		switch {
		case !inner:
		case l.label != "":
			words = append(words, "break "+l.label, "continue "+l.label)
		case i == len(g.loops)-1:
			words = append(words, "continue")
		}
	}
	if !g.uni && g.results != nil {
		words = append(words, strings.TrimSpace("return "+g.values(g.results)))
	}
	if len(words) == 0 || g.uni {
		g.simple()
		return
	}
	w := pick(g, words)
	for _, l := range g.loops {
		if l.label != "" && strings.HasSuffix(w, " "+l.label) {
			l.used = true
		}
	}
	g.line("if %s {", g.expr(boolT, 2))
	if strings.HasPrefix(w, "return") && g.kernel {
		g.line("\tresult[%d] += acc", g.r.IntN(words64))
	}
	g.line("\t%s", w)
	g.line("}")
}

func (g *gen) switchStmt() {
	g.branch(func() {
		n := 1 + g.r.IntN(4)
		fallAt := -1
		if g.one(3) {
			fallAt = g.r.IntN(n)
		}
		heads := make([]string, n)
		if g.one(2) {
			t := pick(g, ints)
			g.line("switch %s %% 5 {", g.expr(t, 2))
			for i := range heads {
				heads[i] = fmt.Sprintf("case %d", i)
				if g.one(4) {
					heads[i] += fmt.Sprintf(", %d", i+10)
				}
			}
		} else {
			g.line("switch {")
			for i := range heads {
				heads[i] = "case " + g.expr(boolT, 2)
			}
		}
		if g.one(2) {
			heads[g.r.IntN(n)] = "default"
		}
		for i, h := range heads {
			g.line("%s:", h)
			g.block()
			switch {
			case i == fallAt && i < n-1:
				g.line("\tfallthrough")
			case g.one(8):
				g.line("\tif %s {\n%s\t\tbreak\n%s\t}", g.expr(boolT, 2), strings.Repeat("\t", g.indent), strings.Repeat("\t", g.indent))
				g.simpleIn()
			}
		}
		g.line("}")
	})
}

// simpleIn writes one statement in a block of its own.
func (g *gen) simpleIn() {
	nv := len(g.vars)
	g.indent++
	g.simple()
	g.indent--
	g.vars = g.vars[:nv]
}

// closure declares a function literal and calls it.
func (g *gen) closure() {
	f := function{name: g.name("f"), pure: g.one(2), frozen: len(g.vars)}
	name := f.name
	var params []string
	nv, frozen, captured := len(g.vars), g.frozen, g.captured
	g.captured = nv
	hidden := g.closures
	weight := g.weight
	f.params, f.results = g.shapeOfClosure()
	for _, t := range f.params {
		p := g.name("p")
		params = append(params, p+" "+t.String())
		g.vars = append(g.vars, variable{name: p, t: t, mut: true})
	}
	if f.pure {
		g.frozen = nv
		g.closures = nil
		for _, c := range hidden {
			if c.pure {
				g.closures = append(g.closures, c)
			}
		}
	}
	g.line("%s := func(%s) (%s) {", name, strings.Join(params, ", "), joinTypes(f.results))
	depth := g.depth
	g.depth += 2
	g.weight *= 3
	g.body(f.results, 1+g.r.IntN(4))
	g.depth, g.weight = depth, weight
	g.line("}")
	g.vars, g.frozen, g.captured, g.closures = g.vars[:nv], frozen, captured, hidden
	g.call(f)
	g.closures = append(g.closures[:len(g.closures):len(g.closures)], f)
}

// shapeOfClosure draws parameters and results, often such as twice takes.
func (g *gen) shapeOfClosure() (params, results []*typ) {
	if g.one(3) {
		t := g.draw(scalars)
		return []*typ{t}, []*typ{t}
	}
	for range g.r.IntN(3) {
		params = append(params, g.valueType())
	}
	for range 1 + g.r.IntN(2) {
		results = append(results, g.valueType())
	}
	return params, results
}

// callStmt calls any function, whose results become variables. Only here are
// functions called that change something: in an expression the order of that
// and of reading variables would be open.
func (g *gen) callStmt() {
	var list []function
	for _, f := range g.callable() {
		if g.canPass(f) {
			list = append(list, f)
		}
	}
	if len(list) == 0 || g.weight > 60 {
		g.simple()
		return
	}
	g.call(pick(g, list))
}

func (g *gen) call(f function) {
	call := g.callText(f, 2)
	var names []string
	var vars []variable
	for _, t := range f.results {
		if g.one(8) && len(f.results) > 1 && len(vars) > 0 {
			names = append(names, "_")
			continue
		}
		v := variable{name: g.name("v"), t: t, mut: true}
		names, vars = append(names, v.name), append(vars, v)
	}
	g.line("%s := %s", strings.Join(names, ", "), call)
	for _, v := range vars {
		g.line("_ = %s", v.name)
	}
	g.vars = append(g.vars, vars...)
}

// pointerDecl points at a variable or at an element of an array.
func (g *gen) pointerDecl() {
	v := g.find(func(v variable) bool {
		return g.writable(v) && (v.t.kind == array || v.t.kind == structure || v.t.kind == scalar)
	})
	if v == nil {
		g.simple()
		return
	}
	name := g.name("q")
	if v.t.kind == array && g.one(2) {
		g.declare(variable{name: name, t: &typ{kind: pointer, elem: v.t.elem}, mut: true},
			"%s := &%s[%s]", name, v.name, g.index(v.name, v.t, 2))
		return
	}
	g.declare(variable{name: name, t: &typ{kind: pointer, elem: v.t}, mut: true}, "%s := &%s", name, v.name)
}

// sliceDecl re-slices a slice, or slices an array. The result is not empty.
func (g *gen) sliceDecl() {
	v := g.find(func(v variable) bool {
		return v.t.kind == slice || v.t.kind == array && v.t.elem.kind == scalar && v.t.elem != boolT && g.writable(v)
	})
	if v == nil {
		g.simple()
		return
	}
	name := g.name("w")
	t := &typ{kind: slice, elem: v.t.elem}
	nv := variable{name: name, t: t, mut: g.writable(*v)}
	if g.one(3) {
		nv.moves = true
		g.declare(nv, "%s := %s[%d:]", name, v.name, g.r.IntN(max(1, v.t.n)))
		return
	}
	switch {
	case v.t.n > 1 && g.one(2):
		lo := g.r.IntN(v.t.n)
		t.n = 1 + g.r.IntN(v.t.n-lo)
		g.declare(nv, "%s := %s[%d:%d]", name, v.name, lo, lo+t.n)
	case g.one(3):
		lo := g.name("k")
		g.declare(variable{name: lo, t: intT}, "%s := int(uint(%s) %% uint(len(%s)))", lo, g.expr(pick(g, ints), 2), v.name)
		g.declare(nv, "%s := %s[%s:min(%s+%d, len(%s))]", name, v.name, lo, lo, 1+g.r.IntN(5), v.name)
	case g.one(2):
		g.declare(nv, "%s := %s[uint(%s)%%uint(len(%s)):]", name, v.name, g.expr(pick(g, ints), 2), v.name)
	default:
		g.declare(nv, "%s := %s[:1+uint(%s)%%uint(len(%s))]", name, v.name, g.expr(pick(g, ints), 2), v.name)
	}
}

// atomic adds to global memory, by operations whose order does not matter.
func (g *gen) atomic() {
	if !g.kernel {
		g.simple()
		return
	}
	if len(g.halves) > 0 && g.one(2) {
		v := g.halves[0]
		g.line("%s[id*4+%d] = dsl.To[%s](%s)", v.name, g.r.IntN(4), v.t, g.expr(f32, 3))
		return
	}
	at := &typ{kind: array, n: 8, elem: intT}
	switch i := g.index("add", at, 2); g.r.IntN(3) {
	case 0:
		g.line("dsl.AtomicAdd(&add[%s], %s)", i, g.operand(i32, 2))
	case 1:
		g.line("dsl.AtomicMax(&most[%s], %s)", i, g.operand(g.widest(), 2))
	default:
		g.line("dsl.AtomicXor(&flip[%s], %s)", i, g.operand(u32, 2))
	}
}
