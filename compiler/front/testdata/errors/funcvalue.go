package k

import "github.com/gokiln/kiln/dsl"

func inc(x int) int { return x + 1 }
func dec(x int) int { return x - 1 }

//kiln:kernel
func K(t dsl.Thread, x []int) {
	f := inc // ERROR 2 "K0124: which function is meant depends on the path"
	if x[0] > 0 {
		f = dec
	}
	x[1] = f(x[2])
}

//kiln:kernel
func Captured(t dsl.Thread, x []int) {
	f := inc // ERROR 2 "K0124: variable of type func.*"
	g := func() int { return f(1) }
	f = dec
	x[0] = g()
}
