package optim

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var accumulateKernel = ops.NewGeneric("accumulate", kernels.Accumulate[ops.O, ops.C])

// Accumulator is the mean of the gradients of several small batches, for the step of a large one:
//
//	sums := optim.NewAccumulator(params, 4)
//	…
//	mean, err := sums.Add(grads)
//	if mean != nil { // every fourth time
//		err = opt.Step(mean)
//	}
//
// Sums are in float32, in float64 for F64 variables, and changed in place.
type Accumulator struct {
	vars  []*tensor.Var
	sums  []*tensor.Tensor
	fresh []bool // sums are of earlier batches
	n     int
	added int
	grads *tensor.Gradients
}

// NewAccumulator returns an accumulator of n batches.
func NewAccumulator[P Parameters](params P, n int) *Accumulator {
	vars := varsOf(params)
	return &Accumulator{vars: vars, sums: make([]*tensor.Tensor, len(vars)), fresh: make([]bool, len(vars)), n: max(n, 1)}
}

// Add adds the gradients of a batch. With the last batch it returns the mean, of the gradients of
// the variables alone, which is valid until gradients are added again; before it nil. A variable
// that had no gradient in a batch has 0 there, and none if it had none in all. The gradients that
// were added first belong to the accumulator. A graph cannot hold which batch it is: Add is an
// error of kind [runtime.ErrCapturing] while one is captured.
func (a *Accumulator) Add(grads *tensor.Gradients) (*tensor.Gradients, error) {
	const op = "accumulate"
	list, err := gradientsOf(op, grads, a.vars)
	if err != nil {
		return nil, err
	}
	captured, err := capturing(a.vars...)
	if err == nil && captured {
		err = fmt.Errorf("%w: each launch would add to the same batch", runtime.ErrCapturing)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	if a.added == 0 {
		a.grads = grads
		for i := range a.fresh {
			a.fresh[i] = true
		}
	}
	for i, g := range list {
		if g == nil {
			continue
		}
		if err := a.add(i, g); err != nil {
			return nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
	}
	if a.added++; a.added < a.n {
		return nil, nil
	}
	a.added = 0
	out := a.grads
	a.grads = nil
	for t := range out.All() {
		out.Set(t, nil)
	}
	for i, v := range a.vars {
		sum := a.sums[i]
		if a.fresh[i] {
			sum = nil
		}
		out.Set(v.Tensor(), sum)
	}
	return out, nil
}

// add adds one gradient.
func (a *Accumulator) add(i int, g *tensor.Tensor) error {
	x := a.vars[i].Tensor()
	dt := x.DType().Compute()
	if !g.Shape().Equal(x.Shape()) {
		return fmt.Errorf("%w: a gradient of %v for %v", tensor.ErrShape, g.Shape(), x.Shape())
	}
	if a.sums[i] == nil {
		a.sums[i] = tensor.Empty(x.Device(), dt, x.Shape()...)
	}
	k, err := accumulateKernel.Of(ops.TypeArgs{O: g.DType(), C: dt})
	if err != nil {
		return err
	}
	first := dsl.ConstBool(a.fresh[i])
	a.fresh[i] = false
	return tensor.Launch(k, runtime.Cover(g.Count(), 256), a.sums[i], g, number(dt, 1/float64(a.n)), g.Count(), first)
}
