package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	x[0] = 0b12 // ERROR 12 "K0001: invalid digit '2' in binary literal"
	x[1] = 08   // ERROR 10 "K0001: invalid digit '8' in octal literal"
}
