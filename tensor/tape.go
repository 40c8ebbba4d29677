package tensor

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// gradient is how the gradient of an operation's result goes to its operands: nil to those
// that have none. The shape may be one that the operand was broadcast to.
type gradient interface {
	spread(g, out *Tensor, in []*Tensor) []*Tensor
}

// backward is the gradient of an operation of any number of operands.
type backward func(g, out *Tensor, in []*Tensor) []*Tensor

func (f backward) spread(g, out *Tensor, in []*Tensor) []*Tensor { return f(g, out, in) }

// stops reports whether a gradient ends at the operation.
func stops(dt DType) bool { return !dt.IsFloat() }

// node is how a tensor was made.
type node struct {
	op    string
	pos   string // the line that called the operation
	in    []operand
	back  gradient  // of a variable nil, as in
	saved []*Tensor // what back needs besides
	hooks hooks

	// The versions of the result's memory when it was made, and up to which its elements are what
	// the operation has computed: 0 is any, of variables and of views of them.
	made, born uint64
}

// operand is a tensor, and the version of its memory that an operation has read.
type operand struct {
	*Tensor
	version uint64
}

// from records how t was made, if one of the operands has a gradient and none forbids it.
func (t *Tensor) from(op string, back gradient, in ...*Tensor) *Tensor {
	if t.err != nil || t.scoped(in...).barred(in) || stops(t.dtype) {
		return t
	}
	if !slices.ContainsFunc(in, (*Tensor).RequiresGrad) {
		return t
	}
	n := &node{op: op, pos: position(), in: make([]operand, len(in)), back: back, made: t.version()}
	for i, u := range in {
		n.in[i] = operand{u, u.version()}
	}
	n.born = n.made
	if u := in[0]; u.node != nil && u.buf == t.buf { // a view
		n.born = u.node.born
	}
	t.node = n
	return t
}

// barred reports whether an operand forbids that what is computed from it is recorded, and has t
// forbid it too.
func (t *Tensor) barred(in []*Tensor) bool {
	for _, u := range in {
		t.noGrad = t.noGrad || u.noGrad
	}
	return t.noGrad
}

// without is t, which has no gradient whatever its operands have, under their marks.
func (t *Tensor) without(in ...*Tensor) *Tensor {
	if t.err == nil {
		t.scoped(in...).barred(in)
	}
	return t
}

// saves notes tensors that the gradient of t needs besides its operands.
func (t *Tensor) saves(list ...*Tensor) *Tensor {
	if t.err == nil && t.barred(list) {
		t.node = nil
	}
	if t.node != nil {
		t.node.saved = list
	}
	return t
}

// RequiresGrad reports whether a gradient can go to the tensor: it is a variable, or was made
// of one.
func (t *Tensor) RequiresGrad() bool { return t != nil && t.node != nil }

// Var is a variable: a tensor that gradients are for, and whose numbers change.
type Var struct{ t *Tensor }

// NewVar returns a variable that begins with a copy of the numbers of t.
func NewVar(t *Tensor) *Var {
	const op = "variable"
	if bad := first(op, t); bad != nil {
		return &Var{t: bad}
	}
	if stops(t.dtype) {
		return &Var{t: failf(op, ErrDType, "%s: gradients are for floating-point types", t.dtype)}
	}
	own := t.with(t.layout)
	own.scope = nil
	c := own.Copy()
	if c.err == nil {
		c.node = &node{op: op}
	}
	return &Var{t: c}
}

// Tensor is the variable's numbers, for use in formulas. It is the same tensor until the
// variable is set.
func (v *Var) Tensor() *Tensor { return v.t }

// Err returns the error with which the variable was made.
func (v *Var) Err() error { return v.t.Err() }

