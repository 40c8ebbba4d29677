package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, x []int) {
	var p *int = nil // ERROR 15 "K0126: nil"
	if x != nil {    // ERROR 10 "K0126: nil"
		x[0] = *p
	}
}

func sum(s []int) int { return s[0] }

//kiln:kernel
func Unset(t dsl.Thread, x []int) {
	var s []int // ERROR 6 "K0126: value of type \[\]int may be used before it is set"
	if x[0] > 0 {
		s = x[1:]
	}
	x[0] = sum(s)
	var u []int
	x[1] = sum(u)
	var p *int
	x[2] = *p // ERROR 9 "K0126: nil is dereferenced"
	var f func() int
	x[3] = f() // ERROR 9 "K0124: .*not known at compile time"
	x[4] = u[1]
	x[5] = none()[0]
	u = u[1:]
}

func none() []int {
	return none2()
}

func none2() (s []int) {
	return // ERROR 2 "K0126: nil \[\]int is returned"
}
