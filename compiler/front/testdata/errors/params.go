package k

import "github.com/gokiln/kiln/dsl"

type pair struct{ a, b float32 }

//kiln:kernel
func K(t dsl.Thread,
	a [][]float32, // ERROR 4 "K0203: parameter of kernel K is \[\]\[\]float32, a slice of slices"
	b func(float32) float32, // ERROR 4 "K0203: .* a function"
	c *float32, // ERROR 4 "K0203: .* a pointer"
	d pair, // ERROR 4 "K0203: .*k.pair, a struct"
	e [4]float32, // ERROR 4 "K0203: .* an array"
	f []pair, // ERROR 4 "K0203: .* a slice of what is not a number"
	g any, // ERROR 4 "K0203: .* an interface"
	h map[int]int, // ERROR 4 "K0203: .* a map"
	i chan int, // ERROR 4 "K0203: .* a channel"
	j string, // ERROR 4 "K0203: .* not a number or bool"
	l complex64, // ERROR 4 "K0203: .* not a number or bool"
	m, n []bool,
	o dsl.F16,
	p []dsl.BF16,
) {
}

//kiln:kernel
func V(t dsl.Thread, x ...float32) {} // ERROR 24 "K0204: kernel V is variadic"

//kiln:kernel
func (p pair) M(t dsl.Thread) {} // ERROR 15 "K0204: kernel M is a method"

//kiln:kernel
func Asm(t dsl.Thread) // ERROR 6 "K0204: kernel Asm has no body"

//kiln:kernel
func G[T any](t dsl.Thread, x T) {}

//kiln:kernel
func H[T pair | float32](t dsl.Thread, x []T) {} // ERROR 42 "K0203: .*\[\]k.pair"
