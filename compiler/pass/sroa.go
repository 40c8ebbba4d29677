package pass

import "github.com/gokiln/kiln/compiler/ir"

func sroa(f *ir.Func) {}
