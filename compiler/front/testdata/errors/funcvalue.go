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
	f := inc // ERROR 2 "K0124: variable of type func\(x int\) int may hold different functions"
	g := func() int { return f(1) }
	f = dec
	x[0] = g()
}

type ops struct{ f func(int) int }

func (o *ops) set() {
	o.f = dec
}

//kiln:kernel
func InStruct(t dsl.Thread, x []int) {
	o := ops{inc} // ERROR 2 "K0124: part of a variable of type func\(int\) int may hold different functions"
	o.f = dec
	x[0] = o.f(1)
}

//kiln:kernel
func Changed(t dsl.Thread, x []int) {
	o := ops{inc} // ERROR 2 "K0124: part of a variable"
	o.set()
	x[0] = o.f(1)
}
