package kernels

import "github.com/gokiln/kiln/dsl"

// Cast stores elements in another type, by value.
//
//kiln:kernel
func Cast[D, S dsl.Number](t dsl.Thread, out []D, x []S, w Walk) {
	w.Each(t, func(at [Operands]int) { out[at[0]] = dsl.Convert[D](x[at[1]]) })
}

// Fill stores one number everywhere.
//
//kiln:kernel
func Fill[T dsl.Number](t dsl.Thread, out []T, w Walk, v T) {
	w.Each(t, func(at [Operands]int) { out[at[0]] = v })
}

// Where stores the element of x where that of cond is true, which any number but 0
// is, and else that of y.
//
//kiln:kernel
func Where[M dsl.Int | dsl.Uint, T dsl.Number](t dsl.Thread, out []T, cond []M, x, y []T, w Walk) {
	w.Each(t, func(at [Operands]int) {
		v := y[at[3]]
		if cond[at[1]] != 0 {
			v = x[at[2]]
		}
		out[at[0]] = v
	})
}

// Count stores a + i·b in element i.
//
//kiln:kernel
func Count[T dsl.Number, C Computed](t dsl.Thread, out []T, w Walk, a, b C) {
	w.Each(t, func(at [Operands]int) { out[at[0]] = dsl.Convert[T](a + dsl.Convert[C](at[0])*b) })
}
