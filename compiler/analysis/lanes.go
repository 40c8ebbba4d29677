package analysis

import "github.com/gokiln/kiln/compiler/ir"

// LaneKind says how a value differs between lanes.
type LaneKind uint8

// How values differ, from the best to the worst.
const (
	unknown      LaneKind = iota // nothing is known yet
	UniformLanes                 // the same in all active lanes
	AffineLanes                  // base + lane*step, in 64 bits
	VaryingLanes                 // anything
)

// Shape is what is known of a value's lanes.
type Shape struct {
	Kind LaneKind
	Step int64 // of affine ones: per lane
	// align is a power of two of which the value, of lane 0, is a multiple; 0 and 1
	// say nothing.
	align int64
}

var same = Shape{Kind: UniformLanes, align: 1}

// Vary is the shape of values that may be anything in each lane.
var Vary = Shape{Kind: VaryingLanes}

// alike reports whether values of the two shapes are kept in the same way.
func (s Shape) alike(t Shape) bool { return s.Kind == t.Kind && s.Step == t.Step }

// join returns the shape of a value that is one of two.
func join(a, b Shape) Shape {
	switch {
	case a.Kind == unknown:
		return b
	case b.Kind == unknown:
		return a
	case a.alike(b):
		a.align = min(a.align, b.align)
		return a
	}
	return Vary
}

// Entry says how control comes to a block.
type Entry uint8

const (
	// Direct blocks are reached by jumps that all lanes of their class take.
	Direct Entry = iota
	// Joined blocks follow when all lanes of the class have arrived.
	Joined
	// Tested blocks have lanes of their own, and are skipped if there are none.
	Tested
)

// Lanes finds the shapes of values and, what depends on them, the lanes with
// which blocks run. Both start at the best and only get worse.
type Lanes struct {
	*Layout
	General bool    // threads lie in lanes by a table
	Wide    int64   // lanes of a vector
	Shapes  []Shape // by value ID
	Parts   []bool  // by position: ends in a branch that lanes take differently
	Classes int
	changed bool
	Blended [][]bool // by position and parameter: lanes come with values of their own
}

func LanesOf(g *Layout, general bool, width int) *Lanes {
	a := &Lanes{
		Layout: g, General: general, Wide: int64(width),
		Shapes: make([]Shape, g.Func.NumValues()),
		Parts:  make([]bool, len(g.Blocks)),
	}
	a.Blended = make([][]bool, len(g.Blocks))
	for i := range g.Blocks {
		a.Blended[i] = make([]bool, len(g.Blocks[i].Block.Params))
	}
	for _, p := range g.Func.Params {
		a.Shapes[p.ID] = same
	}
	for a.changed = true; a.changed; {
		a.changed = false
		a.classify()
		for i := range a.Blocks {
			a.params(i)
			for _, v := range a.Blocks[i].Block.Instrs {
				a.raise(v, a.result(v))
			}
			a.branch(i)
		}
	}
	return a
}

func (a *Lanes) Of(v *ir.Value) Shape { return a.Shapes[v.ID] }

// raise makes the shape of v at least s.
func (a *Lanes) raise(v *ir.Value, s Shape) {
	if s = join(a.Shapes[v.ID], s); s != a.Shapes[v.ID] {
		a.Shapes[v.ID], a.changed = s, true
	}
}

func (a *Lanes) branch(i int) {
	b := a.Blocks[i].Block
	if b.Term.Kind == ir.TermBranch && a.Of(b.Term.Args[0]).Kind > UniformLanes && !a.Parts[i] {
		a.Parts[i], a.changed = true, true
	}
}

// classify gives the blocks their classes. A loop diverges when an edge out of it
// or back to its header is not taken by all lanes at once.
func (a *Lanes) classify() {
	for again := true; again; {
		again = false
		a.Classes = 0
		for i := range a.Blocks {
			a.classOf(i)
		}
		for l := range a.Loops {
			if !a.Loops[l].Diverges && a.leavesApart(&a.Loops[l]) {
				a.Loops[l].Diverges, again, a.changed = true, true, true
			}
		}
	}
}

