package amd64

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// Where branches may be divergent, and there is no copy for vectors in which they are not, most
// vectors still do not diverge: of the vectors at the ends of rows all lanes are inside of the
// picture. Two scalar instructions find that out, in place of the dozen for a mask of numbers of 64
// bits.

// findQuick notes the comparison at the end of the block at i, which nothing else uses, if it
// is worth asking first whether all lanes take the branch together.
func (e *emitter) findQuick(i int) {
	b := &e.Blocks[i]
	t := e.TestAt(b.Block)
	if !t.OK || !e.Parts[i] || e.Heads(i) >= 0 || e.asked(b, t) {
		return
	}
	if s := e.Of(t.X).Step; s <= 0 || s > 1<<20 {
		return
	}
	for _, s := range b.Block.Term.Succs {
		if e.LeavesDivergent(i, e.Layout.Pos[s.To.ID]) {
			return
		}
	}
	if !e.OnlyFrom(i, t.Succ) { // who goes there skips something
		t = t.Negated()
	}
	e.quick[b.Block.Term.Args[0]] = t
}

// asked reports whether control comes to b because the lanes do not all pass a test.
func (e *emitter) asked(b *analysis.Placed, t analysis.LaneTest) bool {
	if b.Idom < 0 {
		return false
	}
	test := analysis.EndsInWhole(e.Blocks[b.Idom].Block)
	return test != nil && slices.ContainsFunc(test.Args, func(c *ir.Value) bool { return c.Args[0] == t.X && c.Args[1] == t.N })
}

// partQuick begins the end of a block whose branch may be divergent: if all lanes take one
// side they do so here.
func (e *emitter) partQuick(i int) error {
	b := &e.Blocks[i]
	c := b.Block.Term.Args[0]
	t, is := e.quick[c]
	if !is {
		return nil
	}
	apart := e.newLabel()
	e.jumpUnlessWithin(t.Op, t.X, t.N, analysis.MayWrap(e.ranges, t.X, b.Block), apart)
	e.nobody(e.Layout.Pos[b.Block.Term.Succs[1-t.Succ].To.ID])
	to, err := e.edge(i, t.Succ, e.masks[b.Class], false)
	if err != nil {
		return err
	}
	e.jump(to)
	e.bind(apart)
	return e.computeNow(c)
}

// nobody says that no lane comes to the block at position at from the one that its mask would
// be set by.
func (e *emitter) nobody(at int) {
	s := &e.spots[at]
	if e.Blocks[at].Entry != analysis.Tested && !e.DivergentHeader(at) || !s.once {
		return
	}
	e.clearMask(s.mask)
	for _, r := range s.blend {
		e.undef(r)
	}
}
