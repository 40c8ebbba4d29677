package kernels

import "github.com/gokiln/kiln/dsl"

// Exps are the exponential functions.
//
//kiln:kernel
func Exps[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[4*i] = dsl.Exp(x[i])
		out[4*i+1] = dsl.Exp2(x[i])
		out[4*i+2] = dsl.Expm1(x[i])
		out[4*i+3] = dsl.Tanh(x[i])
	}
}

// Logs are the logarithms.
//
//kiln:kernel
func Logs[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[4*i] = dsl.Log(x[i])
		out[4*i+1] = dsl.Log2(x[i])
		out[4*i+2] = dsl.Log10(x[i])
		out[4*i+3] = dsl.Log1p(x[i])
	}
}

// Trigs are the trigonometric functions.
//
//kiln:kernel
func Trigs[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[4*i] = dsl.Sin(x[i])
		out[4*i+1] = dsl.Cos(x[i])
		out[4*i+2] = dsl.Tan(x[i])
		out[4*i+3] = dsl.Atan(x[i])
	}
}

// Arcs are the inverse and the hyperbolic functions.
//
//kiln:kernel
func Arcs[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[4*i] = dsl.Asin(x[i])
		out[4*i+1] = dsl.Acos(x[i])
		out[4*i+2] = dsl.Sinh(x[i])
		out[4*i+3] = dsl.Cosh(x[i])
	}
}

// Specials are the error and gamma functions, and roots.
//
//kiln:kernel
func Specials[T float32 | float64](t dsl.Thread, out, x []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[5*i] = dsl.Erf(x[i])
		out[5*i+1] = dsl.Erfc(x[i])
		out[5*i+2] = dsl.Lgamma(x[i])
		out[5*i+3] = dsl.Cbrt(x[i])
		out[5*i+4] = dsl.Rsqrt(x[i])
	}
}

// Pairs are the functions of two arguments.
//
//kiln:kernel
func Pairs[T float32 | float64](t dsl.Thread, out, x, y []T) {
	for i := t.Global(); i < len(x); i += t.GlobalSize() {
		out[4*i] = dsl.Pow(x[i], y[i])
		out[4*i+1] = dsl.Atan2(x[i], y[i])
		out[4*i+2] = dsl.Hypot(x[i], y[i])
		out[4*i+3] = dsl.Mod(x[i], y[i])
	}
}
