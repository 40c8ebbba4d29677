package llvm

import (
	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/target"
)

func init() {
	compiler.Register(target.LLVM, func(m *ir.Module, t target.Target, opt compiler.Options) (string, error) {
		return Options{Lines: opt.Lines, Aligned: opt.Assume&compiler.Aligned != 0, Disjoint: opt.Assume&compiler.Disjoint != 0}.Emit(m, t)
	}, ir.Symbol)
}
