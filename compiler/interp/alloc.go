package interp

import (
	"cmp"
	"slices"
)

// plan is code ready to run on strips of up to cap lanes.
type plan struct {
	*lowered
	lanes  int // capacity of an array
	blocks []block
	bytes  int // memory of a worker: scalars, then arrays

	geometry [firstReg]int32 // addresses of the arrays of thread geometry, 0 for unused
	fillAt   []int32         // addresses of the arrays with constants

	idle workers
}

// allocate assigns addresses to arrays, for strips of up to n lanes.
//
// Operations compute idle lanes too, so an array must not share its memory with
// one that lanes waiting elsewhere still need. A lane waits at a later position
// than the one that runs, unless it waits for a loop to end. It is therefore
// enough that an array owns its memory from the first to the last position where it
// occurs, and for the whole of each loop where only a part of these lies.
func (l *lowered) allocate(n int) *plan {
	p := &plan{lowered: l, lanes: (n + 63) &^ 63}
	regs := slices.Clone(l.regs)
	a := allocator{l: l, regs: regs}
	for i := range regs {
		regs[i].keep = regs[i].keep || l.g.polls
	}
	a.temps()
	a.eachUse(a.around)
	a.span()
	p.bytes = a.assign(int(l.scalars), p.lanes)
	p.build(a)
	for i := range p.geometry {
		p.geometry[i] = a.regs[i].at
	}
	for _, f := range l.fills {
		p.fillAt = append(p.fillAt, a.regs[f.at].at)
	}
	return p
}

type allocator struct {
	l      *lowered
	regs   []vreg
	spare  [9]int32 // by width: vreg that breaks cycles of moves
	starts []int    // position of each block, and of the end
}

// temps makes one array of each width for breaking cycles, where an edge has
// several moves.
func (a *allocator) temps() {
	for _, pair := range a.l.moves {
		for _, ms := range pair {
			if len(ms) < 2 {
				continue
			}
			for _, m := range ms {
				if m.dw > 0 && a.spare[m.dw] == 0 {
					a.spare[m.dw] = int32(len(a.regs))
					a.regs = append(a.regs, vreg{width: m.dw, keep: true, used: true})
				}
			}
		}
	}
}

// eachUse calls fn for every use of an array: its number, the block
// and the position.
func (a *allocator) eachUse(fn func(r int32, block, pos int)) {
	pos := 0
	a.starts = a.starts[:0]
	for at := range a.l.blocks {
		b := &a.l.blocks[at]
		a.starts = append(a.starts, pos)
		for i := range b.code {
			in := &b.code[i]
			pos += 2
			read := pos
			if in.wide {
				read++ // keeps the result out of the operands' memory
			}
			for _, o := range [...]operand{{in.a, in.aw}, {in.b, in.bw}, {in.c, in.cw}} {
				if o.width > 0 {
					fn(o.ref, at, read)
				}
			}
			if in.dw > 0 {
				fn(in.d, at, pos)
			}
		}
		pos += 2
		if b.term == termVarying {
			fn(b.cond, at, pos)
		}
		for _, ms := range a.l.moves[at] {
			for _, m := range ms {
				if m.aw > 0 {
					fn(m.a, at, pos)
				}
				if m.dw > 0 {
					fn(m.d, at, pos)
					fn(m.d, at, pos+1) // all moves of an edge are made at once
				}
			}
		}
		pos += 2
	}
	a.starts = append(a.starts, pos)
}

// around finds the innermost loop that holds every occurrence of an array.
func (a *allocator) around(r int32, block, pos int) {
	v, g := &a.regs[r], a.l.g
	if !v.used {
		v.used, v.around, v.start, v.end = true, g.inner[block], pos, pos
		return
	}
	v.start, v.end = min(v.start, pos), max(v.end, pos)
	for v.around >= 0 && !g.loops[v.around].has(block) {
		v.around = g.loops[v.around].parent
	}
}

// span extends every array over the loops that hold only a part of it.
func (a *allocator) span() {
	g := a.l.g
	starts := slices.Clone(a.starts)
	a.eachUse(func(r int32, block, _ int) {
		v := &a.regs[r]
		part := -1
		for l := g.inner[block]; l >= 0 && l != v.around; l = g.loops[l].parent {
			part = l
		}
		if part >= 0 {
			v.start = min(v.start, starts[g.loops[part].first])
			v.end = max(v.end, starts[g.loops[part].last+1]-1)
		}
	})
}

