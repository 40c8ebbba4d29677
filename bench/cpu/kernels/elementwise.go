package kernels

import "github.com/gokiln/kiln/dsl"

// Saxpy adds a·x to y.
//
//kiln:kernel
func Saxpy(t dsl.Thread, y, x []float32, a float32) {
	for i := t.Global(); i < len(y); i += t.GlobalSize() {
		y[i] = a*x[i] + y[i]
	}
}

// Exp writes the exponentials of x.
//
//kiln:kernel
func Exp(t dsl.Thread, out, x []float32) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = dsl.Exp(x[i])
	}
}

// Gelu is the activation function of that name in the form with tanh.
//
//kiln:kernel
func Gelu(t dsl.Thread, out, x []float32) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		v := x[i]
		u := 0.7978845608 * dsl.FMA(0.044715*v, v*v, v)
		out[i] = 0.5 * v * (1 + dsl.Tanh(u))
	}
}
