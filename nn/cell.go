package nn

import (
	"github.com/gokiln/kiln/nn/kernels"
	"github.com/gokiln/kiln/tensor"
)

// cell is what a recurrent layer does at a time step.
type cell int

const (
	elman cell = iota
	elmanReLU
	lstm
	gru
)

// gates is how many numbers of the products go to one of the state.
func (c cell) gates() int {
	switch c {
	case lstm:
		return 4
	case gru:
		return 3
	}
	return 1
}

// step is the state behind a time step, of the inputs' part of the gates, (b, gates·hidden).
func (c cell) step(x *tensor.Tensor, s RecurrentState, p *pass) RecurrentState {
	if c == gru {
		return gruStep(x, s, p)
	}
	sum := s.H.LinearWith(p.whh, tensor.Epilogue{Bias: p.bhh, Residual: x})
	switch {
	case c == elmanReLU:
		return RecurrentState{H: sum.Relu()}
	case c == elman:
		return RecurrentState{H: sum.Tanh()}
	}
	g := sum.Chunk(4, -1)
	if sum.Err() != nil || len(g) != 4 {
		return RecurrentState{H: sum, C: sum}
	}
	if sum.DType() == tensor.F64 {
		next := tensor.Map4Grad(kernels.LSTMCell[float64], kernels.LSTMCellGrad[float64], g[0], g[1], g[2], s.C)
		return p.project(tensor.Map2Grad(kernels.LSTMOutput[float64], kernels.LSTMOutputGrad[float64], g[3], next), next)
	}
	next := tensor.Map4Grad(kernels.LSTMCell[float32], kernels.LSTMCellGrad[float32], g[0], g[1], g[2], s.C)
	return p.project(tensor.Map2Grad(kernels.LSTMOutput[float32], kernels.LSTMOutputGrad[float32], g[3], next), next)
}

// project is the state of an LSTM whose output is projected, or as it is.
func (p *pass) project(h, c *tensor.Tensor) RecurrentState {
	if p.whr != nil {
		h = h.Linear(p.whr, nil)
	}
	return RecurrentState{H: h, C: c}
}

// gruStep is the step of a GRU.
func gruStep(x *tensor.Tensor, s RecurrentState, p *pass) RecurrentState {
	h := s.H.LinearWith(p.whh, tensor.Epilogue{Bias: p.bhh})
	xs, hs := x.Chunk(3, -1), h.Chunk(3, -1)
	switch {
	case h.Err() != nil:
		return RecurrentState{H: h}
	case x.Err() != nil:
		return RecurrentState{H: x}
	case h.DType() == tensor.F64:
		n := tensor.Map4Grad(kernels.GRUNew[float64], kernels.GRUNewGrad[float64], xs[0], hs[0], xs[2], hs[2])
		return RecurrentState{H: tensor.Map4Grad(kernels.GRUState[float64], kernels.GRUStateGrad[float64], xs[1], hs[1], n, s.H)}
	}
	n := tensor.Map4Grad(kernels.GRUNew[float32], kernels.GRUNewGrad[float32], xs[0], hs[0], xs[2], hs[2])
	return RecurrentState{H: tensor.Map4Grad(kernels.GRUState[float32], kernels.GRUStateGrad[float32], xs[1], hs[1], n, s.H)}
}
