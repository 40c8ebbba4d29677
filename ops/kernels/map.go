package kernels

import "github.com/gokiln/kiln/dsl"

// The kernels of functions that programs bring along: of one to four operands. Each
// operand has a type in memory and one that the function takes.

// Map1 stores f of an element.
//
//kiln:kernel
func Map1[T, A, X, R dsl.Number](t dsl.Thread, out []T, a []A, w Walk, f func(X) R) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[X](a[at[1]])))
	})
}

// Map2 stores f of two elements.
//
//kiln:kernel
func Map2[T, A, B, X, Y, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, w Walk, f func(X, Y) R) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]])))
	})
}

// Map3 stores f of three elements.
//
//kiln:kernel
func Map3[T, A, B, C, X, Y, Z, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, c []C, w Walk, f func(X, Y, Z) R) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]]), dsl.Convert[Z](c[at[3]])))
	})
}

// Map4 stores f of four elements.
//
//kiln:kernel
func Map4[T, A, B, C, D, X, Y, Z, U, R dsl.Number](t dsl.Thread, out []T, a []A, b []B, c []C, d []D, w Walk, f func(X, Y, Z, U) R) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]]), dsl.Convert[Z](c[at[3]]), dsl.Convert[U](d[at[4]])))
	})
}

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
func Holds1[A, X dsl.Number](t dsl.Thread, out []uint8, a []A, w Walk, f func(X) bool) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = truth(f(dsl.Convert[X](a[at[1]])))
	})
}

// Holds2 stores 1 where f of two elements is true, and else 0.
//
//kiln:kernel
func Holds2[A, B, X, Y dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, w Walk, f func(X, Y) bool) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = truth(f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]])))
	})
}

// Holds3 stores 1 where f of three elements is true, and else 0.
//
//kiln:kernel
func Holds3[A, B, C, X, Y, Z dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, c []C, w Walk, f func(X, Y, Z) bool) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = truth(f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]]), dsl.Convert[Z](c[at[3]])))
	})
}

// Holds4 stores 1 where f of four elements is true, and else 0.
//
//kiln:kernel
func Holds4[A, B, C, D, X, Y, Z, U dsl.Number](t dsl.Thread, out []uint8, a []A, b []B, c []C, d []D, w Walk, f func(X, Y, Z, U) bool) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = truth(f(dsl.Convert[X](a[at[1]]), dsl.Convert[Y](b[at[2]]), dsl.Convert[Z](c[at[3]]), dsl.Convert[U](d[at[4]])))
	})
}

// Slope1 stores the gradient g of the result of a function times its derivative f.
//
//kiln:kernel
func Slope1[T, G, A, X dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, w Walk, _ dsl.ConstInt, f func(X) R) {
	w.Each(t, func(at [Operands]int) {
		out[at[0]] = dsl.Convert[T](dsl.Convert[R](g[at[1]]) * f(dsl.Convert[X](a[at[2]])))
	})
}

// Slope2 stores the gradient g of the result of a function of two numbers times one of
// its derivatives, which f gives.
//
//kiln:kernel
func Slope2[T, G, A, B, X, Y dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, w Walk, which dsl.ConstInt, f func(X, Y) (R, R)) {
	w.Each(t, func(at [Operands]int) {
		d, e := f(dsl.Convert[X](a[at[2]]), dsl.Convert[Y](b[at[3]]))
		if which == 1 {
			d = e
		}
		out[at[0]] = dsl.Convert[T](dsl.Convert[R](g[at[1]]) * d)
	})
}

// Slope3 is [Slope2] of a function of three numbers.
//
//kiln:kernel
func Slope3[T, G, A, B, C, X, Y, Z dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, c []C, w Walk, which dsl.ConstInt, f func(X, Y, Z) (R, R, R)) {
	w.Each(t, func(at [Operands]int) {
		d, e, h := f(dsl.Convert[X](a[at[2]]), dsl.Convert[Y](b[at[3]]), dsl.Convert[Z](c[at[4]]))
		switch which {
		case 1:
			d = e
		case 2:
			d = h
		}
		out[at[0]] = dsl.Convert[T](dsl.Convert[R](g[at[1]]) * d)
	})
}

// Slope4 is [Slope2] of a function of four numbers.
//
//kiln:kernel
func Slope4[T, G, A, B, C, D, X, Y, Z, U dsl.Number, R dsl.Real](t dsl.Thread, out []T, g []G, a []A, b []B, c []C, d []D, w Walk, which dsl.ConstInt, f func(X, Y, Z, U) (R, R, R, R)) {
	w.Each(t, func(at [Operands]int) {
		p, q, r, s := f(dsl.Convert[X](a[at[2]]), dsl.Convert[Y](b[at[3]]), dsl.Convert[Z](c[at[4]]), dsl.Convert[U](d[at[5]]))
		switch which {
		case 1:
			p = q
		case 2:
			p = r
		case 3:
			p = s
		}
		out[at[0]] = dsl.Convert[T](dsl.Convert[R](g[at[1]]) * p)
	})
}
