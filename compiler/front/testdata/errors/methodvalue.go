package k

import "github.com/gokiln/kiln/dsl"

type acc struct{ n int }

func (a acc) get() int { return a.n }

//kiln:kernel
func K(t dsl.Thread, x []int) {
	a := acc{1}
	f := a.get   // ERROR 7 "K0114: method value a.get"
	g := acc.get // ERROR 7 "K0114: method value acc.get"
	x[0] = f() + g(a)
}
