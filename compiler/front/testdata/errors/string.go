package k

import "github.com/gokiln/kiln/dsl"

const name = "abc"

type labelled struct {
	label string // ERROR 8 "K0109: string"
	n     int
}

func f(s string) int { return len(s) } // ERROR 10 "K0109: string"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	x[0] = len(name)
	s := "abc" // ERROR 7 "K0109: string"
	x[1] = f(s)
	x[2] = f(name) // ERROR 11 "K0109: string"
	var l labelled
	x[3] = l.n
	for i := range name { // ERROR 2 "K0109: range over a string"
		x[i] = 1
	}
}
