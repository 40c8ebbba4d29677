package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// promoter turns scalar local objects into values: pruned SSA construction with
// block parameters at iterated dominance frontiers (Cytron et al., 1991).
type promoter struct {
	f     *ir.Func
	objs  []*ir.Value
	index []int32 // value ID -> index in objs + 1
	in    [][]analysis.Edge
	dom   *ir.DomTree
	front [][]int32 // dominance frontiers, by position in dom.Order
	defs  [][]int32 // object -> blocks that write it, by position
	uses  [][]int32 // object -> blocks that read it before writing it
	merge [][]merge // block position -> parameters added
	undef map[*ir.Type]*ir.Value
}

type merge struct {
	obj   int32
	param *ir.Value
}

// promote promotes the scalar objects that s found.
func promote(f *ir.Func, s *splitter) {
	p := &promoter{f: f, undef: map[*ir.Type]*ir.Value{}}
	for _, o := range s.scalars {
		if s.promotable(o) {
			p.objs = append(p.objs, o)
		}
	}
	p.run()
}

// promotable reports whether o is only read and written as a whole. There is no
// constant for a nil pointer, so objects that hold one stay in memory.
func (s *splitter) promotable(o *ir.Value) bool {
	for _, u := range s.users[o.ID] {
		switch u.Op {
		case ir.OpLoad, ir.OpStore:
		case ir.OpZero:
			if o.Type.Elem.IsPtr() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (p *promoter) run() {
	if len(p.objs) == 0 {
		return
	}
	p.in = analysis.InEdges(p.f)
	p.dom = ir.Dominators(p.f)
	p.indexObjects()
	p.scan()
	if p.dropUndefinedPointers() {
		p.indexObjects()
		p.scan()
	}
	p.frontiers()
	p.placeMerges()
	p.rename()
}

func (p *promoter) indexObjects() {
	p.index = make([]int32, p.f.NumValues())
	for i, o := range p.objs {
		p.index[o.ID] = int32(i) + 1
	}
}

// object returns the number of the object that v reads or writes, -1 if none.
func (p *promoter) object(v *ir.Value) int32 {
	switch v.Op {
	case ir.OpLoad, ir.OpStore, ir.OpZero:
		return p.index[v.Args[0].ID] - 1
	}
	return -1
}

func (p *promoter) scan() {
	p.defs = make([][]int32, len(p.objs))
	p.uses = make([][]int32, len(p.objs))
	last := func(l []int32, i int) bool { return len(l) > 0 && l[len(l)-1] == int32(i) }
	for i, b := range p.dom.Order {
		for _, v := range b.Instrs {
			o := p.object(v)
			switch {
			case o < 0 || last(p.defs[o], i):
			case v.Op != ir.OpLoad:
				p.defs[o] = append(p.defs[o], int32(i))
			case !last(p.uses[o], i):
				p.uses[o] = append(p.uses[o], int32(i))
			}
		}
	}
}

// liveIn marks in live the blocks at whose start object o has a value that may
// still be read.
func (p *promoter) liveIn(o int, live, def []int32) {
	stamp := int32(o) + 1
	for _, i := range p.defs[o] {
		def[i] = stamp
	}
	work := slices.Clone(p.uses[o])
	for _, i := range work {
		live[i] = stamp
	}
	for len(work) > 0 {
		i := work[len(work)-1]
		work = work[:len(work)-1]
		for _, e := range p.in[p.dom.Order[i].ID] {
			if j := p.dom.Num[e.From.ID]; def[j] != stamp && live[j] != stamp {
				live[j] = stamp
				work = append(work, j)
			}
		}
	}
}

// dropUndefinedPointers gives up on pointers that may be read before they are
// written, and reports whether there were any.
func (p *promoter) dropUndefinedPointers() bool {
	n := len(p.dom.Order)
	live, def := make([]int32, n), make([]int32, n)
	kept := make([]*ir.Value, 0, len(p.objs))
	for i, o := range p.objs {
		if o.Type.Elem.IsPtr() {
			p.liveIn(i, live, def)
			if live[0] == int32(i)+1 {
				continue
			}
		}
		kept = append(kept, o)
	}
	dropped := len(kept) < len(p.objs)
	p.objs = kept
	return dropped
}

func (p *promoter) frontiers() {
	p.front = make([][]int32, len(p.dom.Order))
	for i, b := range p.dom.Order {
		if len(p.in[b.ID]) < 2 {
			continue
		}
		for _, e := range p.in[b.ID] {
			for r := p.dom.Num[e.From.ID]; r != p.dom.Parent[i]; r = p.dom.Parent[r] {
				if k := len(p.front[r]); k > 0 && p.front[r][k-1] == int32(i) {
					break // another edge came by here, and went up from here
				}
				p.front[r] = append(p.front[r], int32(i))
			}
		}
	}
}

func (p *promoter) placeMerges() {
	n := len(p.dom.Order)
	live, def, placed := make([]int32, n), make([]int32, n), make([]int32, n)
	p.merge = make([][]merge, n)
	for o := range p.objs {
		stamp := int32(o) + 1
		p.liveIn(o, live, def)
		work := slices.Clone(p.defs[o])
		for len(work) > 0 {
			i := work[len(work)-1]
			work = work[:len(work)-1]
			for _, j := range p.front[i] {
				if placed[j] == stamp || live[j] != stamp {
					continue
				}
				placed[j] = stamp
				work = append(work, j)
				param := p.dom.Order[j].NewParam(p.f, p.objs[o].Type.Elem)
				param.Pos = p.objs[o].Pos
				p.merge[j] = append(p.merge[j], merge{int32(o), param})
			}
		}
	}
}

// rename walks the dominator tree with the current value of every object.
func (p *promoter) rename() {
	type undo struct {
		obj int32
		old *ir.Value
	}
	type frame struct {
		block int32
		next  int // child to visit
		mark  int // length of the log on entry
	}
	r := newReplacer(p.f)
	cur := make([]*ir.Value, len(p.objs))
	kids := p.dom.Children()
	var log []undo
	set := func(o int32, v *ir.Value) {
		log = append(log, undo{o, cur[o]})
		cur[o] = v
	}
	stack := []frame{{}}
	p.renameBlock(0, r, cur, set)
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(kids[top.block]) {
			k := kids[top.block][top.next]
			top.next++
			stack = append(stack, frame{block: k, mark: len(log)})
			p.renameBlock(k, r, cur, set)
			continue
		}
		for len(log) > top.mark {
			u := log[len(log)-1]
			log = log[:len(log)-1]
			cur[u.obj] = u.old
		}
		stack = stack[:len(stack)-1]
	}
	p.removeObjects()
	r.apply(p.f)
}

func (p *promoter) renameBlock(i int32, r *replacer, cur []*ir.Value, set func(int32, *ir.Value)) {
	b := p.dom.Order[i]
	for _, m := range p.merge[i] {
		set(m.obj, m.param)
	}
	out := b.Instrs[:0]
	for _, v := range b.Instrs {
		o := p.object(v)
		switch {
		case o < 0:
			out = append(out, v)
		case v.Op == ir.OpLoad:
			r.set(v, p.value(cur, o))
		case v.Op == ir.OpStore:
			set(o, r.get(v.Args[1]))
		default:
			set(o, p.undefined(p.objs[o].Type.Elem))
		}
	}
	b.Instrs = out
	for k := range b.Term.Succs {
		e := &b.Term.Succs[k]
		for _, m := range p.merge[p.dom.Num[e.To.ID]] {
			e.Args = append(slices.Clip(e.Args), p.value(cur, m.obj))
		}
	}
}

func (p *promoter) value(cur []*ir.Value, o int32) *ir.Value {
	if cur[o] == nil {
		return p.undefined(p.objs[o].Type.Elem)
	}
	return cur[o]
}

// undefined returns zero: the content that an object is given by zero, and the
// one we choose for an object that nothing wrote.
func (p *promoter) undefined(t *ir.Type) *ir.Value {
	if p.undef[t] == nil {
		v := p.f.NewValue(ir.OpConst, t)
		v.Block = p.f.Blocks[0]
		p.undef[t] = v
	}
	return p.undef[t]
}

// removeObjects drops the objects and inserts the zeros that replaced them.
func (p *promoter) removeObjects() {
	for _, b := range p.f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool {
			return v.Op == ir.OpLocal && p.index[v.ID] > 0
		})
	}
	entry := p.f.Blocks[0]
	var zeros []*ir.Value
	for _, t := range ir.Scalars { // in a fixed order
		if z := p.undef[t]; z != nil {
			zeros = append(zeros, z)
		}
	}
	entry.Instrs = slices.Insert(entry.Instrs, 0, zeros...)
}
