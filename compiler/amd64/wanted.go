package amd64

import (
	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// findFused marks the comparisons of uniform integers that only the branch behind
// them uses: it makes them itself.
func (e *emitter) findFused() {
	e.fused, e.used, e.quick = make([]bool, len(e.Shapes)), make([]bool, len(e.Shapes)), map[*ir.Value]analysis.LaneTest{}
	uses := make([]int, len(e.Shapes))
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		count := func(list []*ir.Value) {
			for _, x := range list {
				uses[x.ID]++
				e.used[x.ID] = true
			}
		}
		for _, v := range b.Instrs {
			if v.Op != ir.OpWhole { // what it compares its branch does
				count(v.Args)
			}
		}
		count(b.Term.Args)
		for _, s := range b.Term.Succs {
			count(s.Args)
		}
	}
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		if b.Term.Kind != ir.TermBranch {
			continue
		}
		switch c := b.Term.Args[0]; {
		case c.Block != b || uses[c.ID] != 1:
		case e.Of(c).Kind == analysis.UniformLanes && comparesGeneral(c):
			e.fused[c.ID] = true
		default:
			e.findQuick(i)
		}
	}
}

// findWanted marks the values kept once that varying operations take as vectors, if
// that is in loops that only use them: there vectors are made where the value is.
func (e *emitter) findWanted() {
	e.wanted = make([]bool, len(e.Shapes))
	at := 0
	want := func(x *ir.Value) {
		if e.Of(x).Kind != analysis.VaryingLanes && x.Op != ir.OpConst && !e.inLoopOf(x, at) {
			e.wanted[x.ID] = true
		}
	}
	for i := range e.Blocks {
		b := e.Blocks[i].Block
		at = i
		for _, v := range b.Instrs {
			switch {
			case isPath(v) || v.Op == ir.OpBounds || v.Op.Pure() && !e.used[v.ID]:
			case v.Op == ir.OpStore:
				if e.Of(v.Args[0]).Kind == analysis.VaryingLanes || e.Of(v.Args[0]).Kind == analysis.AffineLanes || v.Args[0].Type.Space == ir.Local {
					want(v.Args[1])
				}
			case e.Of(v).Kind == analysis.VaryingLanes && v.Op.Pure():
				for _, x := range v.Args {
					want(x)
				}
			}
		}
		for _, s := range b.Term.Succs {
			to := e.Layout.Pos[s.To.ID]
			if e.Parts[i] && e.LeavesDivergent(i, to) {
				continue // made where lanes leave
			}
			for p, x := range s.Args {
				if e.Of(e.Blocks[to].Block.Params[p]).Kind == analysis.VaryingLanes {
					want(x)
				}
			}
		}
	}
}
