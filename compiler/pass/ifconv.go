package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// maxSpeculated bounds the work, in simple instructions, that a branch may turn
// into: about what a divergent branch costs.
const maxSpeculated = 24

// ifconv turns branches around a few pure operations into selects. Threads that
// took different sides then stay together, and the block gets longer, which
// gives later passes and the target's scheduler more to work with.
func ifconv(f *ir.Func) {
	ir.RemoveUnreachable(f)
	if len(f.Blocks) == 1 {
		return
	}
	any := false
	for again := true; again; {
		again = false
		in := analysis.InEdges(f)
		for _, b := range slices.Backward(analysis.RPO(f)) { // inner branches first
			if convertIf(f, b, in) {
				again, any = true, true
			}
		}
		if again {
			ir.RemoveUnreachable(f)
			mergeChains(f)
		}
	}
	if any {
		straighten(f)
	}
}

// side is one path through an if: some instructions and then values for the
// block where the paths join.
type side struct {
	block *ir.Block // nil if the branch goes to the meeting block directly
	to    *ir.Block
	args  []*ir.Value
	cost  int
}

// sides returns the paths that successor k of b may begin: through its block, if it
// does little, and directly to it.
func sides(b *ir.Block, k int, in [][]analysis.Edge) []side {
	e := b.Term.Succs[k]
	out := []side{{to: e.To, args: e.Args}}
	s := e.To
	if s.Term.Kind != ir.TermJump || len(in[s.ID]) != 1 || len(s.Params) > 0 || s.Term.Succs[0].To == s {
		return out
	}
	cost := 0
	for _, v := range s.Instrs {
		if !v.Op.Pure() || v.Op == ir.OpLocal {
			return out
		}
		if cost += costOf(v); cost > maxSpeculated {
			return out
		}
	}
	j := s.Term.Succs[0]
	return append(out, side{block: s, to: j.To, args: j.Args, cost: cost})
}

// costOf returns about how many simple instructions v is worth.
func costOf(v *ir.Value) int {
	switch v.Op {
	case ir.OpConst:
		return 0
	case ir.OpDiv, ir.OpRem, ir.OpSqrt:
		if v.Type.Size() == 8 {
			return maxSpeculated
		}
		return 8
	}
	if v.Op.Info().Rule == ir.RuleApprox {
		return 2 // a quarter of the rate of others
	}
	return 1
}

func convertIf(f *ir.Func, b *ir.Block, in [][]analysis.Edge) bool {
	if b.Term.Kind != ir.TermBranch {
		return false
	}
	for _, x := range sides(b, 0, in) {
		for _, y := range sides(b, 1, in) {
			if x.to == y.to && x.to != b && x.cost+y.cost <= maxSpeculated && selects(x, y) <= maxSelects {
				meet(f, b, x, y, in)
				return true
			}
		}
	}
	return false
}

func selects(x, y side) int {
	n := 0
	for i := range x.args {
		if !analysis.SameValue(x.args[i], y.args[i]) {
			n++
		}
	}
	return n
}

// meet moves both sides into b, which then jumps to where they met.
func meet(f *ir.Func, b *ir.Block, x, y side, in [][]analysis.Edge) {
	for _, s := range []side{x, y} {
		if s.block == nil {
			continue
		}
		for _, v := range s.block.Instrs {
			b.Append(v)
		}
		s.block.Instrs = nil
	}
	args := make([]*ir.Value, len(x.args))
	for i := range args {
		if args[i] = x.args[i]; !analysis.SameValue(x.args[i], y.args[i]) {
			args[i] = b.Emit(f, ir.OpSelect, x.args[i].Type, b.Term.Args[0], x.args[i], y.args[i])
			args[i].Pos = b.Term.Pos
		}
	}
	// The edges that the meeting block loses must not count for it, so that a
	// branch around this one can be converted in the same sweep.
	gone := func(e analysis.Edge) bool { return e.From == b || e.From == x.block || e.From == y.block }
	in[x.to.ID] = append(slices.DeleteFunc(in[x.to.ID], gone), analysis.Edge{From: b, Succ: 0})
	b.Jump(x.to, args...)
}
