package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, n int, x, y []float32) {
	s := [2][]float32{x, y}
	x[0] = s[1][0]
	x[1] = s[n][0] // ERROR 10 "K0128: array of type \[2\]\[\]float32 is indexed by a variable"
}
