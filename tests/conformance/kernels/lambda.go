package kernels

import "github.com/gokiln/kiln/dsl"

// Apply calls a function for each pair of elements.
//
//kiln:kernel
func Apply[A, B, R any](t dsl.Thread, out []R, a []A, b []B, f func(A, B) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i], b[i])
	}
}

// Combine is an operation of two numbers.
type Combine[T any] func(a, b T) T

// Reduce folds all elements by an operation that may take them in any order, after
// a function that prepares each. It runs as one block of a power of two threads.
//
//kiln:kernel
func Reduce[A any, T dsl.Number](t dsl.Thread, out []T, in []A, prepare func(i int, x A) T, op Combine[T], zero T) {
	tile := dsl.Shared[[256]T](t)
	s := zero
	for i := t.ThreadX(); i < len(in); i += t.BlockDimX() {
		s = op(s, prepare(i, in[i]))
	}
	tile[t.ThreadX()] = s
	t.Sync()
	for d := t.BlockDimX() / 2; d > 0; d /= 2 {
		if t.ThreadX() < d {
			tile[t.ThreadX()] = twice(op, tile[t.ThreadX()], tile[t.ThreadX()+d], zero)
		}
		t.Sync()
	}
	if t.ThreadX() == 0 {
		out[0] = tile[0]
	}
}

// twice hands the operation on, and in a function literal.
func twice[T any](op Combine[T], a, b, zero T) T {
	last := func(x T) T { return op(x, zero) }
	return last(op(a, b))
}

// Rows calls a function that works on memory, with the threads of a block.
//
//kiln:kernel
func Rows(t dsl.Thread, out, in []float32, n int, f func(t dsl.Thread, row []float32) float32) {
	for i := t.BlockX(); i < len(out); i += t.GridDimX() {
		if x := f(t, in[i*n:(i+1)*n]); t.ThreadX() == 0 {
			out[i] = x
		}
	}
}

// Hypot is a function of a package.
func Hypot(a, b float32) float32 { return dsl.Hypot(a, b) }

// Mix is generic.
func Mix[T dsl.Real](a, b T) T { return a*0.75 + b*0.25 }

// Adder returns a function literal of another package than its caller's.
func Adder[T dsl.Number]() Combine[T] {
	return func(a, b T) T { return a + b }
}
