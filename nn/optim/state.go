package optim

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// counts is the name of the numbers of steps and the learning rate.
const counts = "counts"

// State returns what the optimiser has to be saved for, by names that stay the same: the states of
// each variable that had a gradient as "3.mean", after its index over all groups, its master copy
// as "3.master", and "counts", of type I64: the number of steps, the bits of the learning rate as
// [math.Float64bits] gives them, and the number of updates of each variable. The tensors are the
// states themselves and change with the next step: they are saved or copied before.
//
// Variables are saved by themselves, and so is what is not of the optimiser, such as the step of a
// schedule.
func (o *Optimizer) State() (map[string]*tensor.Tensor, error) {
	if o.err != nil {
		return nil, o.err
	}
	all := map[string]*tensor.Tensor{}
	numbers := []int64{int64(o.steps), int64(math.Float64bits(o.lr))}
	for _, p := range o.params {
		numbers = append(numbers, int64(p.step))
		for name, t := range p.all() {
			all[p.key(name)] = t.Detach()
		}
	}
	all[counts] = tensor.From(o.params[0].v.Tensor().Device(), numbers)
	return all, all[counts].Err()
}

// key is the name of a state of the variable.
func (p *param) key(name string) string { return strconv.Itoa(p.index) + "." + name }

// all returns the states of the variable and the master copy by their names, none if it had no
// gradient yet.
func (p *param) all() map[string]*tensor.Tensor {
	list := map[string]*tensor.Tensor{}
	if !p.ready {
		return list
	}
	if p.master != nil {
		list["master"] = p.master
	}
	for _, s := range p.states {
		list[s.name] = s.t
	}
	return list
}

// Load sets the state to what [Optimizer.State] has returned for an optimiser with the same
// configuration and variables of the same shapes and types: the next steps then have the same bits
// as those of that one, if the variables have the same numbers. States are brought to the devices
// of their variables. What is missing, or there and not expected, is an error of kind
// [tensor.ErrArgument], another shape or type one of kind [tensor.ErrShape] or
// [tensor.ErrDTypeMismatch]; nothing is changed then. No part of a graph, it is an error of kind
// [runtime.ErrCapturing] while one is captured.
//
// A variable that had no update in what is loaded begins anew: graphs of steps with it are captured
// again, after a step.
func (o *Optimizer) Load(state map[string]*tensor.Tensor) error {
	if o.err != nil {
		return o.err
	}
	captured, err := capturing(o.vars...)
	if err == nil && captured {
		err = fmt.Errorf("%w: states would be made anew with each launch", runtime.ErrCapturing)
	}
	if err != nil {
		return fmt.Errorf("%s: load: %w", o.name, err)
	}
	numbers, err := o.loadCounts(state)
	if err == nil {
		err = o.fits(state, numbers[2:])
	}
	if err != nil {
		o.forget()
		return fmt.Errorf("%s: load: %w", o.name, err)
	}
	for i, p := range o.params {
		p.step = int(numbers[2+i])
	}
	o.forget()
	for _, p := range o.params {
		for name, t := range p.all() {
			if err := t.Assign(state[p.key(name)].Detach().To(t.Device())); err != nil {
				return fmt.Errorf("%s: load: %s: %w", o.name, p.key(name), err)
			}
		}
	}
	o.steps, o.lr = int(numbers[0]), math.Float64frombits(uint64(numbers[1]))
	return nil
}

// forget drops the states of variables that were not updated.
func (o *Optimizer) forget() {
	for _, p := range o.params {
		if p.step == 0 {
			p.ready, p.states, p.master, p.pack = false, nil, nil, nil
		}
	}
	o.packs = slices.DeleteFunc(o.packs, func(k *pack) bool {
		return !slices.ContainsFunc(k.members, func(p *param) bool { return p.pack == k })
	})
}

// fits reports what a state has not, or has besides; updates is how many each variable had.
func (o *Optimizer) fits(state map[string]*tensor.Tensor, updates []int64) error {
	known := map[string]bool{counts: true}
	var list []*param
	for i, p := range o.params {
		if updates[i] != 0 && !p.ready {
			list = append(list, p)
		}
	}
	if err := o.prepare(list); err != nil {
		return err
	}
	for i, p := range o.params {
		if updates[i] == 0 {
			continue
		}
		if err := o.expect(p, state, known); err != nil {
			return err
		}
	}
	for name := range state {
		if !known[name] {
			return fmt.Errorf("%w: %q is not expected", tensor.ErrArgument, name)
		}
	}
	return nil
}

// loadCounts returns the numbers of a state.
func (o *Optimizer) loadCounts(state map[string]*tensor.Tensor) ([]int64, error) {
	t := state[counts]
	if t == nil {
		return nil, fmt.Errorf("%w: %q is missing", tensor.ErrArgument, counts)
	}
	numbers, err := tensor.To1[int64](t)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", counts, err)
	}
	if len(numbers) != 2+len(o.params) {
		return nil, fmt.Errorf("%w: the state of %d parameters for %d", tensor.ErrArgument, len(numbers)-2, len(o.params))
	}
	return numbers, nil
}

// expect compares the states of a variable with those that are to be loaded.
func (o *Optimizer) expect(p *param, state map[string]*tensor.Tensor, known map[string]bool) error {
	for name, t := range p.all() {
		key := p.key(name)
		known[key] = true
		s := state[key]
		if s == nil {
			return fmt.Errorf("%w: %q is missing", tensor.ErrArgument, key)
		}
		if err := s.Err(); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if !s.Shape().Equal(t.Shape()) {
			return fmt.Errorf("%s: %w: %v for %v", key, tensor.ErrShape, s.Shape(), t.Shape())
		}
		if s.DType() != t.DType() {
			return fmt.Errorf("%s: %w: %s for %s", key, tensor.ErrDTypeMismatch, s.DType(), t.DType())
		}
	}
	return nil
}
