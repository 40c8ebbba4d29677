package kernels

import "github.com/gokiln/kiln/dsl"

// sigmoid is 1/(1 + e⁻ˣ).
func sigmoid[T dsl.Real](x T) T { return 1 / (1 + dsl.Exp(-x)) }

// LSTMCell is the next state of a cell of an LSTM, σ(f)·c + σ(i)·tanh(g), of the sums of its gates
// (Hochreiter and Schmidhuber, 1997; Gers, Schmidhuber and Cummins, 2000).
func LSTMCell[T dsl.Real](i, f, g, c T) T { return sigmoid(f)*c + sigmoid(i)*dsl.Tanh(g) }

// LSTMCellGrad is the derivatives of [LSTMCell].
func LSTMCellGrad[T dsl.Real](i, f, g, c T) (di, df, dg, dc T) {
	i, f, g = sigmoid(i), sigmoid(f), dsl.Tanh(g)
	return i * (1 - i) * g, f * (1 - f) * c, i * (1 - g*g), f
}

// LSTMOutput is the output of a cell of an LSTM, σ(o)·tanh(c).
func LSTMOutput[T dsl.Real](o, c T) T { return sigmoid(o) * dsl.Tanh(c) }

// LSTMOutputGrad is the derivatives of [LSTMOutput].
func LSTMOutputGrad[T dsl.Real](o, c T) (do, dc T) {
	o, c = sigmoid(o), dsl.Tanh(c)
	return o * (1 - o) * c, o * (1 - c*c)
}

// GRUNew is the new part of the state of a GRU, tanh(xn + σ(xr + hr)·hn), of what the input and the
// state before give to its gates (Cho et al., 2014).
func GRUNew[T dsl.Real](xr, hr, xn, hn T) T { return dsl.Tanh(xn + sigmoid(xr+hr)*hn) }

// GRUNewGrad is the derivatives of [GRUNew].
func GRUNewGrad[T dsl.Real](xr, hr, xn, hn T) (dxr, dhr, dxn, dhn T) {
	r := sigmoid(xr + hr)
	n := dsl.Tanh(xn + r*hn)
	d := 1 - n*n
	dr := d * hn * r * (1 - r)
	return dr, dr, d, d * r
}

// GRUState is the next state of a GRU, z·h + (1 − z)·n where z is σ(xz + hz).
func GRUState[T dsl.Real](xz, hz, n, h T) T {
	z := sigmoid(xz + hz)
	return z*h + (1-z)*n
}

// GRUStateGrad is the derivatives of [GRUState].
func GRUStateGrad[T dsl.Real](xz, hz, n, h T) (dxz, dhz, dn, dh T) {
	z := sigmoid(xz + hz)
	dz := (h - n) * z * (1 - z)
	return dz, dz, 1 - z, z
}
