package pass

import "github.com/gokiln/kiln/compiler/ir"

func unroll(f *ir.Func) {}
