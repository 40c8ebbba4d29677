package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	x[0] = 1 2 // ERROR 11 "K0001: expected ';', found 2"
}
