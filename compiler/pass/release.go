package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// release removes the checks that a build does without. The bounds checks of a
// small variant stay until narrow has learnt from them, those of arrays until diagnose has.
func release(m *ir.Module, opt *Options) error {
	for _, f := range m.Funcs {
		if !opt.Checked {
			drop(f, ir.OpDivisor, ir.OpCount)
		}
		if opt.Release && !opt.Small {
			drop(f, ir.OpNonNil)
			dropSliceBounds(f)
		}
	}
	return nil
}

// dropSliceBounds removes the bounds checks of f apart from those of arrays.
func dropSliceBounds(f *ir.Func) {
	for _, b := range f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpBounds && !v.Args[1].IsConst() })
	}
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
