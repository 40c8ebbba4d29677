package optim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/nn/optim/kernels"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

var updateTogether = ops.NewGeneric("update", kernels.UpdateTogether[ops.T, ops.O, ops.C])

// packMost is how many elements a variable has at most that is updated together with others: a
// launch for itself costs a larger one little.
const packMost = 1 << 16

// pack is small variables of one type whose states are one behind the other in memory, so that one
// launch updates them all.
type pack struct {
	algo    *elementwise
	members []*param
	master  *tensor.Tensor // nil if there are no master copies
	states  [3]*tensor.Tensor

	params []*param // of the step that is made, with their gradients
	grads  []*tensor.Tensor
}

// packKey is what the variables of a pack have in common.
type packKey struct {
	algo   *elementwise
	at     place
	dt     tensor.DType
	master bool
}

// prepare makes the master copies and the states of variables, and what all steps read.
func (o *Optimizer) prepare(list []*param) error {
	for _, p := range list {
		if err := o.prepareSteps(p); err != nil {
			return fmt.Errorf("parameter %d: %w", p.index, err)
		}
	}
	open := map[packKey][]*param{}
	var keys []packKey // in the order of the variables
	for _, p := range list {
		x := p.v.Tensor()
		a := o.algo.elementwise(p)
		if a == nil || x.Count() > packMost {
			if err := o.prepareOne(p); err != nil {
				return fmt.Errorf("parameter %d: %w", p.index, err)
			}
			continue
		}
		key := packKey{a, place{x.Device(), p.compute}, x.DType(), p.mastered()}
		if open[key] == nil {
			keys = append(keys, key)
		}
		open[key] = append(open[key], p)
	}
	for _, key := range keys {
		for part := range slices.Chunk(open[key], kernels.Together) {
			if err := o.packUp(key, part); err != nil {
				return fmt.Errorf("parameter %d: %w", part[0].index, err)
			}
		}
	}
	return nil
}

// prepareSteps makes what updates of a variable read besides its states.
func (o *Optimizer) prepareSteps(p *param) error {
	at := place{p.v.Tensor().Device(), p.compute}
	table := kept(o.tables, at, func() *tensor.Tensor {
		return tensor.Zeros(at.dev, at.dt, len(o.params), kernels.Columns)
	})
	return errors.Join(table.Err(), o.ones.of(at.dev, at.dt).Err())
}

// packUp makes the states of variables as those of a pack, all of them or none.
func (o *Optimizer) packUp(key packKey, list []*param) (err error) {
	if len(list) == 1 {
		return o.prepareOne(list[0])
	}
	defer func() {
		if err != nil {
			for _, p := range list {
				p.master = nil
			}
		}
	}()
	k := &pack{algo: key.algo, members: list}
	n := 0
	for _, p := range list {
		p.at = n
		n += (p.v.Tensor().Count() + 3) / 4 * 4 // whole vectors
	}
	if key.master {
		k.master = tensor.Zeros(key.at.dev, key.at.dt, n)
		for _, p := range list {
			p.master = p.part(k.master)
			if err := p.master.Assign(p.v.Tensor().Detach().Cast(p.compute)); err != nil {
				return err
			}
		}
	}
	for i, name := range key.algo.names {
		if name == "" {
			continue
		}
		k.states[i] = tensor.Zeros(key.at.dev, key.at.dt, n)
		if err := key.algo.fill(i, k.states[i]); err != nil {
			return err
		}
	}
	for _, p := range list {
		p.states = nil
		for i, name := range key.algo.names {
			if name != "" {
				p.states = append(p.states, state{name, p.part(k.states[i])})
			}
		}
		p.pack, p.ready = k, true
	}
	o.packs = append(o.packs, k)
	return nil
}

// part is the variable's own of what a pack has.
func (p *param) part(whole *tensor.Tensor) *tensor.Tensor {
	x := p.v.Tensor()
	return whole.Narrow(0, p.at, x.Count()).Reshape(x.Shape()...)
}

