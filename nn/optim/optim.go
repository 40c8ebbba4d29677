package optim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
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
	vars   []*tensor.Var // of params
	steps  int
	ones   ones
	tables map[place]*tensor.Tensor // the numbers of the step: a row for each variable
	packs  []*pack
	empty  map[place]*tensor.Tensor // tensors without elements
	list   []*tensor.Tensor         // room for the gradients of a step
	err    error
}

// algorithm is how a variable is updated.
type algorithm interface {
	// check reports why the algorithm is not for a variable.
	check(p *param) error
	// prepare makes the states of a variable.
	prepare(p *param) error
	// numbers are those of a step of the variable.
	numbers(p *param, at stepping) stepNumbers
	// elementwise is how the algorithm updates the variable if it does so element by element,
	// and else nil.
	elementwise(p *param) *elementwise
	// update changes the variable and its states. The gradient is contiguous, and multiplied by
	// what scale has on the device.
	update(p *param, u updating) error
}

// updating is what an update reads on the device. The numbers of the step are in the row of steps
// that the variable's index says: see kernels.Columns.
type updating struct{ grad, scale, steps *tensor.Tensor }

// param is a variable with its states.
type param struct {
	v       *tensor.Var
	group   Group
	index   int
	compute tensor.DType
	master  *tensor.Tensor // nil if the variable is what is updated
	states  []state
	ready   bool
	step    int   // updates so far
	active  bool  // the last step had a gradient of it
	pack    *pack // of small variables, which are updated together; nil if there is none
	at      int   // where its states begin in those of the pack
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
	o := &Optimizer{name: name, algo: algo, lr: lr, decay: max(decay, 0), ones: ones{}, tables: map[place]*tensor.Tensor{}, empty: map[place]*tensor.Tensor{}}
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
			o.params, o.vars = append(o.params, p), append(o.vars, v)
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
func (o *Optimizer) Params() []*tensor.Var { return slices.Clone(o.vars) }

// Step updates the variables that have a gradient. Gradients have the shapes of their variables,
// or it is an error of kind [tensor.ErrShape], and their type or that which is computed in
// ([tensor.ErrDTypeMismatch]); nothing is changed then.
//
// While a graph is captured, Step submits the updates and counts nothing: see [Optimizer.Advance].
// It is an error of kind [tensor.ErrDevice] if only some devices of the variables capture one.
func (o *Optimizer) Step(grads *tensor.Gradients) error { return o.stepScaled(grads, nil) }

// stepScaled is Step with gradients times an element of a tensor, nil for 1.
func (o *Optimizer) stepScaled(grads *tensor.Gradients, scale *tensor.Tensor) error {
	if o.err != nil {
		return o.err
	}
	captured, err := capturing(o.vars...)
	if err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	defer o.done()
	if err := o.collect(grads); err != nil {
		return err
	}
	if err := o.ready(captured); err != nil {
		return err
	}
	for i, p := range o.params {
		p.active = o.list[i] != nil
	}
	if !captured {
		if err := o.advance(); err != nil {
			return err
		}
	}
	return o.apply(scale)
}

// done drops the gradients of a step, of one that failed too.
func (o *Optimizer) done() {
	clear(o.list)
	for _, k := range o.packs {
		k.clear()
	}
}

// collect finds the gradients of the variables.
func (o *Optimizer) collect(grads *tensor.Gradients) error {
	if o.list == nil {
		o.list = make([]*tensor.Tensor, len(o.params))
	}
	for i, p := range o.params {
		g, err := p.gradient(grads)
		if err != nil {
			return fmt.Errorf("%s: parameter %d: %w", o.name, i, err)
		}
		o.list[i] = g
	}
	return nil
}

// ready makes what the variables with a gradient are updated with.
func (o *Optimizer) ready(captured bool) error {
	var list []*param
	for i, p := range o.params {
		if o.list[i] != nil && !p.ready {
			list = append(list, p)
		}
	}
	if captured && len(list) > 0 {
		return fmt.Errorf("%s: parameter %d: %w: its states would begin anew with each launch: take a step before", o.name, list[0].index, runtime.ErrCapturing)
	}
	if err := o.prepare(list); err != nil {
		return fmt.Errorf("%s: %w", o.name, err)
	}
	return nil
}

// apply submits the updates of a step.
func (o *Optimizer) apply(scale *tensor.Tensor) error {
	for i, p := range o.params {
		if o.list[i] == nil {
			continue
		}
		if p.pack != nil {
			p.pack.add(p, o.list[i])
			continue
		}
		u, err := o.updating(p, o.list[i], scale)
		if err == nil {
			err = o.algo.update(p, u)
		}
		if err != nil {
			return fmt.Errorf("%s: parameter %d: %w", o.name, i, err)
		}
	}
	for _, k := range o.packs {
		if err := o.applyPack(k, scale); err != nil {
			return err
		}
	}
	return nil
}

// updating is what an update of a variable, or of one like it, reads.
func (o *Optimizer) updating(p *param, g, scale *tensor.Tensor) (updating, error) {
	dev := p.v.Tensor().Device()
	if scale == nil {
		scale = o.ones.of(dev, p.compute)
	} else {
		scale = scale.Cast(p.compute)
	}
	return updating{grad: g, scale: scale, steps: o.tables[place{dev, p.compute}]}, scale.Err()
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
	if from, to := g.Layout().Shape(), x.Layout().Shape(); !from.Equal(to) {
		return nil, fmt.Errorf("%w: a gradient of %v for %v", tensor.ErrShape, from, to)
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

// mastered reports whether a master copy of the variable is what is updated.
func (p *param) mastered() bool { return p.v.Tensor().DType() != p.compute && !p.group.NoMaster }

// prepareOne makes the master copy and the states of a variable, all of them or none.
func (o *Optimizer) prepareOne(p *param) (err error) {
	defer func() {
		if err != nil {
			p.master, p.states = nil, nil
		}
	}()
	if p.mastered() && p.master == nil {
		p.master = p.v.Tensor().Detach().Cast(p.compute)
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

// ones holds a tensor with a 1 for each device and element type.
type ones map[place]*tensor.Tensor

// of returns a tensor that holds 1.
func (o ones) of(d *tensor.Device, dt tensor.DType) *tensor.Tensor {
	return kept(o, place{d, dt}, func() *tensor.Tensor { return tensor.Full(d, dtype.One(dt), 1) })
}

// kept returns the tensor of a key, which is made the first time. One that failed is not kept. What
// is read by captured steps is made before them: in a graph its elements would be set by launches
// only, and it would be kept without any.
func kept[K comparable](of map[K]*tensor.Tensor, key K, make func() *tensor.Tensor) *tensor.Tensor {
	if t := of[key]; t != nil {
		return t
	}
	t := make()
	if t.Err() == nil {
		of[key] = t
	}
	return t
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
func or(x, standard float64) float64 { return max(cmp.Or(x, standard), 0) }

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
