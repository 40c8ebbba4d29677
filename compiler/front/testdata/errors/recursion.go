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
