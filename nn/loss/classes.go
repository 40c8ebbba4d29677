package loss

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/internal/operand"
	"github.com/gokiln/kiln/tensor"
)

// ClassOptions are those of losses of classes.
type ClassOptions struct {
	// Weight has a number for each class, nil is 1 for all. One that would need a gradient is an
	// error of kind [tensor.ErrNoGradient]: Detach says that it does not.
	Weight *tensor.Tensor
	// Ignore is a target whose row counts for nothing; nil is -100, as in PyTorch. So does -1
	// always, which for indices of unsigned types is their largest number.
	Ignore *int
	// ClassLast has the classes in the last dimension, and not in dimension 1.
	ClassLast bool
	// Reduction is [Mean], which is over the sum of the weights of the targets, [Sum] or [None].
	Reduction Reduction
}

// IgnoreIndex is a value for [ClassOptions.Ignore].
func IgnoreIndex(i int) *int { return &i }

// classes are the operands of a loss of classes after they were checked.
type classes struct {
	op     string
	o      *ClassOptions
	dim    int // of the classes
	n      int // how many there are
	weight *tensor.Tensor
	ids    *tensor.Tensor // I64 of the shape of the rows, -1 where the row counts for nothing
}

// newClasses checks the operands. Shapes of the target are those of x without the classes.
func newClasses(op string, x, target *tensor.Tensor, o *ClassOptions) (*classes, *tensor.Tensor) {
	c, b := newClassDim(op, x, o)
	if b != nil {
		return nil, b
	}
	switch {
	case target == nil:
		return nil, tensor.Fail(op, fmt.Errorf("%w: the target is a nil tensor", tensor.ErrArgument))
	case target.Err() != nil:
		return nil, target
	case target.Device() != x.Device():
		return nil, tensor.Fail(op, fmt.Errorf("%w: %s and a target on %s", tensor.ErrDevice, x.Device(), target.Device()))
	case !target.DType().IsInt():
		return nil, tensor.Fail(op, fmt.Errorf("%w: a target of %s for %v, want integers", tensor.ErrDType, target.DType(), x.Shape()))
	}
	rows := append(x.Shape()[:c.dim:c.dim], x.Shape()[c.dim+1:]...)
	if !target.Shape().Equal(rows) {
		return nil, tensor.Fail(op, fmt.Errorf("%w: %v and a target of %v, want %v", tensor.ErrShape, x.Shape(), target.Shape(), rows))
	}
	c.ids = c.indices(target)
	return c, nil
}

// newClassDim checks logits and options.
func newClassDim(op string, x *tensor.Tensor, o *ClassOptions) (*classes, *tensor.Tensor) {
	if b := operand.Floats(op, x); b != nil {
		return nil, b
	}
	c := &classes{op: op, o: o, dim: 1}
	switch {
	case x.Rank() == 0:
		return nil, tensor.Fail(op, fmt.Errorf("%w: %v has no dimension of classes", tensor.ErrRank, x.Shape()))
	case o.ClassLast || x.Rank() == 1:
		c.dim = x.Rank() - 1
	}
	c.n = x.Size(c.dim)
	if o.Reduction == BatchMean {
		return nil, tensor.Fail(op, fmt.Errorf("%w: reduction %v", tensor.ErrArgument, o.Reduction))
	}
	if w := o.Weight; w != nil {
		if b := operand.Floats(op, w); b != nil {
			return nil, b
		}
		if !w.Shape().Equal(tensor.Shape{c.n}) {
			return nil, tensor.Fail(op, fmt.Errorf("%w: a weight of %v for %d classes", tensor.ErrShape, w.Shape(), c.n))
		}
		if w.RequiresGrad() {
			return nil, tensor.Fail(op, fmt.Errorf("%w: of the weights of classes: Detach takes them as they are", tensor.ErrNoGradient))
		}
		c.weight = w.Detach().Cast(x.DType().Compute())
	}
	return c, nil
}

// indices are the targets with -1 for those that count for nothing.
func (c *classes) indices(target *tensor.Tensor) *tensor.Tensor {
	ids := target.Cast(tensor.I64)
	ignore := -100
	if c.o.Ignore != nil {
		ignore = *c.o.Ignore
	}
	if ignore != -1 {
		ids = ids.MaskedFill(ids.EqScalar(float64(ignore)), -1)
	}
	switch target.DType() {
	case tensor.U8:
		ids = ids.MaskedFill(ids.EqScalar(math.MaxUint8), -1)
	case tensor.U32:
		ids = ids.MaskedFill(ids.EqScalar(math.MaxUint32), -1)
	}
	return ids
}

// weights are those of the targets, 0 where they count for nothing.
func (c *classes) weights(dt tensor.DType, ids *tensor.Tensor) *tensor.Tensor {
	if c.weight == nil {
		return ids.GeScalar(0).Cast(dt)
	}
	return c.weight.Take(ids)
}

// reduce reduces the losses of rows, which have been weighted; those that count for nothing become
// 0, whatever they are.
func (c *classes) reduce(rows, weights *tensor.Tensor, to tensor.DType) *tensor.Tensor {
	rows = c.ids.GeScalar(0).Where(rows, rows.ZerosLike())
	if c.o.Reduction == Mean {
		return rows.Sum().Div(weights.Sum()).Cast(to)
	}
	return c.o.Reduction.apply(c.op, rows, to)
}

// NLL is the negative log-likelihood: minus the element of logp, logarithms of probabilities of
// shape (N, C, …) or (C), at the target, integers of shape (N, …) or (), times the weight of its
// class. It is torch.nn.functional.nll_loss.
func NLL(logp, target *tensor.Tensor, o ClassOptions) *tensor.Tensor {
	c, b := newClasses("nll", logp, target, &o)
	if b != nil {
		return b
	}
	x := wide(logp.Gather(c.ids.Unsqueeze(c.dim), c.dim).Squeeze(c.dim))
	w := c.weights(x.DType(), c.ids)
	return c.reduce(x.Mul(w).Neg(), w, logp.DType())
}
