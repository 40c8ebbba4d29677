package tensor

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	op   string
	in   []*Tensor
	back gradient // of a variable nil, as in
}

// from notes how t was made, if one of the operands has a gradient.
func (t *Tensor) from(op string, back gradient, in ...*Tensor) *Tensor {
	if t.err != nil || stops(t.dtype) {
		return t
	}
	tracked := false
	for _, u := range in {
		tracked = tracked || u.node != nil
	}
	if !tracked || !recording() {
		return t
	}
	t.node = &node{op: op, in: slices.Clone(in), back: back}
	return t
}

// Tracked reports whether a gradient can go to the tensor: it is a variable, or was made
// of one.
func (t *Tensor) Tracked() bool { return t != nil && t.node != nil }

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
	c := t.Detach().Copy()
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
// memory, behind the work so far. Gradients of formulas that were made before are then
// wrong where they need the old numbers.
func (v *Var) Set(t *Tensor) error {
	const op = "set"
	if bad := first(op, v.t, t); bad != nil {
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
	return wrap(op, v.t.dev.copyInto(v.t, t))
}

// Gradients holds the gradients of a result by what they are for.
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
	g.of[t] = grad
}

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
// t was made of. Gradients of what is between are given up on the way.
func (t *Tensor) Backward() (*Gradients, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	return t.BackwardWith(t.OnesLike())
}

// BackwardWith is [Tensor.Backward] with a gradient of t to begin with.
func (t *Tensor) BackwardWith(seed *Tensor) (*Gradients, error) {
	const op = "backward"
	if bad := first(op, t, seed); bad != nil {
		return nil, bad.err
	}
	if t.node == nil {
		return nil, failf(op, ErrNoGradient, "the tensor was made of no variable").err
	}
	if !seed.layout.Shape().Equal(t.layout.Shape()) {
		return nil, failf(op, ErrShape, "a gradient of %v for %v", seed.layout.Shape(), t.layout.Shape()).err
	}
	grads := map[*Tensor]*Tensor{t: seed.Detach()}
	for _, u := range Order(t) {
		g := grads[u]
		if g == nil || u.node.in == nil {
			continue // a variable keeps its gradient
		}
		delete(grads, u)
		if err := u.spread(g, grads); err != nil {
			return nil, err
		}
	}
	return &Gradients{grads}, nil
}

// spread adds what the gradient g of u is worth to those of the operands.
func (u *Tensor) spread(g *Tensor, grads map[*Tensor]*Tensor) error {
	n := u.node
	in := make([]*Tensor, len(n.in))
	for i := range in {
		in[i] = n.in[i].Detach()
	}
	for i, x := range n.back.spread(g, u.Detach(), in) {
		to := n.in[i]
		if x == nil || to.node == nil {
			continue
		}
		x = x.sumTo(to.layout.Shape())
		if have := grads[to]; have != nil {
			x = have.Add(x)
		}
		if x.err != nil {
			return fmt.Errorf("gradient of %s: %w", n.op, x.err)
		}
		grads[to] = x
	}
	return nil
}

// Order returns what a tensor was made of and has a gradient, itself first, so that
// operands come behind all results made of them.
func Order(t *Tensor) []*Tensor {
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
		stack = append(stack, visit{t: v.t.node.in[v.next-1]})
	}
	slices.Reverse(out)
	return out
}

// quiet knows the goroutines that are inside of NoGrad.
var quiet struct {
	count atomic.Int32
	mu    sync.Mutex
	by    map[uint64]int
}

// NoGrad calls f. What f computes on its goroutine is not noted for gradients.
func NoGrad(f func()) {
	id := goroutine()
	mark := func(n int) {
		quiet.mu.Lock()
		defer quiet.mu.Unlock()
		if quiet.by == nil {
			quiet.by = map[uint64]int{}
		}
		if quiet.by[id] += n; quiet.by[id] == 0 {
			delete(quiet.by, id)
		}
		quiet.count.Add(int32(n))
	}
	mark(1)
	defer mark(-1)
	f()
}

// recording reports whether the calling goroutine notes how tensors are made.
func recording() bool {
	if quiet.count.Load() == 0 {
		return true
	}
	id := goroutine()
	quiet.mu.Lock()
	defer quiet.mu.Unlock()
	return quiet.by[id] == 0
}

// goroutine is the number of the calling goroutine, which stack traces begin with.
// Nothing else tells the calls of a function from those of other goroutines.
func goroutine() uint64 {
	var buf [64]byte
	text := strings.TrimPrefix(string(buf[:goruntime.Stack(buf[:], false)]), "goroutine ")
	number, _, _ := strings.Cut(text, " ")
	id, _ := strconv.ParseUint(number, 10, 64) // a test notices another format
	return id
}
