package cases

import "github.com/gokiln/kiln/dsl"

func product[T dsl.Real](a, b T) T { return a * b }

// Contract has products and sums that may become one operation, and some that a
// conversion keeps apart.
//
//kiln:kernel
//kiln:fastmath
func Contract(t dsl.Thread, out, x []float32) {
	a, b, c := x[0], x[1], x[2]
	out[0] = a*b + c
	out[1] = c - product(a, b)
	out[2] = float32(a*b) + c
	p := a * c
	out[3] = float32(p) + b
	out[4] = float32(-(a * b)) + dsl.Exp2(c)*a
}
