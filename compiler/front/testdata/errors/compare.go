package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	p, q := &x[0], &x[1]
	if p == q { // ERROR 7 "K0129: values of type \*int are compared"
		x[0] = 1
	}
}