// assign allocates arrays by linear scan, each width apart, after the scalars. It
// returns the size of the memory.
func (a *allocator) assign(at, n int) int {
	order := make([]*vreg, 0, len(a.regs))
	for i := range a.regs {
		if a.regs[i].used {
			order = append(order, &a.regs[i])
		}
	}
	slices.SortStableFunc(order, func(x, y *vreg) int {
		if x.keep != y.keep {
			return int(b2u(y.keep)) - int(b2u(x.keep))
		}
		return cmp.Compare(x.start, y.start)
	})
	at = (at + 63) &^ 63
	var live [9][]*vreg // by width
	for _, v := range order {
		w := v.width
		if old := endedBefore(live[w], v); old >= 0 {
			v.at = live[w][old].at
			live[w][old] = v
			continue
		}
		v.at = int32(at)
		at += n*int(w) + 64 // the gap keeps arrays off the same cache sets
		if !v.keep {
			live[w] = append(live[w], v)
		}
	}
	return at
}

// endedBefore returns the index of the array whose memory v can reuse, -1 for none.
func endedBefore(live []*vreg, v *vreg) int {
	if v.keep {
		return -1
	}
	return slices.IndexFunc(live, func(x *vreg) bool { return x.end <= v.start })
}

// build makes the final code: addresses instead of vreg numbers, moves in order,
// and a block after each loop that needs it, where lanes wait for each other before
// the next iteration.
func (p *plan) build(a allocator) {
	g := p.g
	index := make([]int32, len(g.blocks)) // position -> block
	latch := make([]int32, len(g.loops))
	n := int32(0)
	for at := range g.blocks {
		index[at] = n
		n++
		for l := g.inner[at]; l >= 0 && g.loops[l].last == at; l = g.loops[l].parent {
			if g.loops[l].latched {
				latch[l] = n
				n++
			}
		}
	}
	p.blocks = make([]block, n)
	for at := range g.blocks {
		b := p.lowered.blocks[at]
		b.code = slices.Clone(b.code)
		for i := range b.code {
			a.place(&b.code[i])
		}
		if b.term == termVarying {
			b.cond = a.regs[b.cond].at
		}
		for i := range b.edges {
			e := &b.edges[i]
			to := int(e.to)
			e.moves = a.order(p.moves[at][i])
			e.to = index[to]
			if l := g.headed(to); l >= 0 && to <= at && g.loops[l].latched {
				e.to = latch[l]
			}
		}
		p.blocks[index[at]] = b
	}
	for l, at := range latch {
		if g.loops[l].latched {
			p.blocks[at] = block{term: termJump, edges: [2]edge{{to: index[g.loops[l].first]}}}
		}
	}
}

// place replaces numbers of vregs by their addresses.
func (a *allocator) place(in *ins) {
	for _, o := range [...]struct {
		ref   *int32
		width uint8
	}{{&in.d, in.dw}, {&in.a, in.aw}, {&in.b, in.bw}, {&in.c, in.cw}} {
		if o.width > 0 {
			*o.ref = a.regs[*o.ref].at
		}
	}
}

// order makes the moves of an edge one after the other with the effect of all at
// once: a move waits while another still reads what it overwrites, and a cycle is
// broken by a temporary.
func (a *allocator) order(moves []move) []ins {
	todo := make([]move, 0, len(moves))
	for _, m := range moves {
		if m.dw > 0 {
			m.d = a.regs[m.d].at
		}
		if m.aw > 0 {
			m.a = a.regs[m.a].at
		}
		if m.d != m.a {
			todo = append(todo, m)
		}
	}
	var out []ins
	for len(todo) > 0 {
		i := slices.IndexFunc(todo, func(m move) bool {
			return !slices.ContainsFunc(todo, func(o move) bool { return o.a == m.d && o != m })
		})
		if i < 0 {
			out = append(out, a.breakCycle(todo))
			continue
		}
		out = append(out, moveIns(todo[i]))
		todo = slices.Delete(todo, i, i+1)
	}
	return out
}

// breakCycle saves one source that a move will overwrite and redirects its readers.
func (a *allocator) breakCycle(todo []move) ins {
	i := slices.IndexFunc(todo, func(m move) bool {
		return slices.ContainsFunc(todo, func(o move) bool { return o.d == m.a && o != m })
	})
	m := todo[i]
	save := move{d: spareAt, a: m.a, dw: m.aw, aw: m.aw}
	if m.aw > 0 {
		save.d = a.regs[a.spare[m.aw]].at
	}
	for j := range todo {
		if todo[j].a == m.a {
			todo[j].a = save.d
		}
	}
	return moveIns(save)
}
