package kernels

import (
	"github.com/gokiln/kiln/dsl"
	core "github.com/gokiln/kiln/ops/kernels"
)

// Scaled stores f of an element and two numbers.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func Scaled[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, w core.Walk, a, b C, f func(x, a, b C) C) {
	scaledOf(t, &w, out, x, a, b, f)
}

// ScaledLine is [Scaled] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func ScaledLine[T dsl.Number, C core.Computed](t dsl.Thread, out, x []T, l core.Line, a, b C, f func(x, a, b C) C) {
	w := l.Walk()
	scaledOf(t, &w, out, x, a, b, f)
}

func scaledOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out, x []T, a, b C, f func(x, a, b C) C) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) T { return x[at[1]] },
		func(v T) T { return dsl.Convert[T](f(dsl.Convert[C](v), a, b)) })
}

// ScaledTest stores 1 where f of an element and a number is true, and else 0.
//
//kiln:kernel
//kiln:const w.Many=1,4 w.Vec=1,2
func ScaledTest[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x []T, w core.Walk, a C, f func(x, a C) bool) {
	scaledTestOf(t, &w, out, x, a, f)
}

// ScaledTestLine is [ScaledTest] of contiguous operands.
//
//kiln:kernel
//kiln:const l.Many=1,4 l.Vec=1,2
func ScaledTestLine[T dsl.Number, C core.Computed](t dsl.Thread, out []uint8, x []T, l core.Line, a C, f func(x, a C) bool) {
	w := l.Walk()
	scaledTestOf(t, &w, out, x, a, f)
}

func scaledTestOf[T dsl.Number, C core.Computed](t dsl.Thread, w *core.Walk, out []uint8, x []T, a C, f func(x, a C) bool) {
	core.Apply(t, w, out,
		func(at [core.Operands]int) T { return x[at[1]] },
		func(v T) uint8 { return truth(f(dsl.Convert[C](v), a)) })
}

// Affine is x·a + b, rounded twice.
func Affine[C core.Computed](x, a, b C) C { return x*a + b }

// PowF is x to the a.
func PowF[C dsl.Real](x, a, _ C) C {
	switch a { // what no logarithm is needed for, with the same bits as the products
	case 1:
		return x
	case 2:
		return x * x
	}
	return dsl.Pow(x, a)
}

// Elu is x above 0, and a·(exp(x) - 1) below.
func Elu[C dsl.Real](x, a, _ C) C {
	if x > 0 {
		return x
	}
	return a * dsl.Expm1(x)
}

// LeakyRelu is x above 0, and a·x below.
func LeakyRelu[C dsl.Real](x, a, _ C) C {
	if x > 0 {
		return x
	}
	return a * x
}

// Clamp is x, but not below a and not above b.
func Clamp[C core.Computed](x, a, b C) C { return min(max(x, a), b) }

// RoundTo is x·a rounded to an integer, halves away from zero, over a; and x if x·a is too large for
// the type, as there are no digits of x then that would be rounded.
func RoundTo[C dsl.Real](x, a, _ C) C {
	if y := x * a; !dsl.IsInf(y, 0) {
		return dsl.Round(y) / a
	}
	return x
}

// What follows is the operations of two elements where all share one of them, a.

// AddOf is x + a.
func AddOf[C core.Computed](x, a, _ C) C { return x + a }

// SubOf is x - a.
func SubOf[C core.Computed](x, a, _ C) C { return x - a }

// MulOf is x · a.
func MulOf[C core.Computed](x, a, _ C) C { return x * a }

// DivOf is x / a.
func DivOf[C core.Computed](x, a, _ C) C { return x / a }

// MaximumOf is the larger one of x and a.
func MaximumOf[C core.Computed](x, a, _ C) C { return max(x, a) }

// MinimumOf is the smaller one of x and a.
func MinimumOf[C core.Computed](x, a, _ C) C { return min(x, a) }

// SubFrom is a - x.
func SubFrom[C core.Computed](x, a, _ C) C { return a - x }

// DivFrom is a / x.
func DivFrom[C core.Computed](x, a, _ C) C { return a / x }
