package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var a [4096]float32
	a[int(x[0])] = 1
	b := a // ERROR 7 "K0130: value of type \[4096\]float32 is too large to be copied"
	x[0] = b[int(x[1])]
}
