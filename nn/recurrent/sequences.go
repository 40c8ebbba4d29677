package recurrent

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/nn/recurrent/kernels"
	"github.com/gokiln/kiln/tensor"
)

// Sequence is a sequence of a packed batch.
type Sequence struct {
	Tokens int  // of it in the batch
	State  int  // the row of its state in tensors of states
	Fresh  bool // it begins with this batch, with a state of zeros
}

// Sequences is a packed batch of sequences, on a device.
type Sequences struct {
	table  *tensor.Tensor // I32 (sequences, kernels.Columns)
	count  int
	tokens int // of all
	most   int // of one
	states int // rows that states must have
}

// NewSequences returns the batch of some sequences in their order. One without tokens, a negative
// row, or a row that two have, is an error of kind ErrArgument of package tensor.
func NewSequences(d *tensor.Device, list []Sequence) (*Sequences, error) {
	s := &Sequences{count: len(list)}
	rows := make([]int32, 0, kernels.Columns*len(list))
	seen := make(map[int]bool, len(list))
	for i, q := range list {
		if q.Tokens < 1 || q.State < 0 || seen[q.State] || s.tokens+q.Tokens > math.MaxInt32 {
			return nil, fmt.Errorf("sequences: %w: number %d is %+v, behind %d tokens",
				tensor.ErrArgument, i, q, s.tokens)
		}
		seen[q.State] = true
		fresh := int32(0)
		if q.Fresh {
			fresh = 1
		}
		rows = append(rows, int32(s.tokens), int32(s.tokens+q.Tokens), int32(q.State), fresh)
		s.tokens += q.Tokens
		s.most, s.states = max(s.most, q.Tokens), max(s.states, q.State+1)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("sequences: %w: none", tensor.ErrArgument)
	}
	s.table = tensor.From(d, rows, len(list), kernels.Columns)
	return s, s.table.Err()
}

// States is how many rows tensors of states must have at least.
func (s *Sequences) States() int { return s.states }

// checkPacked checks operands: x, (tokens, features), and others of its device that want no
// gradient either.
func (s *Sequences) checkPacked(
	op string, x *tensor.Tensor, others ...*tensor.Tensor,
) *tensor.Tensor {
	if bad := operand.Floats(op, x); bad != nil {
		return bad
	}
	if x.Rank() != 2 || x.Size(0) != s.tokens {
		return operand.Fail(op, tensor.ErrShape,
			"%v, want (%d, features) for the tokens of %d sequences", x.Shape(), s.tokens, s.count)
	}
	for _, t := range append(others, x, s.table) {
		switch {
		case t == nil:
		case t.Err() != nil:
			return t
		case t.Device() != x.Device():
			return operand.Fail(op, tensor.ErrDevice, "%s and %s", x.Device(), t.Device())
		case t.RequiresGrad():
			return operand.Fail(op, tensor.ErrNoGradient,
				"%v wants a gradient, which operations with a state do not have: Detach it", t.Shape())
		}
	}
	return nil
}

// checkState checks a tensor of states for x: contiguous, a row of a shape for each sequence at
// least, of the type that x is computed in.
func (s *Sequences) checkState(op string, state, x *tensor.Tensor, row ...int) *tensor.Tensor {
	switch {
	case state == nil:
		return operand.Fail(op, tensor.ErrArgument, "no states")
	case state.Err() != nil:
		return state
	case state.DType() != x.DType().Compute():
		return operand.Fail(op, tensor.ErrDTypeMismatch, "states of %s for %s, want %s",
			state.DType(), x.DType(), x.DType().Compute())
	case !state.Shape().Equal(append(tensor.Shape{max(state.Size(0), s.states)}, row...)):
		return operand.Fail(op, tensor.ErrShape, "states %v, want rows %v, %d of them or more",
			state.Shape(), tensor.Shape(row), s.states)
	case !state.Layout().IsContiguous():
		return operand.Fail(op, tensor.ErrArgument, "states that are not contiguous")
	}
	return nil
}

// dense is a tensor whose last dimension has stride 1, and the stride of dimension 0.
func dense(t *tensor.Tensor) (*tensor.Tensor, int) {
	if s := t.Strides(); s[len(s)-1] != 1 {
		t = t.Contiguous()
	}
	return t, t.Strides()[0]
}
