package pass

import "github.com/gokiln/kiln/compiler/ir"

func cse(f *ir.Func) {}
