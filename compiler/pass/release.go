package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// dropBounds removes every bounds check in a release build.
func dropBounds(m *ir.Module, opt *Options) error {
	if !opt.Release {
		return nil
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			b.Instrs = slices.DeleteFunc(b.Instrs, func(v *ir.Value) bool { return v.Op == ir.OpBounds })
		}
	}
	return nil
}