// Set copies the numbers of t, of the same shape, type and device, into the variable's
// memory, behind the work so far. If a kernel that t was computed by fails, the variable has
// that error until it is set again. Gradients of formulas that were made before and need the old
// numbers are then an error of kind [ErrChanged].
func (v *Var) Set(t *Tensor) error {
	const op = "set"
	if bad := made(op, v.t); bad != nil {
		return bad.err
	}
	if bad := first(op, t); bad != nil {
		return bad.err
	}
	if err := same(v.t, t); err != nil {
		return failed(op, err).err
	}
	if !t.layout.Shape().Equal(v.t.layout.Shape()) {
		return failf(op, ErrVar, "%v to a variable of %v", t.layout.Shape(), v.t.layout.Shape()).err
	}
	if t.buf == v.t.buf && t.buf != nil {
		return failf(op, ErrVar, "the tensor shares its memory: Copy it first").err
	}
	if err := v.t.renew(); err != nil {
		return wrapped(op, err)
	}
	return v.t.changed(op, v.t.dev.copyInto(v.t, t))
}

// Gradients holds the gradients of a result by what they are for. The zero value holds none.
type Gradients struct{ of map[*Tensor]*Tensor }

// Of returns the gradient for a tensor that was used in the formula: a variable's
// [Var.Tensor]. It is nil if the result does not depend on it.
func (g *Gradients) Of(t *Tensor) *Tensor {
	if g == nil {
		return nil
	}
	return g.of[t]
}

// Set replaces the gradient for a tensor, nil removes it.
func (g *Gradients) Set(t, grad *Tensor) {
	if grad == nil {
		delete(g.of, t)
		return
	}
	if g.of == nil {
		g.of = map[*Tensor]*Tensor{}
	}
	g.of[t] = grad
}

// All goes over the gradients: what each is for, and the gradient.
func (g *Gradients) All() iter.Seq2[*Tensor, *Tensor] { return maps.All(g.of) }

// Len is how many tensors have a gradient.
func (g *Gradients) Len() int { return len(g.of) }

// Add adds the gradients of another result.
func (g *Gradients) Add(h *Gradients) error {
	for t, x := range h.of {
		if have := g.of[t]; have != nil {
			x = have.Add(x)
		}
		if err := x.Err(); err != nil {
			return err
		}
		g.of[t] = x
	}
	return nil
}

// Backward returns the gradients of the sum of the elements of t for all variables that
// t was made of. Gradients of intermediate results are freed. Of a tensor that
// was made of no variable it is an error of kind [ErrNoGradient]; so it is if an operation
// in between has a gradient that is not known. A tensor that a gradient needs and that was
// changed in place since is an error of kind [ErrChanged], which names both lines.
func (t *Tensor) Backward() (*Gradients, error) { return t.BackwardBy(BackwardOptions{}) }

// BackwardWith is [Tensor.Backward] with a gradient of t to begin with, of its shape.
func (t *Tensor) BackwardWith(seed *Tensor) (*Gradients, error) {
	if bad := first("backward", t, seed); bad != nil {
		return nil, bad.err
	}
	return t.BackwardBy(BackwardOptions{Seed: seed})
}

// BackwardOptions are for [Tensor.BackwardBy].
type BackwardOptions struct {
	// Seed is the gradient of the result to begin with, of its shape; nil is ones.
	Seed *Tensor
	// Graph has the gradients be noted like other tensors, so that they have gradients
	// themselves:
	//
	//	g, err := y.BackwardBy(tensor.BackwardOptions{Graph: true})
	//	h, err := g.Of(x).Sqr().Sum().Backward() // of a penalty on the slope
	//
	// All operations of this package have gradients of any order, but for those whose
	// documentation says otherwise; the gradients of [MapGrad] and those like it, and
	// what kernels of programs compute, have none, which is an error of kind
	// [ErrNoGradient] when it is needed.
	Graph bool
	// For is what gradients are wanted for: variables, and intermediate tensors of the
	// result. Nil is all variables.
	For []*Tensor

	stop []*Tensor // where gradients end
	part bool      // those of For are parts of what they get, so that no one is notified
}

