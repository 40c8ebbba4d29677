package pass

import (
	"slices"

	"github.com/gokiln/kiln/compiler/ir"
)

// copies makes a load and a store of each copy to shared memory that may go on
// beside its thread, and leaves out the waiting for them, unless the target has such
// copies. At once is soon enough: nobody may look before the wait.
func copies(m *ir.Module, opt *Options) error {
	if opt.Async {
		return nil
	}
	for _, f := range m.Funcs {
		for _, b := range f.Blocks {
			if slices.ContainsFunc(b.Instrs, isCopy) {
				b.Instrs = copiedAtOnce(f, b)
			}
		}
	}
	return nil
}

func isCopy(v *ir.Value) bool { return v.Op == ir.OpCopyAsync || v.Op == ir.OpCopyWait }

func copiedAtOnce(f *ir.Func, b *ir.Block) []*ir.Value {
	out := make([]*ir.Value, 0, 2*len(b.Instrs))
	for _, v := range b.Instrs {
		switch v.Op {
		case ir.OpCopyWait:
			continue
		case ir.OpCopyAsync:
			dst, src := v.Args[0], v.Args[1]
			x := f.NewValue(ir.OpLoad, src.Type.Elem, src)
			x.Pos, x.Block = v.Pos, b
			out = append(out, x)
			become(v, ir.OpStore, v.Type, dst, x)
		}
		out = append(out, v)
	}
	return out
}
