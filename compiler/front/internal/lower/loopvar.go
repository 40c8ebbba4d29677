package lower

import (
	"go/token"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// A variable of a three-clause loop is new in each iteration. Where a function
// literal captures it, or its address is taken, go/ssa makes that explicit:
//
//	     outer = alloc
//	loop: i = phi [outer, next]
//	post: old = *i; next = alloc; *next = old
//
// No pointer into one iteration lives on in the next (outlives refuses those),
// so one object in memory serves all of them, and the phi is its address.

// loopVar returns the variable that phi stands for, nil if it is not a phi of
// this form.
func (f *funcLower) loopVar(phi *ssa.Phi) *ssa.Alloc {
	if len(phi.Edges) != 2 {
		return nil
	}
	outer, ok1 := phi.Edges[0].(*ssa.Alloc)
	next, ok2 := phi.Edges[1].(*ssa.Alloc)
	if ok1 && ok2 && setFrom(outer, phi) { // the edges are in any order
		outer, next = next, outer
	}
	if !ok1 || !ok2 || !setFrom(next, phi) || !phi.Block().Dominates(next.Block()) || phi.Block().Dominates(outer.Block()) || gotype.HasPointers(gotype.Deref(phi.Type())) {
		return nil
	}
	return outer
}

// setFrom reports whether the instruction after a sets the variable to the
// value that phi points to, read in the instruction before.
func setFrom(a *ssa.Alloc, phi *ssa.Phi) bool {
	instrs := a.Block().Instrs
	for i, in := range instrs {
		if in != a || i == 0 || i+1 == len(instrs) {
			continue
		}
		load, ok1 := instrs[i-1].(*ssa.UnOp)
		store, ok2 := instrs[i+1].(*ssa.Store)
		return ok1 && ok2 && load.Op == token.MUL && load.X == phi && store.Addr == a && store.Val == load
	}
	return false
}

// perIteration returns the phi whose loop variable a is, in a later iteration.
func perIteration(a *ssa.Alloc) *ssa.Phi {
	for _, use := range *a.Referrers() {
		if phi, ok := use.(*ssa.Phi); ok && setFrom(a, phi) {
			return phi
		}
	}
	return nil
}
