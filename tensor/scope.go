package tensor

import (
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gokiln/kiln/runtime"
)

// Scope frees the memory of tensors at a known time, not when Go has collected them. It is a mark
// that tensors carry: what is computed from a tensor that is [Tensor.In] the scope belongs to it,
// whichever goroutine computes it, and so do gradients of that. When the scope is closed, all
// of it is freed, but for what is kept. Work of a step belongs in a scope where memory is scarce:
//
//	s := tensor.OpenScope()
//	defer s.Close()
//	loss := s.Keep(model(x.In(s)).Sub(y).Sqr().Mean())
//
// Using a tensor afterwards that was not kept is an error, [ErrFreed]. Tensors that are dropped
// while the scope is open are collected as always. What is computed of tensors in several scopes
// belongs to the one that was opened last. A variable belongs to none.
type Scope struct {
	outer  *Scope
	number uint64 // in the order in which scopes were opened
	closed atomic.Bool

	mu    sync.Mutex
	made  []weak.Pointer[runtime.Buffer]
	sweep int // the length at which collected buffers are taken out of made
	kept  []*Tensor
}

// scopes counts those that were opened.
var scopes atomic.Uint64

// OpenScope opens a scope.
func OpenScope() *Scope { return openScope(nil) }

// Open opens a scope inside of another one: what the inner one keeps belongs to the outer one. If
// that is closed first, the inner one goes on by itself.
func (s *Scope) Open() *Scope { return openScope(s) }

func openScope(outer *Scope) *Scope {
	return &Scope{outer: outer, number: scopes.Add(1), sweep: 256}
}

// In is a view of the tensor in a scope: what is computed from it belongs to the scope. The
// tensor's own memory does not, see [Scope.Own]. A scope that is closed is an error of kind
// [ErrArgument].
func (t *Tensor) In(s *Scope) *Tensor {
	const op = "in"
	if bad := firstOf(op, t); bad != nil {
		return bad
	}
	if s == nil || s.closed.Load() {
		return failf(op, ErrArgument, "the scope is not open")
	}
	u := t.with(t.layout)
	u.scope = s
	return u.from(op, backward(gradCopy), t)
}

// Own has the scope free the memory of a tensor that was not computed from those in it, such as
// one of numbers of the host. It returns the tensor, in the scope.
func (s *Scope) Own(t *Tensor) *Tensor {
	u := t.In(s)
	if u.err == nil && u.buf != nil {
		s.add(u.buf)
	}
	return u
}

// Keep has the scope not free the memory of a tensor, nor of those that its gradient
// needs. It returns the tensor.
func (s *Scope) Keep(t *Tensor) *Tensor {
	if t == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, t)
	return t
}

// KeepGradients is [Scope.Keep] of all gradients. It returns them.
func (s *Scope) KeepGradients(g *Gradients) *Gradients {
	if g != nil {
		for _, t := range g.of {
			s.Keep(t)
		}
	}
	return g
}

// Close frees the memory of what belongs to the scope and was not kept, behind the work so far.
// Closing a scope again does nothing.
func (s *Scope) Close() error {
	s.mu.Lock()
	made, kept := s.made, s.kept
	s.made, s.kept = nil, nil
	s.closed.Store(true)
	s.mu.Unlock()
	keep := reach(kept)
	var failure error
	for _, p := range made {
		switch b := p.Value(); {
		case b == nil || b.Freed():
		case keep[b]:
			s.outer.add(b)
		default:
			if err := b.Free(); err != nil && failure == nil {
				failure = err
			}
		}
	}
	return wrap("close scope", failure)
}

// InScope calls f with tensors in a scope of their own, and keeps the tensor that it returns. What
// is kept belongs to the scope that the tensors are in otherwise.
//
//	y := tensor.InScope(func(in ...*tensor.Tensor) *tensor.Tensor { return in[0].Exp().Add(in[0]).Log() }, x)
func InScope(f func(in ...*Tensor) *Tensor, in ...*Tensor) *Tensor {
	var outer *Scope
	for _, t := range in {
		if t != nil {
			outer = innermost(outer, t.scope)
		}
	}
	s := openScope(outer)
	defer s.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	inside := make([]*Tensor, len(in))
	for i, t := range in {
		inside[i] = t.In(s)
	}
	return s.Keep(f(inside...))
}

// open is the scope, or if it is closed the first one around it that is not.
func (s *Scope) open() *Scope {
	for s != nil && s.closed.Load() {
		s = s.outer
	}
	return s
}

// innermost is the scope of the two that was opened last, of those that are open.
func innermost(s, o *Scope) *Scope {
	s, o = s.open(), o.open()
	if s == nil || o != nil && o.number > s.number {
		return o
	}
	return s
}

// add notes memory that belongs to the scope, nil is none.
func (s *Scope) add(b *runtime.Buffer) {
	for s = s.open(); s != nil && !s.note(b); s = s.open() {
	}
}

// note is add. It reports false if the scope was closed meanwhile.
func (s *Scope) note(b *runtime.Buffer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return false
	}
	if len(s.made) >= s.sweep {
		s.made = slices.DeleteFunc(s.made, func(p weak.Pointer[runtime.Buffer]) bool {
			b := p.Value()
			return b == nil || b.Freed()
		})
		s.sweep = max(256, 2*len(s.made))
	}
	s.made = append(s.made, weak.Make(b))
	return true
}

// scoped is t, which belongs to the scope of what it was computed from. What is a view of one of
// those has its mark alone.
func (t *Tensor) scoped(in ...*Tensor) *Tensor {
	var s *Scope
	view := t.buf == nil
	for _, u := range in {
		if u.scope != nil {
			s = innermost(s, u.scope)
		}
		view = view || u.buf == t.buf
	}
	if s == nil || t.err != nil {
		return t
	}
	t.scope = innermost(s, t.scope)
	if !view {
		t.scope.add(t.buf)
	}
	return t
}

// beside is t in the scope of other operands too, for what an operation computes from it alone.
func (t *Tensor) beside(others ...*Tensor) *Tensor {
	u := *t
	return u.scoped(append(others, t)...)
}

// reach returns the memory of tensors and of all that they were made of, as far as
// gradients need it.
func reach(kept []*Tensor) map[*runtime.Buffer]bool {
	keep := map[*runtime.Buffer]bool{}
	seen := map[*Tensor]bool{}
	for todo := slices.Clone(kept); len(todo) > 0; {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[t] {
			continue
		}
		seen[t] = true
		if t.buf != nil {
			keep[t.buf] = true
		}
		if t.node != nil {
			for _, u := range t.node.in {
				todo = append(todo, u.Tensor)
			}
			todo = append(todo, t.node.saved...)
		}
	}
	return keep
}
