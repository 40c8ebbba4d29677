package k

import "github.com/gokiln/kiln/dsl"

type acc struct{ n int }

func (a acc) get() int { return a.n }

func (a *acc) add(n int) { a.n += n }

type getter interface{ get() int }

func of[T getter](x T) int {
	f := x.get // ERROR 7 "K0114: method value x.get, of a type parameter"
	g := T.get // ERROR 7 "K0114: method value T.get, of a type parameter"
	return f() + g(x)
}

func adder(n int) func(int) {
	a := acc{n}
	a.add(1)
	return a.add // ERROR 2 "K0123: result of type .* points to a variable of adder"
}

//kiln:kernel
func K(t dsl.Thread, x []int) {
	a := acc{1}
	f := a.get
	g := acc.get
	x[0] = f() + g(a) + of(a)
}

//kiln:kernel
func Escapes(t dsl.Thread, x []int) {
	add := adder(3)
	add(1)
}

//kiln:kernel
func Mixed(t dsl.Thread, x []int) {
	a, b := acc{1}, acc{2}
	f := a.get // ERROR 2 "K0124: which function is meant"
	if x[0] > 3 {
		f = b.get
	}
	x[0] = f()
}
