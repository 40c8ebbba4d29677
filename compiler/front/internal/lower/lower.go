package lower

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// Module makes the module of a kernel. Mistakes go to the kernel's sink.
func Module(k *Kernel) *ir.Module {
	l := newLowerer(k, k.Package+"."+k.Name+typeArgs(k.Func))
	l.kernel(k.Func)
	return l.m
}

func (l *lowerer) kernel(fn *ssa.Function) {
	f := l.newFunc(fn, l.k.Name)
	f.out.Kernel = true
	var at []token.Pos // of the type of each parameter
	for _, p := range l.k.Decl.Type.Params.List {
		for range max(len(p.Names), 1) {
			at = append(at, p.Type.Pos())
		}
	}
	f.prologue = func() { f.params(at) }
	l.depth[fn]++
	f.body()
	l.depth[fn]--
}

// Func lowers a function by itself. Which memory pointers point to is not
// known without a kernel, so that a function with pointers is not lowered.
func Func(k *Kernel) {
	low, fn := newLowerer(k, k.Name), k.Func
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
