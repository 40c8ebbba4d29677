package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	p := new(int)          // ERROR 7 "K0108: new"
	s := make([]int, 8)    // ERROR 7 "K0108: make allocates"
	u := make([]int, x[0]) // ERROR 7 "K0108: make allocates"
	x[0] = *p + s[0] + u[0]
}
