package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	if x[0] < 0 {
		panic("negative") // ERROR 3 "K0117: panic"
	}
}
