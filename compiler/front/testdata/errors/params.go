package k

import "github.com/gokiln/kiln/dsl"

type pair struct{ a, b float32 }

type view struct {
	data []float32
	n    dsl.ConstInt
	_    []bool
}

type nested struct {
	_     dsl.F16
	parts [2]struct {
		on  bool
		bad []pair
	}
}

type tuned struct {
	a [2]struct{ n dsl.ConstInt }
}

type named struct {
	n    dsl.ConstInt
	name *int32
}

type twoViews = struct {
	v view
	w [2]view
}

type slices = struct {
	v struct {
		data [][]int8
		n    int
	}
}

type large = struct {
	data []int8
	v    struct{ a, b [200]int8 }
}

type dataFunc = struct {
	data []int8
	f    func(int) int
}

//kiln:kernel
func K(t dsl.Thread,
	a [][]float32, // ERROR 4 "K0203: parameter of kernel K is \[\]\[\]float32, a slice of slices"
	b func(...float32) float32, // ERROR 4 "K0203: .* a function"
	b2 struct{ f func(float32) float32 }, // ERROR 5 "K0203: .* whose part .f is func\(float32\) float32, a function"
	b3 func(float32) float32,
	c *float32, // ERROR 4 "K0203: .* a pointer\nfix: pass a slice of one element"
	d nested, // ERROR 4 "K0203: parameter of kernel K is k.nested, whose part .parts\[i\].bad is \[\]k.pair, a slice"
	e [4]named, // ERROR 4 "K0203: parameter of kernel K is \[4\]k.named, whose part \[i\].name is \*int32, a pointer"
	f []pair,
	g any, // ERROR 4 "K0203: .* an interface\nfix: make the type a type parameter"
	h map[int]int, // ERROR 4 "K0203: .* a map\nfix: pass its keys and values as two slices"
	i chan int, // ERROR 4 "K0203: .* a channel\nfix: pass a slice for the results"
	j string, // ERROR 4 "K0203: .* not a number or bool"
	l complex64, // ERROR 4 "K0203: .* not a number or bool"
	m, n []bool,
	o dsl.F16,
	p []dsl.BF16,
	q [300]int8, // ERROR 4 "K0203: .*\[300\]int8, which holds more than 256 numbers"
	r struct{ t dsl.Thread }, // ERROR 4 "K0203: .* whose part .t is dsl.Thread, a second thread"
	s []dsl.ConstInt, // ERROR 4 "K0203: .* a slice of compile-time values"
	x []nested, // ERROR 4 "K0203: .*\[\]k.nested, a slice of elements whose part .parts\[i\].bad is \[\]k.pair, a slice"
	y []*int, // ERROR 4 "K0203: .*\[\]\*int, a slice of what is not a number: a pointer"
	z []tuned, // ERROR 4 "K0203: .*\[\]k.tuned, a slice of compile-time values"
	aa []struct{}, // ERROR 5 "K0203: .* whose elements hold nothing"
	bb [][1 << 31]int8, // ERROR 5 "K0203: .* whose elements are too large"
	cc [][3]float32,
	u pair,
	v [2]pair,
	w dsl.ConstBool,
	dd view,
	ee twoViews, // ERROR 5 "K0203: .* whose part .w is \[2\]k.view, whose part \[i\].data is \[\]float32, a slice"
	ff slices, // ERROR 5 "K0203: .* whose part .v.data is \[\]\[\]int8, a slice of slices"
	gg dataFunc, // ERROR 5 "K0203: .* whose part .f is func\(int\) int, a function"
	hh []view, // ERROR 5 "K0203: .*a slice of elements whose part .data is \[\]float32, a slice"
	ii large, // ERROR 5 "K0203: .* whose part .v is struct{a \[200\]int8; b \[200\]int8}, which holds more than 256 numbers"
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
func H[T tuned | float32](t dsl.Thread, x []T) {} // ERROR 43 "K0203: .*\[\]k.tuned"
