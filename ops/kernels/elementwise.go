package kernels

import "github.com/gokiln/kiln/dsl"

// Unary stores f of an element.
//
//kiln:kernel
func Unary[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Walk, f func(C) C) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[C](x[at[1]])))
	})
}

// Binary stores f of two elements.
//
//kiln:kernel
func Binary[T dsl.Number, C Computed](t dsl.Thread, out, x, y []T, w Walk, f func(a, b C) C) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[C](x[at[1]]), dsl.Convert[C](y[at[2]])))
	})
}

// Compare stores 1 where f of two elements is true, and else 0.
//
//kiln:kernel
func Compare[T dsl.Number, C Computed](t dsl.Thread, out []uint8, x, y []T, w Walk, f func(a, b C) bool) {
	w.Each(t, func(at [Operands]int) {
		v := uint8(0)
		if f(dsl.Convert[C](x[at[1]]), dsl.Convert[C](y[at[2]])) {
			v = 1
		}
		out[at[0]] = v
	})
}

// Test stores 1 where f of an element is true, and else 0.
//
//kiln:kernel
func Test[T dsl.Number, C Computed](t dsl.Thread, out []uint8, x []T, w Walk, f func(C) bool) {
	w.Each(t, func(at [Operands]int) {
		v := uint8(0)
		if f(dsl.Convert[C](x[at[1]])) {
			v = 1
		}
		out[at[0]] = v
	})
}
