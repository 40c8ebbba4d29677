package amd64

import "github.com/gokiln/kiln/compiler/ir"

// kind says how a value differs between lanes.
type kind uint8

const (
	unknown kind = iota // nothing is known yet
	uniform             // the same in all active lanes
	affine              // base + lane*step, in 64 bits
	varying             // anything
)

// shape is what is known of a value's lanes.
type shape struct {
	kind kind
	step int64 // of affine ones: per lane
	// align is a power of two of which the value, of lane 0, is a multiple; 0 and 1
	// say nothing.
	align int64
}

var (
	same = shape{kind: uniform, align: 1}
	vary = shape{kind: varying}
)

// alike reports whether values of the two shapes are kept in the same way.
func (s shape) alike(t shape) bool { return s.kind == t.kind && s.step == t.step }

// join returns the shape of a value that is one of two.
func join(a, b shape) shape {
	switch {
	case a.kind == unknown:
		return b
	case b.kind == unknown:
		return a
	case a.alike(b):
		a.align = min(a.align, b.align)
		return a
	}
	return vary
}

// entry says how control comes to a block.
type entry uint8

const (
	// direct blocks are reached by jumps that all lanes of their class take.
	direct entry = iota
	// joined blocks follow when all lanes of the class have arrived.
	joined
	// tested blocks have lanes of their own, and are skipped if there are none.
	tested
)

// analysis finds the shapes of values and, what depends on them, the lanes with
// which blocks run. Both start at the best and only get worse.
type analysis struct {
	*graph
	general bool    // threads lie in lanes by a table
	wide    int64   // lanes of a vector
	shape   []shape // by value ID
	parted  []bool  // by position: ends in a branch that lanes take differently
	classes int
	changed bool
	blended [][]bool // by position and parameter: lanes come with values of their own
}

func analyse(g *graph, general bool, width int) *analysis {
	a := &analysis{
		graph: g, general: general, wide: int64(width),
		shape:  make([]shape, g.f.NumValues()),
		parted: make([]bool, len(g.blocks)),
	}
	a.blended = make([][]bool, len(g.blocks))
	for i := range g.blocks {
		a.blended[i] = make([]bool, len(g.blocks[i].b.Params))
	}
	for _, p := range g.f.Params {
		a.shape[p.ID] = same
	}
	for a.changed = true; a.changed; {
		a.changed = false
		a.classify()
		for i := range a.blocks {
			a.params(i)
			for _, v := range a.blocks[i].b.Instrs {
				a.raise(v, a.result(v))
			}
			a.branch(i)
		}
	}
	return a
}

func (a *analysis) of(v *ir.Value) shape { return a.shape[v.ID] }

// raise makes the shape of v at least s.
func (a *analysis) raise(v *ir.Value, s shape) {
	if s = join(a.shape[v.ID], s); s != a.shape[v.ID] {
		a.shape[v.ID], a.changed = s, true
	}
}

func (a *analysis) branch(i int) {
	b := a.blocks[i].b
	if b.Term.Kind == ir.TermBranch && a.of(b.Term.Args[0]).kind > uniform && !a.parted[i] {
		a.parted[i], a.changed = true, true
	}
}

// classify gives the blocks their classes. A loop diverges when an edge out of it
// or back to its header is not taken by all lanes at once.
func (a *analysis) classify() {
	for again := true; again; {
		again = false
		a.classes = 0
		for i := range a.blocks {
			a.classOf(i)
		}
		for l := range a.loops {
			if !a.loops[l].diverges && a.leavesApart(&a.loops[l]) {
				a.loops[l].diverges, again, a.changed = true, true, true
			}
		}
	}
}