// add notes the gradient of a variable for the step that is made.
func (k *pack) add(p *param, g *tensor.Tensor) {
	k.params, k.grads = append(k.params, p), append(k.grads, g)
}

// applyPack updates the variables that were added, by a launch for each type of gradients.
func (o *Optimizer) applyPack(k *pack, scale *tensor.Tensor) error {
	for _, dt := range []tensor.DType{k.members[0].v.Tensor().DType(), k.members[0].compute} {
		var list packed
		for i, p := range k.params {
			if g := k.grads[i]; g != nil && g.DType() == dt {
				list.add(p, g)
				k.grads[i] = nil
			}
		}
		if list.n == 0 {
			continue
		}
		if err := o.launchPack(k, &list, scale); err != nil {
			return fmt.Errorf("%s: parameters %d to %d: %w", o.name, list.first, list.last, err)
		}
	}
	return nil
}

// clear drops the gradients.
func (k *pack) clear() {
	clear(k.params)
	clear(k.grads)
	k.params, k.grads = k.params[:0], k.grads[:0]
}

// packed is the variables of one launch, with their gradients.
type packed struct {
	xs, gs [kernels.Together]*tensor.Tensor
	parts  kernels.Parts
	n      int

	first, last int // the variables' indices, for errors
}

func (l *packed) add(p *param, g *tensor.Tensor) {
	x := p.v.Tensor()
	if l.n == 0 {
		l.first = p.index
	}
	l.last = p.index
	l.xs[l.n], l.gs[l.n] = x, g
	l.parts.N[l.n], l.parts.At[l.n], l.parts.Row[l.n] = int32(x.Count()), int32(p.at), int32(p.index)
	l.n++
}

// launchPack runs the kernel.
func (o *Optimizer) launchPack(k *pack, l *packed, scale *tensor.Tensor) error {
	x, g := l.xs[0], l.gs[0]
	u, err := o.updating(k.members[0], g, scale)
	if err != nil {
		return err
	}
	span := kernels.Span{Vec: single(x.Device()), Master: dsl.ConstBool(k.master != nil)}
	master, states := u.scale, [3]*tensor.Tensor{u.scale, u.scale, u.scale} // what the kernel does not use
	if k.master != nil {
		master = k.master
	}
	for i, s := range k.states {
		if s != nil {
			states[i], span.States = s, span.States|1<<i
		}
	}
	grid := l.cover(span.Vec)
	for i := l.n; i < len(l.xs); i++ {
		l.xs[i], l.gs[i] = o.nothing(x), o.nothing(g)
		l.parts.End[i] = l.parts.End[l.n-1]
	}
	dt := k.members[0].compute
	kernel, err := updateTogether.Of(ops.TypeArgs{T: x.DType(), O: g.DType(), C: dt})
	if err != nil {
		return err
	}
	return tensor.Launch(kernel, grid, l.xs[:], l.gs[:], master, states[0], states[1], states[2], u.scale, u.steps, ruleIn(dt, k.algo.rule), l.parts, span, k.algo.fn.In(dt))
}

// cover is the grid for all of them, of blocks that are small enough for a vector of some hundred
// elements. It notes where the blocks of each end.
func (l *packed) cover(vec dsl.ConstInt) runtime.Grid {
	each := int32(updateThreads)
	if vec != 0 {
		each *= kernels.Many
	}
	var end int32
	for i := range l.n {
		end += (l.parts.N[i] + each - 1) / each
		l.parts.End[i] = end
	}
	return runtime.Blocks(int(end), updateThreads)
}

// nothing is a tensor without elements on the device and of the type of another.
func (o *Optimizer) nothing(like *tensor.Tensor) *tensor.Tensor {
	at := place{like.Device(), like.DType()}
	return kept(o.empty, at, func() *tensor.Tensor { return tensor.Empty(at.dev, at.dt, 0) })
}
