package amd64

import (
	"github.com/gokiln/kiln/compiler/amd64/asm"
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// land returns where control goes on that has nothing more to do before position
// at and is in loop l: to the first block that lanes may wait in, else to the end
// of the innermost loop that lanes leave one by one, else to the end.
func (e *emitter) land(at, l int) label {
	for l >= 0 && !e.Loops[l].Diverges {
		l = e.Loops[l].Parent
	}
	for {
		if l >= 0 && at > e.Loops[l].Last {
			return e.repeats[l].latch
		}
		if at >= len(e.Blocks) {
			return e.end
		}
		if e.Blocks[at].Entry != analysis.Direct {
			return e.spots[at].start
		}
		at = e.Blocks[at].End
	}
}

// edge sends the lanes of a mask along successor s of the block at i, and returns
// where control goes if those are all the lanes it has.
func (e *emitter) edge(i, s int, lanes asm.Reg, whole bool) (label, error) {
	b := &e.Blocks[i]
	edge := &b.Block.Term.Succs[s]
	at := e.Layout.Pos[edge.To.ID]
	t, spot := &e.Blocks[at], &e.spots[at]
	l := e.Heads(at)
	back := at <= i
	if back && e.Loops[l].Diverges {
		x := &e.repeats[l]
		// The only edge back is taken many times where it leaves an inner loop one by one.
		e.maskOr(x.mask, lanes, e.Loops[l].Back == 1 && !e.LeavesDivergent(i, at))
		return e.land(i+1, b.Loop), e.pass(edge, at, x.next, lanes, whole && e.full[i])
	}
	if t.Entry == analysis.Tested || e.DivergentHeader(at) {
		e.maskOr(spot.mask, lanes, spot.once)
	}
	if err := e.pass(edge, at, spot.blend, lanes, whole && e.full[i]); err != nil {
		return 0, err
	}
	switch {
	case t.Entry == analysis.Direct && whole && back:
		return spot.body, nil
	case t.Entry == analysis.Direct && whole:
		return spot.start, nil
	}
	return e.land(i+1, b.Loop), nil
}

// pass gives the parameters of the block at position at the arguments of an edge,
// all at once, for some lanes or all there are.
func (e *emitter) pass(edge *ir.Edge, at int, to []val, lanes asm.Reg, all bool) error {
	from := make([]val, len(to))
	for p, v := range e.Blocks[at].Block.Params {
		arg, err := e.as(edge.Args[p], e.Of(v))
		if err != nil {
			return err
		}
		from[p] = arg
	}
	for p := range from { // what another parameter's register holds is read first
		for q := range to {
			if q != p && overlap(from[p], to[q]) {
				from[p] = e.saved(from[p])
				break
			}
		}
	}
	for p := range to {
		if e.Blended[at][p] && !all {
			e.blendInto(to[p], from[p], lanes)
		} else {
			e.move(to[p], from[p])
		}
	}
	return nil
}

func overlap(a, b val) bool {
	for i := range a.n {
		for j := range b.n {
			if a.reg[i] == b.reg[j] {
				return true
			}
		}
	}
	return false
}
