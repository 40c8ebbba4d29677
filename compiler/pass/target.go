package pass

import "github.com/gokiln/kiln/compiler/ir"

// fixTarget replaces what the target fixes by constants: the size of a warp.
func fixTarget(m *ir.Module, opt *Options) error {
	if opt.WarpSize == 0 {
		return nil
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			for _, v := range b.Instrs {
				if v.Op == ir.OpWarpSize {
					become(v, ir.OpConst, v.Type)
					v.Imm = uint64(opt.WarpSize)
				}
			}
		}
	}
	return nil
}
