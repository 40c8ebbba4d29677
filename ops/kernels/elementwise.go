package kernels

import "github.com/gokiln/kiln/dsl"

// Unary stores f of an element.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Unary[T dsl.Number, C Computed](t dsl.Thread, out, x []T, w Walk, f func(C) C) {
	apply(t, &w, out,
		func(at [Operands]int) T { return x[at[1]] },
		func(v T) T { return dsl.Convert[T](f(dsl.Convert[C](v))) })
}

// Binary stores f of two elements.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Binary[T dsl.Number, C Computed](t dsl.Thread, out, x, y []T, w Walk, f func(a, b C) C) {
	apply(t, &w, out,
		func(at [Operands]int) [2]T { return [2]T{x[at[1]], y[at[2]]} },
		func(v [2]T) T { return dsl.Convert[T](f(dsl.Convert[C](v[0]), dsl.Convert[C](v[1]))) })
}

// Compare stores 1 where f of two elements is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Compare[T dsl.Number, C Computed](t dsl.Thread, out []uint8, x, y []T, w Walk, f func(a, b C) bool) {
	apply(t, &w, out,
		func(at [Operands]int) [2]T { return [2]T{x[at[1]], y[at[2]]} },
		func(v [2]T) uint8 { return truth(f(dsl.Convert[C](v[0]), dsl.Convert[C](v[1]))) })
}

// Test stores 1 where f of an element is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Test[T dsl.Number, C Computed](t dsl.Thread, out []uint8, x []T, w Walk, f func(C) bool) {
	apply(t, &w, out,
		func(at [Operands]int) T { return x[at[1]] },
		func(v T) uint8 { return truth(f(dsl.Convert[C](v))) })
}
