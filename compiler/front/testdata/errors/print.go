package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	println(x[0]) // ERROR 2 "K0116: println"
	print("a")    // ERROR 2 "K0116: print"
}
