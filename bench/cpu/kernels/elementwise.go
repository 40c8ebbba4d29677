package kernels

import "github.com/gokiln/kiln/dsl"

// part returns which of n elements, all in a row, belong to the block. Blocks that
// take turns instead would walk through memory in long steps, and a CPU runs them
// one after the other.
func part(t dsl.Thread, n int) (first, end int) {
	each := (n + t.GridDimX() - 1) / t.GridDimX()
	first = min(t.BlockX()*each, n)
	return first, min(first+each, n)
}

// Saxpy adds a·x to y.
//
//kiln:kernel
func Saxpy(t dsl.Thread, y, x []float32, a float32) {
	first, end := part(t, len(y))
	in, to := x[first:end], y[first:end]
	for i := t.ThreadX(); i < len(to); i += t.BlockDimX() {
		to[i] = a*in[i] + to[i]
	}
}

// Exp writes the exponentials of x.
//
//kiln:kernel
func Exp(t dsl.Thread, out, x []float32) {
	first, end := part(t, len(out))
	in, to := x[first:end], out[first:end]
	for i := t.ThreadX(); i < len(to); i += t.BlockDimX() {
		to[i] = dsl.Exp(in[i])
	}
}

// Gelu is the activation function of that name in the form with tanh, of which
// (1 + tanh u)/2 is 1/(1 + exp(-2u)).
//
//kiln:kernel
func Gelu(t dsl.Thread, out, x []float32) {
	first, end := part(t, len(out))
	in, to := x[first:end], out[first:end]
	for i := t.ThreadX(); i < len(to); i += t.BlockDimX() {
		v := in[i]
		u := -1.5957691216 * dsl.FMA(0.044715*v, v*v, v)
		to[i] = v / (1 + dsl.Exp(u))
	}
}

// Tanh writes the hyperbolic tangents of x.
//
//kiln:kernel
func Tanh(t dsl.Thread, out, x []float32) {
	first, end := part(t, len(out))
	in, to := x[first:end], out[first:end]
	for i := t.ThreadX(); i < len(to); i += t.BlockDimX() {
		to[i] = dsl.Tanh(in[i])
	}
}
