package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// release removes the checks that a build does without. The bounds checks of a
// small variant stay until narrow has learnt from them.
func release(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		if !opt.Checked {
			drop(f, ir.OpDivisor, ir.OpCount)
		}
		if opt.Release && !opt.Small {
			drop(f, ir.OpBounds, ir.OpNonNil)
		}
	}
	return nil
}

func drop(f *ir.Func, ops ...ir.Op) {
	for _, b := range f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return slices.Contains(ops, v.Op) })
	}
}

// isCheck reports whether op is there for its failure only, which most builds do
// without.
func isCheck(op ir.Op) bool {
	return op == ir.OpBounds || op == ir.OpNonNil || op == ir.OpDivisor || op == ir.OpCount
}
