package analysis

import (
	"github.com/gokiln/kiln/compiler/ir"
)

// Uniform is the result of the uniformity analysis of a module: how far each
// value agrees between threads, and under which control each block runs.
type Uniform struct {
	funcs map[*ir.Func]*uniformity
}

// Uniformity analyses every function of m. Parameters of a kernel are the same
// for all threads; those of other functions are taken as varying, so m should
// have its calls inlined.
//
// Values, blocks and branches have a level: same for the grid, same for the block of
// threads, same for the warp, or varying. A value that passes a join whose branch is not
// uniform is as varying as the branch; so is a value that leaves a loop which
// threads leave in different iterations. What a load through a uniform address
// from global or shared memory returns counts as uniform: kernels that race do
// not have a meaning to protect.
func Uniformity(m *ir.Module) *Uniform {
	u := &Uniform{funcs: map[*ir.Func]*uniformity{}}
	for _, f := range m.Funcs {
		u.funcs[f] = analyse(m, f)
	}
	return u
}

// Value returns the level of v, a value of f, among the threads that compute it
// together.
func (u *Uniform) Value(f *ir.Func, v *ir.Value) ir.Uniformity {
	return u.funcs[f].level[v.ID]
}

// Block returns the level of the control under which b runs: whether the threads
// of a block or a warp reach it together.
func (u *Uniform) Block(f *ir.Func, b *ir.Block) ir.Uniformity {
	return u.funcs[f].control[b.ID]
}

// Branch returns the level of the condition that ends b; jumps and returns are
// uniform.
func (u *Uniform) Branch(f *ir.Func, b *ir.Block) ir.Uniformity {
	if b.Term.Kind != ir.TermBranch {
		return ir.UniformGrid
	}
	return u.funcs[f].seen(b.Term.Args[0], b)
}

// uniformity is the analysis of one function. Levels only rise.
type uniformity struct {
	f       *ir.Func
	in      [][]Edge
	order   []*ir.Block     // reverse postorder, loops contiguous
	num     []int32         // block ID -> position in order, -1 if unreachable
	loops   []*Loop         // all loops
	level   []ir.Uniformity // by value ID
	control []ir.Uniformity // by block ID
	cause   []*ir.Block     // by block ID: ends in the branch behind control
	join    []ir.Uniformity // by block ID: level of the branches that it joins
	entry   []ir.Uniformity // by block ID: likewise, of those whose paths come by forward edges
	again   []ir.Uniformity // by block ID: likewise, of those whose paths come by back edges
	content []ir.Uniformity // by ID of a local object: level of what it holds
	escaped []bool          // by ID of a local object
	done    []ir.Uniformity // by block ID: level at which its branch was spread
	changed bool

	// temporal is the level of loops that threads leave in different iterations.
	temporal map[*Loop]ir.Uniformity

	warp   int        // warp size if warps lie in rows of their block, otherwise 0
	bits   []warpBits // by value ID, if warp is known
	ranges *Ranges    // of f, when they have been asked for
}

func analyse(m *ir.Module, f *ir.Func) *uniformity {
	u := &uniformity{f: f, in: InEdges(f), order: LoopOrder(f), temporal: map[*Loop]ir.Uniformity{}, warp: m.Launch.Row}
	nv, nb := f.NumValues(), f.NumBlocks()
	u.level, u.content = make([]ir.Uniformity, nv), make([]ir.Uniformity, nv)
	u.control, u.join, u.done = make([]ir.Uniformity, nb), make([]ir.Uniformity, nb), make([]ir.Uniformity, nb)
	u.entry, u.again = make([]ir.Uniformity, nb), make([]ir.Uniformity, nb)
	u.cause, u.escaped, u.num = make([]*ir.Block, nb), make([]bool, nv), make([]int32, nb)
	for i := range u.num {
		u.num[i] = -1
	}
	for i, b := range u.order {
		u.num[b.ID] = int32(i)
	}
	u.loops = Loops(f, u.in)
	u.findEscapes()
	u.start()
	for u.changed = true; u.changed; {
		u.changed = false
		for _, b := range u.order {
			u.block(b)
		}
	}
	return u
}

// start sets what holds before anything is known of the operations.
func (u *uniformity) start() {
	if u.warp > 0 {
		u.bits = make([]warpBits, u.f.NumValues())
		for i := range u.bits {
			u.bits[i].zeros = unknownBits
		}
	}
	for _, p := range u.f.Params {
		if !u.f.Kernel {
			u.level[p.ID] = ir.Varying
		}
		if u.warp > 0 {
			u.bits[p.ID] = warpBits{vary: unknownBits}
		}
	}
}

// raise lifts *at to at least l.
func (u *uniformity) raise(at *ir.Uniformity, l ir.Uniformity) {
	if *at < l {
		*at, u.changed = l, true
	}
}

func (u *uniformity) block(b *ir.Block) {
	for i := range b.Params {
		u.param(b, i)
	}
	for _, v := range b.Instrs {
		u.write(b, v)
		l := u.result(b, v)
		if u.warp > 0 {
			known, same := u.integer(b, v)
			u.worsen(v, known)
			if same {
				l = min(l, ir.UniformWarp)
			}
		}
		u.raise(&u.level[v.ID], l)
	}
	if b.Term.Kind == ir.TermBranch {
		if l := u.seen(b.Term.Args[0], b); l > u.done[b.ID] {
			u.done[b.ID] = l
			u.changed = true
			u.spread(b, l)
		}
	}
}

