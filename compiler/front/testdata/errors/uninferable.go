package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K[T dsl.Float, U any](t dsl.Thread, x []T) { // ERROR 21 "K0205: type parameter U of K cannot be inferred"
	x[0] = dsl.To[T](1)
}
