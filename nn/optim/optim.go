package optim

import (
	"errors"
	"fmt"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// Group is variables that are updated alike.
type Group struct {
	Params      []*tensor.Var
	LRScale     float64 // multiplies the learning rate; 0 stands for 1
	WeightDecay float64 // 0 stands for that of the optimiser, below 0 for none
	NoMaster    bool    // variables of 16 bits are updated without a copy in float32
	Fallback    bool    // [Muon] updates matrices as it does vectors: for embeddings and output layers
}

// Parameters is what an optimiser is for: variables, or groups of them.
type Parameters interface {
	[]*tensor.Var | []Group
}

// groupsOf returns parameters as groups.
func groupsOf[P Parameters](params P) []Group {
	switch p := any(params).(type) {
	case []Group:
		return p
	case []*tensor.Var:
		return []Group{{Params: p}}
	}
	return nil
}

// varsOf returns the variables of parameters in order.
func varsOf[P Parameters](params P) (list []*tensor.Var) {
	for _, g := range groupsOf(params) {
		list = append(list, g.Params...)
	}
	return list
}

// Optimizer changes variables by their gradients. It is not for use by several goroutines at the
// same time.
type Optimizer struct {
	name   string
	algo   algorithm
	lr     float64
	decay  float64
	params []*param
	steps  int
	ones   ones
	err    error
}

// algorithm is how a variable is updated.
type algorithm interface {
	// check reports why the algorithm is not for a variable.
	check(p *param) error
	// prepare makes the states of a variable.
	prepare(p *param) error
	// update changes the variable and its states. The gradient is contiguous, and multiplied by
	// what scale has on the device; u.step counts from 1.
	update(p *param, u updating) error
}

// updating is one step of one variable.
type updating struct {
	grad, scale *tensor.Tensor
	lr, decay   float64
	step        int
}

// param is a variable with its states.
type param struct {
	v       *tensor.Var
	group   Group
	index   int
	compute tensor.DType
	master  *tensor.Tensor // nil if the variable is what is updated
	states  []state
	ready   bool
	step    int // updates so far
}

// state is a tensor that an algorithm keeps of a variable.
type state struct {
	name string
	t    *tensor.Tensor
}

// place is a device and an element type.
type place struct {
	dev *tensor.Device
	dt  tensor.DType
}

// newOptimizer checks the variables.
func newOptimizer[P Parameters](name string, params P, algo algorithm, lr, decay float64) *Optimizer {
	o := &Optimizer{name: name, algo: algo, lr: lr, decay: max(decay, 0), ones: ones{}}
	seen := map[*tensor.Var]bool{}
	for _, g := range groupsOf(params) {
		for _, v := range g.Params {
			p := &param{v: v, group: g, index: len(o.params)}
			err := p.check()
			if err == nil && seen[v] {
				err = fmt.Errorf("%w: it is there twice", tensor.ErrArgument)
			}
			if err == nil {
				err = algo.check(p)
			}
			if err != nil {
				o.err = errors.Join(o.err, fmt.Errorf("%s: parameter %d: %w", name, p.index, err))
			}
			seen[v] = true
			o.params = append(o.params, p)
		}
	}
	if len(o.params) == 0 {
		o.err = fmt.Errorf("%s: %w: no parameters", name, tensor.ErrArgument)
	}
	return o
}

// check reports why the variable is none for an optimiser.
func (p *param) check() error {
	if p.v == nil {
		return fmt.Errorf("%w: a nil variable", tensor.ErrArgument)
	}
	if err := p.v.Err(); err != nil {
		return err
	}
	if d := p.v.Tensor().DType(); !d.Computes() || !d.IsFloat() {
		return fmt.Errorf("%w: %s has no arithmetic", tensor.ErrDType, d)
	}
	p.compute = p.v.Tensor().DType().Compute()
	return nil
}

// Err returns what is wrong with the configuration or the variables, which every step returns too.
func (o *Optimizer) Err() error { return o.err }

// LR is the learning rate.
func (o *Optimizer) LR() float64 { return o.lr }

// SetLR sets the learning rate of the steps to come; a group has it times its [Group.LRScale].
func (o *Optimizer) SetLR(lr float64) { o.lr = lr }

// Steps is how many steps there were.
func (o *Optimizer) Steps() int { return o.steps }

// Params returns the variables of all groups, in order.
func (o *Optimizer) Params() []*tensor.Var {
	list := make([]*tensor.Var, len(o.params))
	for i, p := range o.params {
		list[i] = p.v
	}
	return list
}

// Step updates the variables that have a gradient. Gradients have the shapes of their variables,
// or it is an error of kind [tensor.ErrShape], and their type or that which is computed in
// ([tensor.ErrDTypeMismatch]); nothing is changed then.
func (o *Optimizer) Step(grads *tensor.Gradients) error { return o.stepScaled(grads, nil) }

// stepScaled is Step with gradients times an element of a tensor, nil for 1.
func (o *Optimizer) stepScaled(grads *tensor.Gradients, scale *tensor.Tensor) error {
	if o.err != nil {
		return o.err
	}
	list := make([]*tensor.Tensor, len(o.params))
	for i, p := range o.params {
		g, err := p.gradient(grads)
		if err == nil && g != nil {
			err = o.prepare(p)
		}
		if err != nil {
			return fmt.Errorf("%s: parameter %d: %w", o.name, i, err)
		}
		list[i] = g
	}
	o.steps++
	for i, p := range o.params {
		if list[i] == nil {
			continue
		}
		if err := o.update(p, list[i], scale); err != nil {
			return fmt.Errorf("%s: parameter %d: %w", o.name, i, err)
		}
	}
	return nil
}

// gradient returns the gradient of a variable in order of memory, nil if there is none.
func (p *param) gradient(grads *tensor.Gradients) (*tensor.Tensor, error) {
	x := p.v.Tensor()
	g := grads.Of(x)
	if g == nil || x.Count() == 0 {
		return nil, nil
	}
	if err := g.Err(); err != nil {
		return nil, err
	}
	if !g.Shape().Equal(x.Shape()) {
		return nil, fmt.Errorf("%w: a gradient of %v for %v", tensor.ErrShape, g.Shape(), x.Shape())
	}
	if g.DType() != x.DType() && g.DType() != p.compute {
		return nil, fmt.Errorf("%w: a gradient of %s for %s", tensor.ErrDTypeMismatch, g.DType(), x.DType())
	}
	if g.Device() != x.Device() {
		return nil, fmt.Errorf("%w: a gradient on %s for a variable on %s", tensor.ErrDevice, g.Device(), x.Device())
	}
	g = g.Detach().Contiguous()
	return g, g.Err()
}

// prepare makes the master copy and the states of a variable at its first gradient.
func (o *Optimizer) prepare(p *param) error {
	if p.ready {
		return nil
	}
	x := p.v.Tensor()
	if x.DType() != p.compute && !p.group.NoMaster && p.master == nil {
		p.master = x.Detach().Cast(p.compute)
		if err := p.master.Err(); err != nil {
			return err
		}
	}
	if err := o.algo.prepare(p); err != nil {
		return err
	}
	for _, s := range p.states {
		if err := s.t.Err(); err != nil {
			return err
		}
	}
	p.ready = true
	return nil
}

// update is the step of one variable.
func (o *Optimizer) update(p *param, g, scale *tensor.Tensor) error {
	if scale == nil {
		scale = o.ones.of(p.v.Tensor().Device(), p.compute)
	} else {
		scale = scale.Cast(p.compute)
	}
	if err := scale.Err(); err != nil {
		return err
	}
	u := updating{grad: g, scale: scale, lr: o.lr, decay: o.decay, step: p.step + 1}
	if s := p.group.LRScale; s != 0 {
		u.lr *= s
	}
	if d := p.group.WeightDecay; d != 0 {
		u.decay = max(d, 0)
	}
	if err := o.algo.update(p, u); err != nil {
		return err
	}
	p.step++
	return nil
}

// ones holds a tensor with a 1 for each device and element type.
type ones map[place]*tensor.Tensor

// of returns a tensor that holds 1.
func (o ones) of(d *tensor.Device, dt tensor.DType) *tensor.Tensor {
	at := place{d, dt}
	if o[at] == nil {
		o[at] = tensor.Full(d, dtype.One(dt), 1)
	}
	return o[at]
}

// zeros adds a state of zeros of the shape of the variable.
func (p *param) zeros(name string) {
	x := p.v.Tensor()
	p.states = append(p.states, state{name, tensor.Zeros(x.Device(), p.compute, x.Shape()...)})
}

// state returns a state by its name, nil if there is none.
func (p *param) state(name string) *tensor.Tensor {
	for _, s := range p.states {
		if s.name == name {
			return s.t
		}
	}
	return nil
}

// or is x, or what it stands for: see the package.
func or(x, standard float64) float64 {
	switch {
	case x == 0:
		return standard
	case x < 0:
		return 0
	}
	return x
}

// Master returns the float32 copy that a variable of 16 bits is updated by, nil if there is none:
// for one that the optimiser has not, that has had no gradient yet, or that needs none. It is the
// copy itself, for looking at.
func (o *Optimizer) Master(v *tensor.Var) *tensor.Tensor {
	for _, p := range o.params {
		if p.v == v {
			return p.master
		}
	}
	return nil
}

// Refresh has the master copies begin again from the variables: for a program that has set
// variables of 16 bits itself, which the next step would otherwise replace by what it makes of
// their masters.
func (o *Optimizer) Refresh() error {
	for i, p := range o.params {
		if p.master == nil {
			continue
		}
		if err := p.master.Assign(p.v.Tensor().Detach().Cast(p.compute)); err != nil {
			return fmt.Errorf("%s: parameter %d: %w", o.name, i, err)
		}
	}
	return nil
}
