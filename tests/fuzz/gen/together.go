package gen

import "fmt"

// together writes what the threads of a block or warp do together. It is called
// only where all of them come by.
func (g *gen) together() {
	switch g.r.IntN(10) {
	case 0, 1:
		g.exchange()
	case 2, 3:
		g.shuffle()
	case 4:
		g.vote()
	case 5:
		g.reduce()
	case 6, 7:
		if g.depth < 3 && g.weight < 30 {
			g.loop(true)
		}
	case 8:
		g.uniformIf()
	default:
		g.line("t.Sync%s()", pick(g, []string{"", "Warp"}))
	}
}

// exchange writes to shared memory and reads what another thread wrote.
func (g *gen) exchange() {
	t := g.draw(scalars)
	sh := g.name("sh")
	v := variable{name: g.name("v"), t: t, mut: true}
	if g.one(3) { // two dimensions, with padding
		g.line("%s := dsl.Shared[[%d][5]%s](t)", sh, g.threads/4, t)
		at := &typ{kind: array, n: g.threads / 4}
		g.line("%s[t.ThreadIndex()/4][t.ThreadIndex()%%4] = %s", sh, g.operand(t, 3))
		g.line("t.Sync()")
		g.declare(v, "%s := %s[%s][%s]", v.name, sh, g.index(sh, at, 2), g.index(sh, &typ{kind: array, n: 4}, 2))
	} else {
		g.line("%s := dsl.Shared[[%d]%s](t)", sh, g.threads+g.r.IntN(3), t)
		if g.one(3) {
			g.line("put(&%s[t.ThreadIndex()], %s)", sh, g.expr(t, 3))
		} else {
			g.line("%s[t.ThreadIndex()] = %s", sh, g.operand(t, 3))
		}
		g.line("t.Sync()")
		if t != boolT && g.one(3) {
			sum := variable{name: g.name("v"), t: t, mut: true}
			g.declare(sum, "%s := total(%s[%d:%d])", sum.name, sh, g.r.IntN(20), 20+g.r.IntN(12))
		}
		g.declare(v, "%s := %s[%s]", v.name, sh, g.index(sh, &typ{kind: array, n: g.threads}, 2))
	}
	g.line("t.Sync()")
}

func (g *gen) shuffle() {
	t := g.draw(numbers)
	v := variable{name: g.name("v"), t: t, mut: true}
	e := g.expr(t, 2)
	switch g.r.IntN(4) {
	case 0:
		g.declare(v, "%s := dsl.Shuffle(t, %s, %s)", v.name, e, g.expr(intT, 2))
	case 1:
		g.declare(v, "%s := dsl.ShuffleXor(t, %s, %d)", v.name, e, g.r.IntN(40))
	default:
		g.declare(v, "%s := dsl.Shuffle%s(t, %s, %d)", v.name, pick(g, []string{"Up", "Down"}), e, g.r.IntN(40))
	}
}

func (g *gen) vote() {
	e := g.expr(boolT, 3)
	if g.one(2) {
		v := variable{name: g.name("v"), t: u64, mut: true}
		g.declare(v, "%s := dsl.Ballot(t, %s)", v.name, e)
		return
	}
	v := variable{name: g.name("v"), t: boolT, mut: true}
	g.declare(v, "%s := dsl.%s(t, %s)", v.name, pick(g, []string{"Any", "All"}), e)
}

func (g *gen) reduce() {
	t := g.draw(words)
	v := variable{name: g.name("v"), t: t, mut: true}
	names := []string{"Sum", "Max", "Min", "ScanSum", "ScanExclusive"}
	of := pick(g, []string{"Warp", "Warp", "Block"})
	if of == "Warp" && t.integer() {
		names = append(names, "And", "Or", "Xor")
	}
	g.declare(v, "%s := dsl.%s%s(t, %s)", v.name, of, pick(g, names), g.expr(t, 2))
}

// uniformIf branches on what is the same in all threads.
func (g *gen) uniformIf() {
	v := g.find(func(v variable) bool { return v.uni && v.t.kind == scalar })
	cond := "t.BlockX() == 0"
	switch {
	case v == nil:
	case v.t == boolT:
		cond = v.name
	default:
		cond = fmt.Sprintf("%s > %s", v.name, g.constant(v.t))
	}
	g.line("if %s {", cond)
	g.block()
	if g.one(2) {
		g.line("} else {")
		g.block()
	}
	g.line("}")
}
