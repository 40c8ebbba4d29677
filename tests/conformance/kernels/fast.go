package kernels

import (
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/fast"
)

// FastExps are the approximate exponential functions.
//
//kiln:kernel
func FastExps(t dsl.Thread, exp2, exp, tanh, sigmoid, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		exp2[i] = fast.Exp2(x[i])
		exp[i] = fast.Exp(x[i])
		tanh[i] = fast.Tanh(x[i])
		sigmoid[i] = fast.Sigmoid(x[i])
	}
}

// FastLogs are the approximate logarithms.
//
//kiln:kernel
func FastLogs(t dsl.Thread, log2, log, log10, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		log2[i] = fast.Log2(x[i])
		log[i] = fast.Log(x[i])
		log10[i] = fast.Log10(x[i])
	}
}

// FastTrig are the approximate trigonometric functions.
//
//kiln:kernel
func FastTrig(t dsl.Thread, sin, cos, tan, x []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		sin[i] = fast.Sin(x[i])
		cos[i] = fast.Cos(x[i])
		tan[i] = fast.Tan(x[i])
	}
}

// FastRoots are the approximate roots, quotients and powers.
//
//kiln:kernel
func FastRoots(t dsl.Thread, rsqrt, sqrt, recip, div, pow, x, y []float32) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		rsqrt[i] = fast.Rsqrt(x[i])
		sqrt[i] = fast.Sqrt(x[i])
		recip[i] = fast.Recip(x[i])
		div[i] = fast.Div(y[i], x[i])
		pow[i] = fast.Pow(x[i], y[i])
	}
}

// Contracted sums products, which the compiler may do without rounding them. The
// fourth result keeps its product rounded, as plain Go does.
//
//kiln:kernel
//kiln:fastmath
func Contracted[T dsl.Real](t dsl.Thread, sum, diff, dot, kept, x, y, z []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		sum[i] = x[i]*y[i] + z[i]
		diff[i] = z[i] - x[i]*y[i]
		s := T(0)
		for k := range 4 {
			s += x[(i+k)%len(x)] * y[(i+k)%len(y)]
		}
		dot[i] = s
		kept[i] = T(x[i]*y[i]) + z[i]
	}
}
