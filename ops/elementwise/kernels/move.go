package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Cast stores elements in another type, by value.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Cast[D, S dsl.Number](t dsl.Thread, out []D, x []S, w core.Walk) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) S { return x[at[1]] },
		func(v S) D { return dsl.Convert[D](v) })
}

// Fill stores one number everywhere.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Fill[T dsl.Number](t dsl.Thread, out []T, w core.Walk, v T) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) T { return v },
		func(v T) T { return v })
}

// choice is what [Where] takes one of two by.
type choice[M, T any] struct {
	cond M
	x, y T
}

// Where stores the element of x where that of cond is true, which any number but 0
// is, and else that of y.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Where[M dsl.Int | dsl.Uint, T dsl.Number](t dsl.Thread, out []T, cond []M, x, y []T, w core.Walk) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) choice[M, T] { return choice[M, T]{cond[at[1]], x[at[2]], y[at[3]]} },
		func(c choice[M, T]) T {
			if c.cond != 0 {
				return c.x
			}
			return c.y
		})
}

// Count stores a + i·b in element i.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Count[T dsl.Number, C core.Computed](t dsl.Thread, out []T, w core.Walk, a, b C) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) int { return at[0] },
		func(i int) T { return dsl.Convert[T](a + dsl.Convert[C](i)*b) })
}
