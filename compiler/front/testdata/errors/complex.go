package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var z complex64       // ERROR 8 "K0115: complex"
	w := complex(x[0], 1) // ERROR 7 "K0115: complex"
	x[0] = real(w)        // ERROR 9 "K0115: real"
	v := 2i               // ERROR 7 "K0115: complex number"
	_, _ = z, v
}
