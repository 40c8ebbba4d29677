package loss

import (
	"fmt"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// Reduction says what becomes of the losses of elements or rows.
type Reduction int

// The reductions.
const (
	Mean      Reduction = iota // their mean, weighted where the loss has weights of classes
	Sum                        // their sum
	None                       // nothing
	BatchMean                  // their sum over the size of dimension 0; not for losses of classes
)

// String returns the name that PyTorch has for it.
func (r Reduction) String() string {
	switch r {
	case Mean:
		return "mean"
	case Sum:
		return "sum"
	case None:
		return "none"
	case BatchMean:
		return "batchmean"
	}
	return fmt.Sprintf("Reduction(%d)", int(r))
}

// Options are those of losses that have nothing else to choose.
type Options struct{ Reduction Reduction }

// apply reduces losses, which are of the type that is computed in, and casts them.
func (r Reduction) apply(op string, x *tensor.Tensor, to tensor.DType) *tensor.Tensor {
	if x.Err() != nil {
		return x
	}
	switch r {
	case None:
		return x.Cast(to)
	case Sum:
		return x.Sum().Cast(to)
	case Mean:
		if x.Count() == 0 {
			return x.Sum().DivScalar(0).Cast(to)
		}
		return x.Mean().Cast(to)
	case BatchMean:
		if x.Rank() == 0 {
			return x.Cast(to)
		}
		return x.Sum().DivScalar(float64(x.Size(0))).Cast(to)
	}
	return tensor.Fail(op, fmt.Errorf("%w: reduction %d", tensor.ErrArgument, int(r)))
}

// wide is x in the type that numbers of its type are computed in.
func wide(x *tensor.Tensor) *tensor.Tensor { return x.Cast(x.DType().Compute()) }

// alike is [operand.Floats], which operands of other shapes than the first one's are, too.
func alike(op string, of ...*tensor.Tensor) *tensor.Tensor {
	if b := operand.Floats(op, of...); b != nil {
		return b
	}
	for _, x := range of[1:] {
		if !x.Shape().Equal(of[0].Shape()) {
			return tensor.Fail(op, fmt.Errorf("%w: %v and %v", tensor.ErrShape, of[0].Shape(), x.Shape()))
		}
	}
	return nil
}

// spreads is nil if a weight, nil for none, is of numbers like x that are broadcast to its shape.
func spreads(op, what string, x, weight *tensor.Tensor) *tensor.Tensor {
	if weight == nil {
		return nil
	}
	if b := operand.Floats(op, x, weight); b != nil {
		return b
	}
	if weight.BroadcastTo(x.Shape()...).Err() != nil {
		return tensor.Fail(op, fmt.Errorf("%w: %s of %v for %v", tensor.ErrBroadcast, what, weight.Shape(), x.Shape()))
	}
	return nil
}