// BackwardBy is [Tensor.Backward] with options.
func (t *Tensor) BackwardBy(o BackwardOptions) (*Gradients, error) {
	const op = "backward"
	if bad := first(op, append([]*Tensor{t}, o.For...)...); bad != nil {
		return nil, bad.err
	}
	if o.Seed == nil {
		o.Seed = t.OnesLike()
	} else {
		o.Seed = o.Seed.Copy().scoped(t) // that of the program has nothing to do with the errors of t
	}
	switch {
	case o.Seed.err != nil:
		return nil, o.Seed.err
	case t.node == nil:
		return nil, t.untracked(op).err
	case !o.Seed.layout.Shape().Equal(t.layout.Shape()):
		return nil, failf(op, ErrShape, "a gradient of %v for %v", o.Seed.layout.Shape(), t.layout.Shape()).err
	}
	if err := torn(t, t.version()); err != nil {
		return nil, err
	}
	if !o.Graph {
		o.Seed = o.Seed.Detach()
	}
	if t.buf != nil && o.Seed.buf != nil { // gradients have the errors of the result even where they do not need its elements
		if err := t.dev.stream.Depend(o.Seed.buf, t.buf); err != nil {
			return nil, wrapped(op, err)
		}
	}
	b := &pass{graph: o.Graph, grads: map[*Tensor]*Tensor{}}
	if err := b.set(t, o.Seed); err != nil {
		return nil, err
	}
	order := TopologicalOrder(t)
	b.want(o.For, order)
	for _, u := range order {
		g, err := b.gradient(u)
		if err != nil {
			return nil, err
		}
		if g == nil {
			continue
		}
		if (!o.part || !slices.Contains(o.For, u)) && u.node.hooks.any() {
			if g, err = b.hooked(u, g); err != nil {
				return nil, err
			}
		}
		if u.node.in == nil || slices.Contains(o.stop, u) {
			continue // it keeps its gradient
		}
		if err := b.spread(u, g); err != nil {
			return nil, err
		}
		if !b.wanted[u] {
			if err := b.drop(u); err != nil {
				return nil, err
			}
		}
	}
	return b.result()
}

// pass is one backward pass from a result to what it was made of.
type pass struct {
	graph  bool
	parts  map[*Tensor][]part
	grads  map[*Tensor]*Tensor
	wanted map[*Tensor]bool // nil: all variables are
	leads  map[*Tensor]bool // to what is wanted; nil: everything does
	memory
}

// want notes what gradients are for; order has operands behind results.
func (b *pass) want(list, order []*Tensor) {
	if list == nil {
		return
	}
	b.wanted, b.leads = map[*Tensor]bool{}, map[*Tensor]bool{}
	for _, t := range list {
		b.wanted[t], b.leads[t] = true, true
	}
	for _, u := range slices.Backward(order) {
		if slices.ContainsFunc(u.node.in, func(x operand) bool { return b.leads[x.Tensor] }) {
			b.leads[u] = true
		}
	}
}

// result is the gradients that are wanted.
func (b *pass) result() (*Gradients, error) {
	if b.wanted != nil {
		for t := range b.grads {
			if b.wanted[t] {
				continue
			}
			if err := b.drop(t); err != nil {
				return nil, err
			}
		}
	}
	return &Gradients{b.grads}, nil
}

// spread adds what the gradient g of u is worth to those of the operands. What is computed on the way is
// freed behind it, but for these.
func (b *pass) spread(u, g *Tensor) (err error) {
	n := u.node
	if b.defers(n, g) {
		return nil
	}
	out, in := b.operand(u, n.made), make([]*Tensor, len(n.in))
	for i, x := range n.in {
		in[i] = b.operand(x.Tensor, x.version)
	}
	kept := make([]*Tensor, len(in))
	if !b.graph {
		g = g.with(g.layout)
		s := enclose(append([]*Tensor{g, out}, in...))
		defer func() {
			if e := b.settle(s, kept); err == nil {
				err = e
			}
		}()
	}
	grads, added := b.gradients(n, g, out, in)
	for i, x := range grads {
		to := n.in[i]
		if x == nil || to.node == nil || b.leads != nil && !b.leads[to.Tensor] {
			continue
		}
		if err := torn(to.Tensor, to.version); err != nil {
			return err
		}
		if x.pin != 0 { // nothing was computed: it is an operand itself
			if err := x.stale(); err != nil {
				x = failed(n.op, err)
			} else {
				x = x.with(x.layout).from(n.op, backward(gradCopy), x)
				x.pin = 0
			}
		}
		if !b.graph {
			x = x.Detach()
		}
		x = x.sumTo(to.layout.Shape())
		if have := b.grads[to.Tensor]; have != nil && !(added && i == 0) {
			x = have.Add(x)
		}
		if x.err != nil {
			var stale *staleError
			if errors.As(x.err, &stale) {
				return stale.needs(n).err
			}
			return fmt.Errorf("gradient of %s: %w", n.op, x.err)
		}
		kept[i] = x
		if err := b.set(to.Tensor, x); err != nil {
			return err
		}
	}
	return nil
}

