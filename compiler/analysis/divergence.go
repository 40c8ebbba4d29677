package analysis

import "github.com/gokiln/kiln/compiler/ir"

// Divergence is a barrier or warp operation that not all of the threads that
// must meet there are sure to reach together.
type Divergence struct {
	Func   *ir.Func
	Op     *ir.Value     // the operation
	Branch int           // position of the branch that separates the threads, an index into Module.Pos
	Cond   *ir.Value     // the condition of that branch
	Need   ir.Uniformity // what Op requires of the control above it
	Have   ir.Uniformity // what the control is
	Why    []Reason      // where the threads' values of Cond begin to differ
}

// CheckConvergence returns the operations of m that stand under divergent control, in order. A
// barrier needs control that is the same for the block of threads, a barrier of the grid such for
// all threads, a shuffle, vote or warp barrier control that is the same for the warp.
//
// It wants a module without calls, and judges best after sroa has turned local
// variables into values.
func CheckConvergence(m *ir.Module) []Divergence {
	if !hasConvergent(m) {
		return nil
	}
	var found []Divergence
	for _, f := range m.Funcs {
		u := analyse(m, f)
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if need, ok := needs(v.Op); ok && u.control[b.ID] > need {
					found = append(found, u.divergence(v, need))
				}
			}
		}
	}
	return found
}

// needs returns the control that a convergent operation requires.
func needs(op ir.Op) (ir.Uniformity, bool) {
	switch {
	case op == ir.OpCall || !op.Has(ir.Convergent):
		return 0, false
	case op == ir.OpGridBarrier:
		return ir.UniformGrid, true
	case op == ir.OpBarrier:
		return ir.UniformBlock, true
	}
	return ir.UniformWarp, true
}

func hasConvergent(m *ir.Module) bool {
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if _, ok := needs(v.Op); ok {
					return true
				}
			}
		}
	}
	return false
}

func (u *uniformity) divergence(v *ir.Value, need ir.Uniformity) Divergence {
	cause := u.cause[v.Block.ID]
	t := &cause.Term
	pos := t.Pos
	if pos == 0 {
		pos = t.Args[0].Pos
	}
	return Divergence{Func: u.f, Op: v, Branch: pos, Cond: t.Args[0], Need: need, Have: u.control[v.Block.ID], Why: u.why(t.Args[0], cause)}
}