func (a *analysis) classOf(i int) {
	b := &a.blocks[i]
	if i == 0 {
		b.class, b.entry = a.newClass(), direct
		return
	}
	c, ok := a.onlyClass(b)
	switch {
	case a.divergentHeader(i):
		b.class, b.entry = a.newClass(), tested
		if ok {
			b.entry = direct
		}
		return
	case ok:
		b.class, b.entry = c, direct
		return
	}
	for d := b.idom; d >= 0; d = a.blocks[d].idom {
		if a.together(d, i) {
			b.class, b.entry = a.blocks[d].class, joined
			return
		}
	}
	b.class, b.entry = a.newClass(), tested
}

// divergentHeader reports whether the block at i is the header of a loop that lanes
// leave one by one: it runs with those that are left.
func (a *analysis) divergentHeader(i int) bool {
	l := a.headed(i)
	return l >= 0 && a.loops[l].diverges
}

func (a *analysis) newClass() int {
	a.classes++
	return a.classes - 1
}

// onlyClass returns the class of the blocks before b if all edges to it, other
// than those back to it, are taken by all lanes of one class at once.
func (a *analysis) onlyClass(b *block) (class int, ok bool) {
	class = -1
	for _, in := range b.in {
		if in.from >= b.at {
			continue
		}
		from := &a.blocks[in.from]
		if a.parted[in.from] || class >= 0 && class != from.class || a.leavesDivergent(in.from, b.at) {
			return 0, false
		}
		class = from.class
	}
	return class, true
}

// leavesDivergent reports whether an edge leaves a loop that lanes leave one by
// one.
func (a *analysis) leavesDivergent(from, to int) (yes bool) {
	a.leaves(from, to, func(l *loop) { yes = yes || l.diverges })
	return yes
}

func (a *analysis) leavesApart(l *loop) bool {
	class := a.blocks[l.first].class
	for i := l.first; i <= l.last; i++ {
		for _, e := range a.blocks[i].b.Term.Succs {
			to := a.pos[e.To.ID]
			if (to == l.first || !l.has(to)) && (a.parted[i] || a.blocks[i].class != class) {
				return true
			}
		}
		// Lanes that end inside the loop leave it, too.
		if a.blocks[i].b.Term.Kind == ir.TermReturn && a.blocks[i].class != class {
			return true
		}
	}
	return false
}

// params raises the parameters of the block at i to what its edges pass.
func (a *analysis) params(i int) {
	b := &a.blocks[i]
	for p, v := range b.b.Params {
		blend := a.blends(b, p)
		a.blended[i][p] = blend
		if blend {
			a.raise(v, vary)
			continue
		}
		for _, in := range b.in {
			a.raise(v, a.of(a.edge(in).Args[p]))
		}
	}
}

// blends reports whether lanes bring values of their own to parameter p of b: when
// they arrive at different times.
func (a *analysis) blends(b *block, p int) bool {
	var one *ir.Value
	equal, at := true, b.at
	forward, back := 0, 0
	for _, in := range b.in {
		v := a.edge(in).Args[p]
		if one != nil && v != one {
			equal = false
		}
		one = v
		if in.from >= at {
			back++
		} else {
			forward++
		}
		if a.leavesDivergent(in.from, at) && a.definedInLeft(v, in.from, at) {
			return true
		}
	}
	if equal {
		return false
	}
	if a.divergentHeader(at) {
		return forward > 1 && !a.uniformEntries(b) || back > 1
	}
	if b.entry == direct {
		return false
	}
	if b.entry == joined && a.uniformEntries(b) {
		return false
	}
	return len(b.in) > 1
}

// uniformEntries reports whether one class of lanes takes any of the forward edges
// to b at once.
func (a *analysis) uniformEntries(b *block) bool {
	_, ok := a.onlyClass(b)
	return ok
}

// definedInLeft reports whether v is defined in a divergent loop that the edge
// leaves.
func (a *analysis) definedInLeft(v *ir.Value, from, to int) (yes bool) {
	if v.Block == nil || v.Op == ir.OpConst {
		return false
	}
	at := a.pos[v.Block.ID]
	a.leaves(from, to, func(l *loop) { yes = yes || l.diverges && l.has(at) })
	return yes
}
