package recurrent

import (
	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/recurrent/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/tensor"
)

var rglru = ops.NewGeneric("rg-lru", kernels.RGLRU[ops.T])

// RGLRU is real-gated linear recurrent units (De et al., "Griffin: mixing gated linear recurrences
// with local attention for efficient language models", 2024): the state of each channel fades as a
// gate says, and the more it does the more of the input comes to it,
//
//	a = exp(−8·softplus(lambda)·σ(gate))
//	h ← a·h + √(1 − a²)·σ(inputGate)·x
//
// where the root is 1 at the first token of a sequence. x and both gates are (tokens, channels), of
// which rows may have any stride, and lambda is (channels). state is F32 (states, channels). The
// result is h at each token, (tokens, channels) of the type of x, which is not F64.
func RGLRU(x, inputGate, gate, lambda, state *tensor.Tensor, on *Sequences) *tensor.Tensor {
	const op = "rg-lru"
	if bad := on.checkPacked(op, x, inputGate, gate, lambda, state); bad != nil {
		return bad
	}
	if bad := operand.Floats(op, x, inputGate, gate, lambda); bad != nil {
		return bad
	}
	w := kernels.Linear{Channels: x.Size(1)}
	switch {
	case x.DType().Compute() != tensor.F32:
		return operand.Fail(op, tensor.ErrDType, "operands of %s: states are f32", x.DType())
	case !inputGate.Shape().Equal(x.Shape()) || !gate.Shape().Equal(x.Shape()):
		return operand.Fail(op, tensor.ErrShape, "gates %v and %v for %v",
			inputGate.Shape(), gate.Shape(), x.Shape())
	case !lambda.Shape().Equal(tensor.Shape{w.Channels}):
		return operand.Fail(op, tensor.ErrShape, "lambda of %v, want (%d)", lambda.Shape(), w.Channels)
	}
	if bad := on.checkState(op, state, x, w.Channels); bad != nil {
		return bad
	}
	x, w.Input = dense(x)
	inputGate, w.InputGate = dense(inputGate)
	gate, w.Gate = dense(gate)
	k, err := rglru.Of(ops.TypeArgs{T: x.DType()})
	if err != nil {
		return tensor.Fail(op, err)
	}
	out := tensor.Empty(x.Device(), x.DType(), x.Shape()...)
	g := on.grid(x.Device(), w.Channels, 1)
	return tensor.LaunchInto(out, k, g, state, x, inputGate, gate, lambda.Contiguous(), on.table, w)
}
