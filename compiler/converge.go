package compiler

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/ir"
)

// convergence turns what the pass converge found into diagnostics.
func convergence(m *ir.Module, found []analysis.Divergence) diag.List {
	var list diag.List
	for _, d := range found {
		code, what := diag.DivergentBarrier, "barrier"
		switch d.Need {
		case ir.UniformWarp:
			code, what = diag.DivergentWarp, "warp operation"
		case ir.UniformGrid:
			what = "barrier of the grid"
		}
		if code == diag.DivergentWarp && slices.ContainsFunc(found, func(b analysis.Divergence) bool { return b.Need <= ir.UniformBlock && b.Op.Pos == d.Op.Pos }) {
			continue // a function with both, such as dsl.BlockSum, is one mistake
		}
		msg := fmt.Sprintf("%s is not reached by all threads together", what)
		report := diag.New(diagPosition(m.PosOf(d.Op.Pos)), code, msg, parting(m, d))
		if code == diag.DivergentWarp && slices.ContainsFunc(d.Why, ofThread) {
			report.Fix = "if the condition is to choose warps, make it of t.Warp(), which the threads of a warp agree on; otherwise " + report.Fix
		}
		list = append(list, report)
	}
	return list.Sorted()
}

// ofThread reports whether values begin to differ with the index of a thread.
func ofThread(r analysis.Reason) bool { return r.Kind == analysis.Differs && r.Op.Op == ir.OpThread }

// parting says where the threads part, and why.
func parting(m *ir.Module, d analysis.Divergence) string {
	at := m.PosOf(d.Branch)
	if at == (ir.Pos{}) {
		return "the branch that separates the threads has no position"
	}
	note := "the threads part at " + diagPosition(at).String()
	if len(d.Why) > 0 {
		note += ", because the condition depends on " + reasons(m, d.Why)
	}
	return note
}

// reasons spells the path from a condition to where values begin to differ. Steps
// at one position are reported once.
func reasons(m *ir.Module, why []analysis.Reason) string {
	var parts []string
	last := ""
	for _, r := range why {
		at := diagPosition(m.PosOf(r.Pos)).String()
		text := reason(r) + " at " + at
		if text != last {
			parts = append(parts, text)
		}
		last = text
	}
	return strings.Join(parts, ", and that on ")
}

func reason(r analysis.Reason) string {
	switch r.Kind {
	case analysis.Read:
		return "what is read"
	case analysis.Parted:
		return "the way taken"
	case analysis.Leaves:
		return "the iteration in which the loop is left"
	}
	switch op := r.Op.Op; op {
	case ir.OpThread:
		return "t.Thread" + string("XYZ"[min(r.Op.Imm, 2)]) + "()"
	case ir.OpBlock:
		return "t.Block" + string("XYZ"[min(r.Op.Imm, 2)]) + "()"
	case ir.OpShared:
		return "shared memory"
	case ir.OpLane:
		return "t.Lane()"
	case ir.OpWarp:
		return "t.Warp()"
	case ir.OpShflIdx, ir.OpShflUp, ir.OpShflDown, ir.OpShflXor:
		return "the result of a shuffle"
	case ir.OpBallot, ir.OpAny, ir.OpAll:
		return "the vote of a warp"
	case ir.OpLoad:
		return "a variable"
	default:
		if strings.HasPrefix(op.String(), "atomic.") {
			return "the result of an atomic operation"
		}
		return "the result of " + op.String()
	}
}
