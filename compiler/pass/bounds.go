package pass

import "github.com/gokiln/kiln/compiler/ir"

func bounds(f *ir.Func) {}
