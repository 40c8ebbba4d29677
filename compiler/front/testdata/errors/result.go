package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) float32 { return x[0] } // ERROR 35 "K0202: kernel K returns a value"