// param raises parameter i of b to what the edges into b bring.
func (u *uniformity) param(b *ir.Block, i int) {
	p, l := b.Params[i], u.joined(b, i)
	known := warpBits{zeros: unknownBits}
	if l > ir.UniformWarp {
		known.vary = unknownBits
	}
	for _, e := range u.in[b.ID] {
		if u.num[e.From.ID] < 0 {
			continue
		}
		v := e.Args()[i]
		l = max(l, u.seen(v, b))
		if u.warp > 0 {
			known = known.join(u.bitsOf(v, b))
		}
	}
	u.raise(&u.level[p.ID], l)
	if u.warp > 0 {
		u.worsen(p, known)
	}
}

// joined returns the level of the branches that part threads which meet at b
// with different values of parameter i. If all forward edges bring one value it
// does not matter by which of them a thread came: so a loop stays uniform that
// threads enter from several places. The same goes for the back edges, by which
// threads come from the ends of an iteration.
func (u *uniformity) joined(b *ir.Block, i int) ir.Uniformity {
	l := u.join[b.ID]
	if u.entry[b.ID] > l && u.differs(b, i, true) {
		l = u.entry[b.ID]
	}
	if u.again[b.ID] > l && u.differs(b, i, false) {
		l = u.again[b.ID]
	}
	return l
}

// differs reports whether the forward edges into b, or the back edges, bring
// several values of parameter i.
func (u *uniformity) differs(b *ir.Block, i int, forward bool) bool {
	var first *ir.Value
	for _, e := range u.in[b.ID] {
		if n := u.num[e.From.ID]; n < 0 || forward != (n < u.num[b.ID]) {
			continue
		}
		v := e.Args()[i]
		if first == nil {
			first = v
		}
		if !SameValue(v, first) {
			return true
		}
	}
	return false
}

// seen returns the level of v for a user in block b.
func (u *uniformity) seen(v *ir.Value, b *ir.Block) ir.Uniformity {
	l := u.level[v.ID]
	if l < ir.Varying && len(u.temporal) > 0 {
		l = max(l, u.leaving(v, b))
	}
	return l
}

// result returns the level of v, in block b, as its operation and operands give
// it.
func (u *uniformity) result(b *ir.Block, v *ir.Value) ir.Uniformity {
	var l ir.Uniformity
	for _, a := range v.Args {
		l = max(l, u.seen(a, b))
	}
	switch v.Op {
	case ir.OpLoad:
		return u.load(b, v)
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		return u.shuffle(b, v, l)
	case ir.OpBallot:
		return ir.UniformWarp // lanes past the end of the block do not vote
	case ir.OpAny, ir.OpAll, ir.OpWhole:
		return min(l, ir.UniformWarp)
	}
	return max(l, v.Op.Info().Uniform)
}

// shuffle returns the level of v whose operands have level l at most. Moving one
// value between lanes moves nothing, and lanes that read one lane read the same.
func (u *uniformity) shuffle(b *ir.Block, v *ir.Value, l ir.Uniformity) ir.Uniformity {
	x, lane := u.seen(v.Args[0], b), u.seen(v.Args[1], b)
	switch {
	case x < ir.Varying:
		return x
	case v.Op == ir.OpShflIdx && lane < ir.Varying:
		return ir.UniformWarp
	}
	return l
}

func (u *uniformity) load(b *ir.Block, v *ir.Value) ir.Uniformity {
	p := v.Args[0]
	if p.Type.Space != ir.Local {
		return u.seen(p, b)
	}
	base := BaseOf(p)
	if base.Op != ir.OpLocal || u.escaped[base.ID] {
		return ir.Varying
	}
	return max(u.path(b, p), u.content[base.ID])
}

// path returns the level of the indices between a local object and a pointer
// into it. The pointer itself differs between threads: each has its own object.
func (u *uniformity) path(b *ir.Block, p *ir.Value) ir.Uniformity {
	l := u.leaving(p, b)
	for ; p.Op == ir.OpIndex || p.Op == ir.OpOffset || p.Op == ir.OpField; p = p.Args[0] {
		if len(p.Args) > 1 {
			l = max(l, u.seen(p.Args[1], p.Block))
		}
	}
	return l
}

// write records what a store puts into a local object. A store under divergent
// control leaves different contents behind, too.
func (u *uniformity) write(b *ir.Block, v *ir.Value) {
	if v.Op != ir.OpStore && v.Op != ir.OpZero {
		return
	}
	base := BaseOf(v.Args[0])
	if base.Op != ir.OpLocal {
		return
	}
	l := max(u.path(b, v.Args[0]), u.control[b.ID])
	if v.Op == ir.OpStore {
		l = max(l, u.seen(v.Args[1], b))
	}
	u.raise(&u.content[base.ID], l)
}

// findEscapes marks local objects whose address is used other than to form
// addresses, load and store: what they hold is not tracked.
func (u *uniformity) findEscapes() {
	escape := func(vs []*ir.Value) {
		for _, v := range vs {
			if IsLocalPtr(v) {
				u.escaped[BaseOf(v).ID] = true
			}
		}
	}
	for _, b := range u.f.Blocks {
		for _, v := range b.Instrs {
			if IsAccess(v.Op) {
				escape(v.Args[1:])
			} else {
				escape(v.Args)
			}
		}
		escape(b.Term.Args)
		for _, e := range b.Term.Succs {
			escape(e.Args)
		}
	}
}
