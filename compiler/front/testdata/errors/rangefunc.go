package k

import "github.com/gokiln/kiln/dsl"

func seq(yield func(int) bool) {
	yield(1)
}

//kiln:kernel
func K(t dsl.Thread, x []int) {
	for i := range seq { // ERROR 2 "K0113: range over a function"
		x[i] = i
	}
}
