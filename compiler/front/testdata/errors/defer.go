package k

import "github.com/gokiln/kiln/dsl"

func done(x []int) { x[0] = 0 }

//kiln:kernel
func K(t dsl.Thread, x []int) {
	defer done(x)  // ERROR 2 "K0104: defer"
	defer func() { // ERROR 2 "K0104: defer"
		recover()
	}()
}
