package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []float32) {
	var a [4]float32
	s := x // ERROR 2 "K0127: \[\]float32 points to different memory on different paths"
	if x[0] > 0 {
		s = a[:]
	}
	s[1] = 2
}

func pick(c bool, p, q *float32) *float32 {
	if c {
		return p
	}
	return q // ERROR 2 "K0127: \*float32 points to different memory"
}

//kiln:kernel
func Returned(t dsl.Thread, x []float32) {
	s := dsl.Shared[[8]float32](t)
	*pick(x[0] > 0, &s[1], &x[1]) = 2
}