// onto is a gradient that its kernel can add to what the first operand has already. It reports
// whether it did.
type onto interface {
	spreadOnto(have, g, out *Tensor, in []*Tensor) (grads []*Tensor, added bool)
}

// gradients are those of the operands of n, and whether that of the first one has been added to the
// gradient that it has.
func (b *pass) gradients(n *node, g, out *Tensor, in []*Tensor) (grads []*Tensor, added bool) {
	have := b.grads[n.in[0].Tensor]
	f, ok := n.back.(onto)
	if !ok || have == nil || b.graph || have.pin != 0 {
		return n.back.spread(g, out, in), false
	}
	return f.spreadOnto(have, g, out, in)
}

// operand is a tensor with the elements of a version, as gradients get it: nothing is recorded of
// it but for gradients of gradients.
func (b *pass) operand(t *Tensor, version uint64) *Tensor {
	p := t.pinned(version)
	if b.graph && t.node != nil {
		p.node = &node{op: t.node.op, pos: t.node.pos, in: []operand{{t, version}}, back: backward(gradCopy), made: version, born: t.node.born}
	}
	return p
}

// once notes that t, a gradient which a kernel has computed of some tensors, has no
// gradient itself: asking for it is an error, where it would be 0 otherwise.
func (t *Tensor) once(op string, of ...*Tensor) *Tensor {
	if t == nil || t.node != nil {
		return t
	}
	return t.from(op, backward(func(g, out *Tensor, in []*Tensor) []*Tensor {
		grads := make([]*Tensor, len(in))
		for i, x := range in {
			if !stops(x.dtype) {
				grads[i] = failf(op, ErrNoGradient, "the gradient of a gradient is not known")
			}
		}
		return grads
	}), of...)
}

// TopologicalOrder returns what a tensor was made of and has a gradient, itself first, so that
// operands come behind all results made of them.
func TopologicalOrder(t *Tensor) []*Tensor {
	var out []*Tensor
	done := map[*Tensor]bool{}
	type visit struct {
		t    *Tensor
		next int // of its operands
	}
	stack := []visit{{t: t}}
	for len(stack) > 0 {
		v := &stack[len(stack)-1]
		if v.next == 0 && (done[v.t] || v.t.node == nil) {
			stack = stack[:len(stack)-1]
			continue
		}
		if v.next == len(v.t.node.in) {
			done[v.t] = true
			out = append(out, v.t)
			stack = stack[:len(stack)-1]
			continue
		}
		v.next++
		stack = append(stack, visit{t: v.t.node.in[v.next-1].Tensor})
	}
	slices.Reverse(out)
	return out
}

// NoGrad is the tensor with a mark that forbids recording: nothing that is computed from it is
// recorded for gradients, and all of it has the mark too, whichever goroutine computes it. A model
// that is only used gets its input so, and keeps none of its intermediate results:
//
//	y := model.Forward(x.NoGrad())
//
// [Tensor.Detach] takes the mark away: a target that is computed so and then is part of a
// loss is detached before.
func (t *Tensor) NoGrad() *Tensor {
	if bad := firstOf("no_grad", t); bad != nil {
		return bad
	}
	u := t.with(t.layout)
	u.noGrad = true
	return u
}

// untracked is the error of asking for the gradient of t, which has none.
func (t *Tensor) untracked(op string) *Tensor {
	if t.noGrad {
		return failf(op, ErrNoGradient, "the tensor was computed from one of NoGrad: Detach that before it is combined with variables")
	}
	return failf(op, ErrNoGradient, "the tensor was made of no variable")
}