func (a *Lanes) classOf(i int) {
	b := &a.Blocks[i]
	if i == 0 {
		b.Class, b.Entry = a.newClass(), Direct
		return
	}
	c, ok := a.onlyClass(b)
	switch {
	case a.DivergentHeader(i):
		b.Class, b.Entry = a.newClass(), Tested
		if ok {
			b.Entry = Direct
		}
		return
	case ok:
		b.Class, b.Entry = c, Direct
		return
	}
	for d := b.Idom; d >= 0; d = a.Blocks[d].Idom {
		if a.together(d, i) {
			b.Class, b.Entry = a.Blocks[d].Class, Joined
			return
		}
	}
	b.Class, b.Entry = a.newClass(), Tested
}

// DivergentHeader reports whether the block at i is the header of a loop that lanes
// leave one by one: it runs with those that are left.
func (a *Lanes) DivergentHeader(i int) bool {
	l := a.Heads(i)
	return l >= 0 && a.Loops[l].Diverges
}

func (a *Lanes) newClass() int {
	a.Classes++
	return a.Classes - 1
}

// onlyClass returns the class of the blocks before b if all edges to it, other
// than those back to it, are taken by all lanes of one class at once.
func (a *Lanes) onlyClass(b *Placed) (class int, ok bool) {
	class = -1
	for _, in := range b.In {
		if in.From >= b.At {
			continue
		}
		from := &a.Blocks[in.From]
		if a.Parts[in.From] || class >= 0 && class != from.Class || a.LeavesDivergent(in.From, b.At) {
			return 0, false
		}
		class = from.Class
	}
	return class, true
}

// LeavesDivergent reports whether an edge leaves a loop that lanes leave one by
// one.
func (a *Lanes) LeavesDivergent(from, to int) (yes bool) {
	a.leaves(from, to, func(l *Span) { yes = yes || l.Diverges })
	return yes
}

func (a *Lanes) leavesApart(l *Span) bool {
	class := a.Blocks[l.First].Class
	for i := l.First; i <= l.Last; i++ {
		for _, e := range a.Blocks[i].Block.Term.Succs {
			to := a.Pos[e.To.ID]
			if (to == l.First || !l.Has(to)) && (a.Parts[i] || a.Blocks[i].Class != class) {
				return true
			}
		}
		// Lanes that end inside the loop leave it, too.
		if a.Blocks[i].Block.Term.Kind == ir.TermReturn && a.Blocks[i].Class != class {
			return true
		}
	}
	return false
}

// params raises the parameters of the block at i to what its edges pass.
func (a *Lanes) params(i int) {
	b := &a.Blocks[i]
	for p, v := range b.Block.Params {
		blend := a.blends(b, p)
		a.Blended[i][p] = blend
		if blend {
			a.raise(v, Vary)
			continue
		}
		for _, in := range b.In {
			a.raise(v, a.Of(a.Edge(in).Args[p]))
		}
	}
}

// blends reports whether lanes bring values of their own to parameter p of b: when
// they arrive at different times.
func (a *Lanes) blends(b *Placed, p int) bool {
	var one *ir.Value
	equal, at := true, b.At
	forward, back := 0, 0
	for _, in := range b.In {
		v := a.Edge(in).Args[p]
		if one != nil && v != one {
			equal = false
		}
		one = v
		if in.From >= at {
			back++
		} else {
			forward++
		}
		if a.LeavesDivergent(in.From, at) && a.definedInLeft(v, in.From, at) {
			return true
		}
	}
	if equal {
		return false
	}
	if a.DivergentHeader(at) {
		return forward > 1 && !a.uniformEntries(b) || back > 1
	}
	if b.Entry == Direct {
		return false
	}
	if b.Entry == Joined && a.uniformEntries(b) {
		return false
	}
	return len(b.In) > 1
}

// uniformEntries reports whether one class of lanes takes any of the forward edges
// to b at once.
func (a *Lanes) uniformEntries(b *Placed) bool {
	_, ok := a.onlyClass(b)
	return ok
}

// definedInLeft reports whether v is defined in a divergent loop that the edge
// leaves.
func (a *Lanes) definedInLeft(v *ir.Value, from, to int) (yes bool) {
	if v.Block == nil || v.Op == ir.OpConst {
		return false
	}
	at := a.Pos[v.Block.ID]
	a.leaves(from, to, func(l *Span) { yes = yes || l.Diverges && l.Has(at) })
	return yes
}
