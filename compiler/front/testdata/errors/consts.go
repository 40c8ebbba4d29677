package k

import "github.com/gokiln/kiln/dsl"

type blur struct{ Radius dsl.ConstInt }

//kiln:kernel
//kiln:const cfg.Radios=3
func Misnamed(t dsl.Thread, x []float32, cfg blur) { x[0] = float32(cfg.Radius) } // ERROR 1 "K0009: kernel Misnamed has no compile-time parameter cfg.Radios"

//kiln:kernel
//kiln:const n=3,
func Unreadable(t dsl.Thread, x []float32, n dsl.ConstInt) { x[0] = float32(n) } // ERROR 1 "K0009: .* cannot be read: n=3,"
