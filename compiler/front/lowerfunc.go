package front

import (
	"go/types"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// lowerFunc lowers a function by itself. Which memory pointers point to is not
// known without a kernel, so that a function with pointers is not lowered.
func lowerFunc(k *kernel) {
	low, fn := newLowerer(k, k.name), k.fn
	shapes := low.m.NewFunc("arguments")
	args := make([]val, len(fn.Params))
	for i, p := range fn.Params {
		if gotype.IsThread(p.Type()) {
			continue
		}
		switch u := p.Type().Underlying().(type) {
		case *types.Slice:
			elem := gotype.Memory(u.Elem())
			if elem == nil {
				return
			}
			args[i].parts = []val{{v: shapes.NewParam(ir.PtrTo(ir.Global, elem))}, {v: shapes.NewParam(ir.I64)}}
		default:
			if gotype.HasPointers(p.Type()) || gotype.Leaves(p.Type()) > gotype.MaxLeaves {
				return
			}
			args[i] = typed(p.Type(), shapes.NewParam)
		}
	}
	low.instance(fn, args, nil)
}
