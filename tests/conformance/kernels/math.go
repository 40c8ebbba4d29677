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
