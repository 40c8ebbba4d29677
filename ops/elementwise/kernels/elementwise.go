package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Each of these kernels has two forms: one that finds elements by a [core.Walk], and one for
// operands that are contiguous, which a [core.Line] says in a twentieth of the memory: a launch
// is as long as its arguments, on a GPU as well.

// Unary stores f of an element.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Unary[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, f func(C) C) {
	unaryOf(t, &w, out, x, f)
}

// UnaryLine is [Unary] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func UnaryLine[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, l core.Line, f func(C) C) {
	w := l.Walk()
	unaryOf(t, &w, out, x, f)
}

func unaryOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out, x []T, f func(C) C) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) T { return x[at[1]] },
		func(v T) T { return dsl.Convert[T](f(dsl.Convert[C](v))) })
}

// Binary stores f of two elements.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Binary[T dsl.Number, C core.Computed](t dsl.Thread, out, x, y []T, w core.Walk, f func(a, b C) C) {
	binaryOf(t, &w, out, x, y, f)
}

// BinaryLine is [Binary] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func BinaryLine[T dsl.Number, C core.Computed](t dsl.Thread, out, x, y []T, l core.Line, f func(a, b C) C) {
	w := l.Walk()
	binaryOf(t, &w, out, x, y, f)
}

func binaryOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out, x, y []T, f func(a, b C) C) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) [2]T { return [2]T{x[at[1]], y[at[2]]} },
		func(v [2]T) T { return dsl.Convert[T](f(dsl.Convert[C](v[0]), dsl.Convert[C](v[1]))) })
}

// Compare stores 1 where f of two elements is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Compare[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x, y []T, w core.Walk, f func(a, b C) bool) {
	compareOf(t, &w, out, x, y, f)
}

// CompareLine is [Compare] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func CompareLine[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x, y []T, l core.Line, f func(a, b C) bool) {
	w := l.Walk()
	compareOf(t, &w, out, x, y, f)
}

func compareOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out []uint8, x, y []T, f func(a, b C) bool) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) [2]T { return [2]T{x[at[1]], y[at[2]]} },
		func(v [2]T) uint8 { return truth(f(dsl.Convert[C](v[0]), dsl.Convert[C](v[1]))) })
}

// Test stores 1 where f of an element is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Test[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x []T, w core.Walk, f func(C) bool) {
	testOf(t, &w, out, x, f)
}

// TestLine is [Test] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func TestLine[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x []T, l core.Line, f func(C) bool) {
	w := l.Walk()
	testOf(t, &w, out, x, f)
}

func testOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out []uint8, x []T, f func(C) bool) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) T { return x[at[1]] },
		func(v T) uint8 { return truth(f(dsl.Convert[C](v))) })
}
