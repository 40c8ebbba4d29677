package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// The kernels of functions that programs bring along: of one to four operands. Each
// operand has a type in memory and one that the function takes.

// Map1 stores f of an element.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Map1[T, A, X, R dsl.Number](t dsl.Thread, out []T, a []A, w core.Walk, f func(X) R) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) A { return a[at[1]] },
		func(v A) T { return dsl.Convert[T](f(dsl.Convert[X](v))) })
}

// Map2 stores f of two elements.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Map2[T, A, B, X, Y, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, w core.Walk, f func(X, Y) R) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) two[A, B] { return two[A, B]{a[at[1]], b[at[2]]} },
		func(v two[A, B]) T { return dsl.Convert[T](f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b))) })
}

// Map3 stores f of three elements.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Map3[T, A, B, C, X, Y, Z, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, c []C, w core.Walk, f func(X, Y, Z) R) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) three[A, B, C] { return three[A, B, C]{a[at[1]], b[at[2]], c[at[3]]} },
		func(v three[A, B, C]) T {
			return dsl.Convert[T](f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b), dsl.Convert[Z](v.c)))
		})
}

// Map4 stores f of four elements.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Map4[T, A, B, C, D, X, Y, Z, U, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, c []C, d []D, w core.Walk, f func(X, Y, Z, U) R) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) four[A, B, C, D] {
			return four[A, B, C, D]{a[at[1]], b[at[2]], c[at[3]], d[at[4]]}
		},
		func(v four[A, B, C, D]) T {
			return dsl.Convert[T](f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b), dsl.Convert[Z](v.c), dsl.Convert[U](v.d)))
		})
}

// two to five are elements of operands of so many types.
type (
	two[A, B any] struct {
		a A
		b B
	}
	three[A, B, C any] struct {
		a A
		b B
		c C
	}
	four[A, B, C, D any] struct {
		a A
		b B
		c C
		d D
	}
	five[A, B, C, D, E any] struct {
		a A
		b B
		c C
		d D
		e E
	}
)

// truth is 1 for true and 0 for false.
func truth(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// Holds1 stores 1 where f of an element is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Holds1[A, X dsl.Number](t dsl.Thread, out []uint8, a []A, w core.Walk, f func(X) bool) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) A { return a[at[1]] },
		func(v A) uint8 { return truth(f(dsl.Convert[X](v))) })
}

// Holds2 stores 1 where f of two elements is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Holds2[A, B, X, Y dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, w core.Walk, f func(X, Y) bool) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) two[A, B] { return two[A, B]{a[at[1]], b[at[2]]} },
		func(v two[A, B]) uint8 { return truth(f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b))) })
}

// Holds3 stores 1 where f of three elements is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Holds3[A, B, C, X, Y, Z dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, c []C, w core.Walk, f func(X, Y, Z) bool) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) three[A, B, C] { return three[A, B, C]{a[at[1]], b[at[2]], c[at[3]]} },
		func(v three[A, B, C]) uint8 {
			return truth(f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b), dsl.Convert[Z](v.c)))
		})
}

// Holds4 stores 1 where f of four elements is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Holds4[A, B, C, D, X, Y, Z, U dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, c []C, d []D, w core.Walk, f func(X, Y, Z, U) bool) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) four[A, B, C, D] {
			return four[A, B, C, D]{a[at[1]], b[at[2]], c[at[3]], d[at[4]]}
		},
		func(v four[A, B, C, D]) uint8 {
			return truth(f(dsl.Convert[X](v.a), dsl.Convert[Y](v.b), dsl.Convert[Z](v.c), dsl.Convert[U](v.d)))
		})
}

// Slope1 stores the gradient g of the result of a function times its derivative f.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Slope1[T, G, A, X dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, w core.Walk, _ dsl.ConstInt, f func(X) R) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) two[G, A] { return two[G, A]{g[at[1]], a[at[2]]} },
		func(v two[G, A]) T { return dsl.Convert[T](dsl.Convert[R](v.a) * f(dsl.Convert[X](v.b))) })
}

// Slope2 stores the gradient g of the result of a function of two numbers times one of
// its derivatives, which f gives.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Slope2[T, G, A, B, X, Y dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, w core.Walk, which dsl.ConstInt, f func(X, Y) (R, R)) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) three[G, A, B] { return three[G, A, B]{g[at[1]], a[at[2]], b[at[3]]} },
		func(v three[G, A, B]) T {
			d, e := f(dsl.Convert[X](v.b), dsl.Convert[Y](v.c))
			if which == 1 {
				d = e
			}
			return dsl.Convert[T](dsl.Convert[R](v.a) * d)
		})
}

// Slope3 is [Slope2] of a function of three numbers.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Slope3[T, G, A, B, C, X, Y, Z dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, c []C, w core.Walk, which dsl.ConstInt, f func(X, Y, Z) (R, R, R)) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) four[G, A, B, C] {
			return four[G, A, B, C]{g[at[1]], a[at[2]], b[at[3]], c[at[4]]}
		},
		func(v four[G, A, B, C]) T {
			d, e, h := f(dsl.Convert[X](v.b), dsl.Convert[Y](v.c), dsl.Convert[Z](v.d))
			switch which {
			case 1:
				d = e
			case 2:
				d = h
			}
			return dsl.Convert[T](dsl.Convert[R](v.a) * d)
		})
}

// Slope4 is [Slope2] of a function of four numbers.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Slope4[T, G, A, B, C, D, X, Y, Z, U dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, c []C, d []D, w core.Walk, which dsl.ConstInt, f func(X, Y, Z, U) (R, R, R, R)) {
	core.Apply(t, &w, out,
		func(at [core.Operands]int) five[G, A, B, C, D] {
			return five[G, A, B, C, D]{g[at[1]], a[at[2]], b[at[3]], c[at[4]], d[at[5]]}
		},
		func(v five[G, A, B, C, D]) T {
			p, q, r, s := f(dsl.Convert[X](v.b), dsl.Convert[Y](v.c), dsl.Convert[Z](v.d), dsl.Convert[U](v.e))
			switch which {
			case 1:
				p = q
			case 2:
				p = r
			case 3:
				p = s
			}
			return dsl.Convert[T](dsl.Convert[R](v.a) * p)
		})
}
