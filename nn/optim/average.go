package optim

import (
	"fmt"

	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var averageKernel = ops.NewGeneric("average", kernels.Average[ops.O, ops.C])

// Average is the exponential moving average of variables (Polyak and Juditsky, "Acceleration of
// Stochastic Approximation by Averaging", 1992), which often does better than they do themselves:
//
//	ema, err := optim.NewAverage(params, 0.999)
//	… // after each step
//	err = ema.Update()
//	… // to validate
//	restore, err := ema.Apply()
//	defer restore()
//
// Averages are in float32, in float64 for F64 variables.
type Average struct {
	// Ramp has the first averages follow faster: the decay rate is at most (1 + n) / (10 + n)
	// after n updates.
	Ramp bool

	vars  []*tensor.Var
	list  []*tensor.Tensor
	decay float64
	n     int
}

// NewAverage returns the averages of variables, which begin as they are. The decay rate is how much
// of an average each update keeps, between 0 and 1.
func NewAverage[P Parameters](params P, decay float64) (*Average, error) {
	const op = "average"
	if !(decay >= 0 && decay <= 1) {
		return nil, fmt.Errorf("%s: %w: a decay rate of %v", op, tensor.ErrArgument, decay)
	}
	a := &Average{vars: varsOf(params), decay: decay}
	for i, v := range a.vars {
		p := &param{v: v}
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
		t := v.Tensor().Detach().Copy().Cast(p.compute)
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("%s: parameter %d: %w", op, i, err)
		}
		a.list = append(a.list, t)
	}
	return a, nil
}

// Update moves each average to its variable by the part that the decay rate leaves.
func (a *Average) Update() error {
	decay := a.decay
	if a.Ramp {
		decay = min(decay, float64(1+a.n)/float64(10+a.n))
	}
	for i, v := range a.vars {
		x := v.Tensor()
		if x.Count() == 0 {
			continue
		}
		dt := x.DType().Compute()
		k, err := averageKernel.Of(ops.TypeArgs{O: x.DType(), C: dt})
		if err == nil {
			err = tensor.Launch(k, runtime.Cover(x.Count(), 256), a.list[i], x, number(dt, 1-decay), x.Count())
		}
		if err != nil {
			return fmt.Errorf("average: parameter %d: %w", i, err)
		}
	}
	a.n++
	return nil
}

// Of returns the average of a variable, nil if it is not one of those. It changes with the next
// update.
func (a *Average) Of(v *tensor.Var) *tensor.Tensor {
	for i, u := range a.vars {
		if u == v {
			return a.list[i].Detach()
		}
	}
	return nil
}

// Apply sets the variables to their averages until restore is called, which sets them to what they
// were.
func (a *Average) Apply() (restore func() error, err error) {
	old := make([]*tensor.Tensor, len(a.vars))
	for i, v := range a.vars {
		old[i] = v.Tensor().Detach().Copy()
	}
	set := func(list []*tensor.Tensor) error {
		for i, v := range a.vars {
			if err := v.Set(list[i]); err != nil {
				return fmt.Errorf("average: parameter %d: %w", i, err)
			}
		}
		return nil
	}
	now := make([]*tensor.Tensor, len(a.vars))
	for i, v := range a.vars {
		now[i] = a.list[i].Cast(v.Tensor().DType())
	}
	return func() error { return set(old) }, set(now)
}

// Updates is how many updates there were.
func (a *Average) Updates() int { return a.n }

// Load sets the averages, in the order of the variables, and how many updates they have had: what
// [Average.Of] and [Average.Updates] returned for another one.
func (a *Average) Load(list []*tensor.Tensor, updates int) error {
	if len(list) != len(a.list) {
		return fmt.Errorf("average: %w: %d averages for %d variables", tensor.ErrArgument, len(list), len(a.list))
	}
	for i, t := range list {
		if t == nil {
			return fmt.Errorf("average: parameter %d: %w: no average", i, tensor.ErrArgument)
		}
		if !t.Shape().Equal(a.list[i].Shape()) {
			return fmt.Errorf("average: parameter %d: %w: %v for %v", i, tensor.ErrShape, t.Shape(), a.list[i].Shape())
		}
		if err := a.list[i].Assign(t.Detach().To(a.list[i].Device())); err != nil {
			return fmt.Errorf("average: parameter %d: %w", i, err)
		}
	}
	a.n = updates
	return nil
}
