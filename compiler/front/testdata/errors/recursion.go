package k

import "github.com/gokiln/kiln/dsl"

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2) // ERROR 9 "K0106: fib calls itself"  ERROR 20 "K0106"
}

func even(n int) bool { return n == 0 || odd(n-1) }

func odd(n int) bool {
	return n != 0 && even(n-1) // ERROR 19 "K0106: even calls itself"
}

//kiln:kernel
func K(t dsl.Thread, x []int) {
	x[0] = fib(x[1])
	if even(x[2]) {
		x[3] = 1
	}
}

func nest(n int, f func() int) int {
	return nest(n, func() int { return f() + n }) // ERROR 9 "K0106: nest calls itself"
}

//kiln:kernel
func L(t dsl.Thread, x []int) {
	x[0] = nest(1, func() int { return 1 })
}

type node struct {
	f func(int) int
	n int
}

// Literals that call themselves, directly, through each other, and through a
// struct.
//
//kiln:kernel
func Literals(t dsl.Thread, x []int) {
	var fact func(int) int
	fact = func(n int) int { // ERROR 2 "K0106: the function literal uses the variable that holds it, and so calls itself"
		if n < 2 {
			return 1
		}
		return n * fact(n-1)
	}
	x[0] = fact(x[1])
	var ping, pong func(int) int
	ping = func(n int) int { return pong(n) }
	pong = func(n int) int { return ping(n) } // ERROR 2 "K0106"
	x[1] = ping(1) + pong(2)
	var s node
	s.f = func(n int) int { return s.f(n) } // ERROR 4 "K0106"
	x[2] = s.f(3)
}
