package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	y := append(x, 1) // ERROR 7 "K0107: append"
	x[0] = y[0]
}
