package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Control flow. Blocks come one after the other in the order of the graph. A
// branch that all lanes of a class take is a jump. One that parts them is none: it
// gives each side the lanes that go there, and control falls through to whatever
// comes next, where a block without lanes is skipped. Parameters of blocks are
// registers that edges write, for their own lanes only where lanes bring different
// values at different times.

// prepare makes the labels, masks and parameters of all blocks.
func (e *emitter) prepare() {
	e.spots = make([]spot, len(e.Blocks))
	e.repeats = make([]repeat, len(e.Loops))
	e.masks = make([]asm.Reg, e.Classes)
	for i := range e.Blocks {
		s := &e.spots[i]
		s.start, s.body = e.newLabel(), e.newLabel()
		e.prepareParams(i)
		if e.Blocks[i].Entry == analysis.Tested || e.DivergentHeader(i) {
			e.prepareMask(i)
		}
	}
	for l := range e.Loops {
		if e.Loops[l].Diverges {
			e.prepareLoop(l)
		}
	}
}

func (e *emitter) prepareParams(i int) {
	b := &e.Blocks[i]
	for p, v := range b.Block.Params {
		r := e.place(v)
		e.vals[v.ID] = r
		e.spots[i].blend = append(e.spots[i].blend, r)
		if e.Blended[i][p] || e.behindLoop(i) || b.Entry != analysis.Direct && len(b.In) > 1 {
			e.initialise(i, func() { e.undef(r) })
		}
	}
}

// behindLoop reports whether lanes come to the block at i out of a loop that they
// leave one by one: in iterations in which none does the code for it is skipped.
func (e *emitter) behindLoop(i int) bool {
	for _, in := range e.Blocks[i].In {
		if e.LeavesDivergent(in.From, i) {
			return true
		}
	}
	return false
}

func (e *emitter) prepareMask(i int) {
	b, s := &e.Blocks[i], &e.spots[i]
	s.mask = e.mask()
	e.masks[b.Class] = s.mask
	n := 0
	s.once = true
	for _, in := range b.In {
		if in.From >= i {
			continue // lanes that go round again have a mask of their own
		}
		n++
		s.once = s.once && !e.LeavesDivergent(in.From, i)
	}
	if s.once = s.once && n == 1 || b.Entry == analysis.Direct; !s.once {
		e.initialise(i, func() { e.clearMask(s.mask) })
	}
}

func (e *emitter) prepareLoop(l int) {
	x, h := &e.repeats[l], e.Loops[l].First
	x.latch, x.mask = e.newLabel(), e.mask()
	for _, v := range e.Blocks[h].Block.Params {
		x.next = append(x.next, e.place(v))
	}
	s := &e.spots[h]
	s.inside = append(s.inside, func() {
		e.clearMask(x.mask)
		for p := range x.next {
			e.undef(x.next[p])
		}
	})
}

// initialise has code run once before lanes begin to come to block i: where its
// immediate dominator stands, in front of the loops around that which do not
// contain the block.
func (e *emitter) initialise(i int, code func()) {
	d := e.Blocks[i].Idom
	at := -1
	for l := e.Blocks[d].Loop; l >= 0 && !e.Loops[l].Has(i); l = e.Loops[l].Parent {
		at = e.Loops[l].First
	}
	if at >= 0 {
		e.spots[at].before = append(e.spots[at].before, code)
		return
	}
	e.spots[d].inside = append(e.spots[d].inside, code)
}

// block emits the block at position i and the ends of the loops that end with it.
func (e *emitter) block(i int) error {
	b, s := &e.Blocks[i], &e.spots[i]
	e.depth = 1
	for l := b.Loop; l >= 0; l = e.Loops[l].Parent {
		e.depth++
	}
	l := e.Heads(i)
	if l >= 0 {
		e.depth--
	}
	e.bind(s.start)
	run(s.before)
	if b.Entry == analysis.Tested {
		outside := b.Loop
		if l >= 0 {
			outside = e.Loops[l].Parent
		}
		e.jumpIfEmpty(s.mask, e.land(b.End, outside))
	}
	if l >= 0 {
		e.depth++
	}
	e.bind(s.body)
	e.products = map[product]asm.Reg{}
	run(s.inside)
	for _, v := range b.Block.Params {
		e.spread(v)
	}
	for _, v := range b.Block.Instrs {
		if err := e.instr(b, v); err != nil {
			return err
		}
	}
	if err := e.terminator(i); err != nil {
		return err
	}
	for l := b.Loop; l >= 0; l = e.Loops[l].Parent {
		if e.Loops[l].Diverges && e.Loops[l].Last == i {
			e.latch(l)
		}
	}
	return nil
}

func run(list []func()) {
	for _, fn := range list {
		fn()
	}
}

// latch ends a loop that lanes leave one by one: it goes round again with those
// that are left.
func (e *emitter) latch(l int) {
	x, loop := &e.repeats[l], &e.Loops[l]
	e.bind(x.latch)
	h := loop.First
	for p := range x.next {
		e.move(e.spots[h].blend[p], x.next[p])
	}
	e.copy(e.spots[h].mask, x.mask)
	e.jumpIfAny(e.spots[h].mask, e.spots[h].body)
	e.depth--
	e.jump(e.land(loop.Last+1, loop.Parent))
}

// terminator emits the end of the block at i.
func (e *emitter) terminator(i int) error {
	b := &e.Blocks[i]
	t := &b.Block.Term
	e.pos = int32(t.Pos)
	l := b.Loop
	switch {
	case t.Kind == ir.TermReturn:
		e.jump(e.land(i+1, l))
	case t.Kind == ir.TermJump:
		to, err := e.edge(i, 0, e.masks[b.Class], true)
		if err != nil {
			return err
		}
		e.jump(to)
	case e.Parts[i]:
		return e.part(i)
	default:
		return e.choose(i)
	}
	return nil
}

// part ends a block whose branch is divergent.
func (e *emitter) part(i int) error {
	b := &e.Blocks[i]
	if err := e.partQuick(i); err != nil {
		return err
	}
	cond, all := e.maskOf(b.Block.Term.Args[0]), e.masks[b.Class]
	for s := range 2 {
		m := e.mask()
		if s == 0 {
			e.maskAnd(m, all, cond)
		} else {
			e.maskAndNot(m, all, cond)
		}
		// Few iterations of a loop are the last of a lane: what leaves is skipped if none does.
		skip, guarded := e.newLabel(), e.LeavesDivergent(i, e.Layout.Pos[b.Block.Term.Succs[s].To.ID])
		if guarded {
			e.jumpIfEmpty(m, skip)
		}
		if _, err := e.edge(i, s, m, false); err != nil {
			return err
		}
		if guarded {
			e.bind(skip)
		}
	}
	e.jump(e.land(i+1, b.Loop))
	return nil
}

// choose ends a block with a jump that all its lanes take.
func (e *emitter) choose(i int) error {
	b := &e.Blocks[i]
	other := e.newLabel()
	if test := analysis.EndsInWhole(b.Block); test != nil {
		e.jumpUnlessWhole(b, test, other)
	} else if err := e.jumpUnless(b.Block.Term.Args[0], other); err != nil {
		return err
	}
	to, err := e.edge(i, 0, e.masks[b.Class], true)
	if err != nil {
		return err
	}
	e.jump(to)
	e.bind(other)
	if to, err = e.edge(i, 1, e.masks[b.Class], true); err != nil {
		return err
	}
	e.jump(to)
	return nil
}
