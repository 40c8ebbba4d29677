package optim

import (
	"fmt"
	"strconv"

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

// Update moves each average to its variable by the part that the decay rate leaves. While a graph
// is captured it counts nothing, and with Ramp, whose decay rate changes, it is an error of kind
// [runtime.ErrCapturing].
func (a *Average) Update() error {
	captured, err := capturing(a.vars...)
	if err == nil && captured && a.Ramp {
		err = fmt.Errorf("%w: the decay rate of Ramp would be the same in each launch", runtime.ErrCapturing)
	}
	if err != nil {
		return fmt.Errorf("average: %w", err)
	}
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
	if !captured {
		a.n++
	}
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

// Updates is how many updates there were, without those of launches of graphs.
func (a *Average) Updates() int { return a.n }

// updates is the name of the number of updates in a state.
const updates = "updates"

// State returns the averages by the indices of their variables, and "updates", how many there were,
// of type I64: see [Optimizer.State]. The averages change with the next update.
func (a *Average) State() (map[string]*tensor.Tensor, error) {
	if len(a.list) == 0 {
		return nil, fmt.Errorf("average: %w: no parameters", tensor.ErrArgument)
	}
	state := map[string]*tensor.Tensor{updates: tensor.From(a.list[0].Device(), []int64{int64(a.n)})}
	for i, t := range a.list {
		state[strconv.Itoa(i)] = t.Detach()
	}
	return state, state[updates].Err()
}

// Load sets the averages, and how many updates they have had, to what [Average.State] has returned
// for variables of the same shapes and types. What is missing, or there and not expected, is an
// error of kind [tensor.ErrArgument]; nothing is changed then.
func (a *Average) Load(state map[string]*tensor.Tensor) error {
	n, err := a.loadCount(state)
	if err != nil {
		return fmt.Errorf("average: load: %w", err)
	}
	for i, t := range a.list {
		if err := t.Assign(state[strconv.Itoa(i)].Detach().To(t.Device())); err != nil {
			return fmt.Errorf("average: parameter %d: %w", i, err)
		}
	}
	a.n = n
	return nil
}

// loadCount checks a state and returns its number of updates.
func (a *Average) loadCount(state map[string]*tensor.Tensor) (int, error) {
	if len(state) != len(a.list)+1 {
		return 0, fmt.Errorf("%w: %d tensors for %d averages and their number of updates", tensor.ErrArgument, len(state), len(a.list))
	}
	for i, t := range a.list {
		s := state[strconv.Itoa(i)]
		switch {
		case s == nil:
			return 0, fmt.Errorf("%w: \"%d\" is missing", tensor.ErrArgument, i)
		case s.Err() != nil:
			return 0, s.Err()
		case !s.Shape().Equal(t.Shape()):
			return 0, fmt.Errorf("parameter %d: %w: %v for %v", i, tensor.ErrShape, s.Shape(), t.Shape())
		case s.DType() != t.DType():
			return 0, fmt.Errorf("parameter %d: %w: %s for %s", i, tensor.ErrDTypeMismatch, s.DType(), t.DType())
		}
	}
	n, err := tensor.To1[int64](state[updates])
	if err == nil && len(n) != 1 {
		err = fmt.Errorf("%w: %d numbers of updates", tensor.ErrShape, len(n))
	}
	if err != nil {
		return 0, err
	}
	return int(n[0]), nil
}
