package pass

import (
	"fmt"

	"github.com/gokiln/kiln/compiler/analysis"
	"github.com/gokiln/kiln/compiler/ir"
)

// ConvergenceError is what the pass converge found.
type ConvergenceError struct{ Found []analysis.Divergence }

func (e *ConvergenceError) Error() string {
	return fmt.Sprintf("%d operations are not reached by all threads together", len(e.Found))
}

// converge fails if operations of m stand under divergent control. If that is so
// only in blocks of some shapes, the module is for the others: see [ir.Bounds].
func converge(m *ir.Module, opt *Options) error {
	if !opt.Converge {
		return nil
	}
	found := analysis.CheckConvergence(m)
	if len(found) == 0 {
		return nil
	}
	m.Launch.Row = opt.WarpSize
	if found = analysis.CheckConvergence(m); len(found) == 0 {
		return nil
	}
	return &ConvergenceError{found}
}
