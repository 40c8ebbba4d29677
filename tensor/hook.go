package tensor

import (
	"fmt"
	"slices"
	"sync"
)

// hooks are functions that are called with the gradient of a tensor.
type hooks struct {
	mu   sync.Mutex
	list []*hook
}

type hook struct{ f func(g *Tensor) *Tensor }

// OnGradient has f called with the gradient of t whenever [Tensor.Backward] has all of it,
// before it goes on to what t was made of: of a variable, or of a tensor on the way to the
// result. What f returns takes its place, and has its shape, type and device; nil leaves it
// as it is. Functions of one tensor are called in the order that they were given in, each
// with what the one before has left. The function remove takes f back.
//
//	remove, err := w.OnGradient(func(g *tensor.Tensor) *tensor.Tensor { return g.Clamp(-1, 1) })
//
// A tensor that is made of no variable has no gradient, which is an error of kind
// [ErrNoGradient].
func (t *Tensor) OnGradient(f func(g *Tensor) *Tensor) (remove func(), err error) {
	const op = "on_gradient"
	if bad := first(op, t); bad != nil {
		return nil, bad.err
	}
	switch {
	case f == nil:
		return nil, failf(op, ErrArgument, "no function").err
	case t.node == nil:
		return nil, t.untracked(op).err
	}
	own, h := &t.node.hooks, &hook{f}
	own.mu.Lock()
	defer own.mu.Unlock()
	own.list = append(own.list, h)
	return func() {
		own.mu.Lock()
		defer own.mu.Unlock()
		own.list = slices.DeleteFunc(own.list, func(x *hook) bool { return x == h })
	}, nil
}

// any reports whether there are functions.
func (h *hooks) any() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list) > 0
}

// call returns what the functions make of the gradient g of t.
func (h *hooks) call(t, g *Tensor, graph bool) (*Tensor, error) {
	h.mu.Lock()
	list := slices.Clone(h.list) // a function may remove itself
	h.mu.Unlock()
	for _, each := range list {
		x := each.f(g)
		if x == nil {
			continue
		}
		if err := fits(x, g); err != nil {
			return nil, fmt.Errorf("gradient of %s: %w", t.node.op, err)
		}
		if g = x; !graph {
			g = x.Detach()
		}
	}
	return g, nil
}

// fits reports why x cannot take the place of the gradient g.
func fits(x, g *Tensor) error {
	const op = "on_gradient"
	if bad := first(op, x); bad != nil {
		return bad.err
	}
	if err := same(g, x); err != nil {
		return failed(op, err).err
	}
	if !x.layout.Shape().Equal(g.layout.Shape()) {
		return failf(op, ErrShape, "%v for a gradient of %v", x.layout.Shape(), g.layout.Shape()).err
	}
	return nil
}
