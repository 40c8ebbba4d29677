package optim

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var setSteps = ops.NewGeneric("set steps", kernels.SetSteps[ops.C])

// stepping is a step of a variable; step counts from 1.
type stepping struct {
	lr, decay float64
	step      int
}

// factor is what a decoupled weight decay multiplies the variable by.
func (at stepping) factor() float64 { return 1 - at.lr*at.decay }

// stepNumbers is what changes from step to step in an update: see kernels.Rule.
type stepNumbers struct {
	lr, decay, root float64
	first           bool
}

// Advance counts a step of the variables that the last [Optimizer.Step] had gradients of, and
// brings its learning rates and bias corrections to the device, where updates read them. It is for
// steps that were captured, by [tensor.Device.Capture]: the arguments of their launches are fixed.
//
//	err := opt.Step(grads) // makes the states
//	graph, err := d.Capture(func() error { … return opt.Step(grads) })
//	for step := range 1000 {
//		opt.SetLR(plan.At(step))
//		err = opt.Advance()
//		err = graph.Launch()
//	}
//
// It waits for nothing, and is itself no part of a graph: it is an error of kind
// [runtime.ErrCapturing] there. Before the first Step with a gradient, and where [Optimizer.Load]
// has dropped the states of one of those variables since, it is one of kind [tensor.ErrArgument].
func (o *Optimizer) Advance() error {
	if o.err != nil {
		return o.err
	}
	captured, err := capturing(o.vars...)
	if err == nil && captured {
		err = fmt.Errorf("%w: it would bring the same numbers with each launch: call it before the launch", runtime.ErrCapturing)
	}
	if err == nil {
		err = o.advances()
	}
	if err != nil {
		return fmt.Errorf("%s: advance: %w", o.name, err)
	}
	return o.advance()
}

// advances reports that there is no step to count.
func (o *Optimizer) advances() error {
	none := true
	for _, p := range o.params {
		if p.active && !p.ready {
			return fmt.Errorf("%w: parameter %d has no states since Load: take a step and capture another one", tensor.ErrArgument, p.index)
		}
		none = none && !p.active
	}
	if none {
		return fmt.Errorf("%w: no Step had a gradient before it", tensor.ErrArgument)
	}
	return nil
}

// capturing reports whether work on variables becomes part of graphs.
func capturing(vars ...*tensor.Var) (bool, error) {
	var yes, no *tensor.Device
	for _, v := range vars {
		switch d := v.Tensor().Device(); {
		case d == nil: // of a variable with an error, which is reported where it is used
		case d.Stream().Capturing():
			yes = d
		default:
			no = d
		}
	}
	if yes != nil && no != nil {
		return false, fmt.Errorf("%w: %s captures a graph and %s does not", tensor.ErrDevice, yes, no)
	}
	return yes != nil, nil
}

func (o *Optimizer) advance() error {
	runs := o.runs()
	for at, t := range o.tables {
		if err := setRuns(at.dt, t, runs); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	o.steps++
	for _, p := range o.params {
		if p.active {
			p.step++
		}
	}
	return nil
}

// run is variables with the same numbers: those before end, from the end of the run before on.
type run struct {
	end int
	n   stepNumbers
}

// runs are the numbers of the next step. Variables without a gradient have any.
func (o *Optimizer) runs() (list []run) {
	for i, p := range o.params {
		if !p.active {
			continue
		}
		n := o.algo.numbers(p, o.stepping(p))
		if len(list) == 0 || list[len(list)-1].n != n {
			list = append(list, run{n: n})
		}
		list[len(list)-1].end = i + 1
	}
	return list
}

// stepping is the next step of a variable.
func (o *Optimizer) stepping(p *param) stepping {
	at := stepping{lr: o.lr * cmp.Or(p.group.LRScale, 1), decay: o.decay, step: p.step + 1}
	if d := p.group.WeightDecay; d != 0 {
		at.decay = max(d, 0)
	}
	return at
}

// setRuns writes numbers to the rows of a table.
func setRuns(dt tensor.DType, table *tensor.Tensor, runs []run) error {
	k, err := setSteps.Of(ops.TypeArgs{C: dt})
	if err != nil {
		return err
	}
	for from := 0; len(runs) > 0; {
		part := runs[:min(len(runs), kernels.Runs)]
		runs = runs[len(part):]
		end := part[len(part)-1].end
		if err := tensor.Launch(k, runtime.Cover(end-from, 64), table, from, end, runsIn(dt, part)); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// runsIn returns runs in the type that is computed in, as an argument of a launch.
func runsIn(dt tensor.DType, list []run) any {
	if dt == tensor.F64 {
		return stepRuns[float64](list)
	}
	return stepRuns[float32](list)
}

func stepRuns[C float32 | float64](list []run) (r kernels.StepRuns[C]) {
	for k := range r.End {
		r.End[k] = math.MaxInt32
	}
	for k, one := range list {
		if k < len(list)-1 {
			r.End[k] = int32(one.end)
		}
		r.LR[k], r.Decay[k], r.Root[k] = C(one.n.lr), C(one.n.decay), C(one.n.root)
		if one.n.first {
			r.First[k] = 1
		}
	}
	return r
}
