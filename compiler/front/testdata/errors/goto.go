package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
again:
	x[0]++
	if x[0] < 8 {
		goto again // ERROR 3 "K0112: goto"
	}
}
