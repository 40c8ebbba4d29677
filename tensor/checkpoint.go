package tensor

import "slices"

// Checkpoint computes f of some tensors and keeps, for gradients, only those and not what
// f computes in between: when a gradient goes back through the result, f is called again.
// It saves memory for time where f is a part of a model, such as a layer:
//
//	for _, layer := range layers {
//		x = tensor.Checkpoint(func(in ...*tensor.Tensor) *tensor.Tensor { return layer.Forward(in[0]) }, x)
//	}
//
// Variables that f uses without being given them have their gradients as always. Both
// calls of f must compute the same: random numbers are the same ones, if no other
// goroutine draws some of the same device meanwhile, and what f changes besides is
// changed twice.
func Checkpoint(f func(in ...*Tensor) *Tensor, in ...*Tensor) *Tensor {
	const op = "checkpoint"
	if bad := first(op, in...); bad != nil {
		return bad
	}
	if slices.ContainsFunc(in, func(t *Tensor) bool { return t.noGrad }) {
		return f(in...)
	}
	dice := diceOf(in)
	leaves := leavesOf(in, in)
	y := f(leaves...)
	if bad := first(op, y); bad != nil {
		return bad
	}
	if i := slices.Index(leaves, y); i >= 0 {
		return in[i] // f has passed it through
	}
	others := variables(y, leaves)
	if y.node == nil {
		return y
	}
	return y.with(y.layout).from(op, again(op, f, in, others, dice), append(slices.Clone(in), others...)...)
}

// again is the gradient of what f computes of some operands, and of others that it uses without
// being given them: f is called again, and gradients go back through what it records.
func again(op string, f func(in ...*Tensor) *Tensor, in, others []*Tensor, dice []die) backward {
	return func(g, _ *Tensor, operands []*Tensor) []*Tensor {
		// Operands that are tracked are so because the gradients are to have gradients.
		graph := slices.ContainsFunc(append([]*Tensor{g}, operands...), (*Tensor).RequiresGrad)
		leaves := leavesOf(operands[:len(in)], in)
		if graph {
			leaves = aliases(operands[:len(in)])
		}
		// Those that f uses without being given them it reads as they are, not through operands.
		if bad := first(op, operands[len(in):]...); bad != nil {
			return slices.Repeat([]*Tensor{bad}, len(operands))
		}
		grads, err := rerun(f, leaves, dice, BackwardOptions{Seed: g, Graph: graph, For: slices.Concat(leaves, others), stop: leaves, part: true})
		list := make([]*Tensor, 0, len(operands))
		for _, t := range slices.Concat(leaves, others) {
			if err != nil {
				list = append(list, failed(op, err))
				continue
			}
			list = append(list, grads.Of(t))
		}
		return list
	}
}

// rerun calls f again, with the random numbers of the first time, and returns gradients.
func rerun(f func(in ...*Tensor) *Tensor, in []*Tensor, dice []die, o BackwardOptions) (*Gradients, error) {
	for _, d := range dice {
		now := d.roll()
		defer now.roll()
	}
	if y := f(in...); y.RequiresGrad() || y.Err() != nil {
		return y.BackwardBy(o)
	}
	return nil, nil
}

// leavesOf returns tensors of the same numbers at which gradients end, of those that are
// tracked in another list.
func leavesOf(in, tracked []*Tensor) []*Tensor {
	out := make([]*Tensor, len(in))
	for i, t := range in {
		out[i] = t.with(t.layout)
		if tracked[i].RequiresGrad() {
			out[i].node = &node{op: "checkpoint"}
		}
	}
	return out
}

// aliases returns tensors that are noted to be others, and that are none of those: if f
// uses one of them without being given it, that is another path for gradients.
func aliases(in []*Tensor) []*Tensor {
	out := make([]*Tensor, len(in))
	for i, t := range in {
		out[i] = t.with(t.layout).from("checkpoint", backward(gradCopy), t)
	}
	return out
}

// variables returns those that t was made of, but for some.
func variables(t *Tensor, but []*Tensor) (list []*Tensor) {
	for _, u := range TopologicalOrder(t) {
		if u.node.in == nil && !slices.Contains(but, u) {
			list = append(list, u)
		}
	}
	return list
}

// die is a device's random numbers at some time.
type die struct {
	of        *Device
	key, next uint64
	base      *Tensor
}

// diceOf is the random numbers of the devices of tensors as they are now.
func diceOf(in []*Tensor) (list []die) {
	for _, t := range in {
		if !slices.ContainsFunc(list, func(d die) bool { return d.of == t.dev }) {
			list = append(list, t.dev.random.now(t.dev))
		}
	}
	return list
}

// roll sets the device's random numbers to these, and returns what they were.
func (d die) roll() die {
	r := &d.of.random
	was := r.now(d.of)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.key, r.next, r.base = d.key, d.next, d.base
	return was
}

// now is the state of the random numbers of device d.
func (r *random) now(d *Device) die {
	r.mu.Lock()
	defer r.mu.Unlock()
	return die{d, r.key, r.next, r.base}
}
