package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	recover() // ERROR 2 "K0105: recover"
}
