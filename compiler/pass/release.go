package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// release removes every bounds check in a release build. Those of a small
// variant stay until narrow has learnt from them.
func release(m *ir.Module, opt *Options) error {
	if !opt.Release || opt.Small {
		return nil
	}
	for _, f := range m.Funcs {
		dropBounds(f)
	}
	return nil
}

func dropBounds(f *ir.Func) {
	for _, b := range f.Blocks {
		b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpBounds })
	}
}
