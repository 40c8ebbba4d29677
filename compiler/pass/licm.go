package pass

import "github.com/gokiln/kiln/compiler/ir"

func licm(f *ir.Func) {}
