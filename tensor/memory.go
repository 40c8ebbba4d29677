package tensor

import (
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/gokiln/kiln/runtime"
)

// PeakBytes is the most memory that tensors and what operations need besides had on the
// device at one time, since it was opened or [Device.ResetPeak] was called.
func (d *Device) PeakBytes() int64 { return d.rt.PeakBytes() }

// ResetPeak has [Device.PeakBytes] begin again with what tensors have now.
func (d *Device) ResetPeak() { d.rt.ResetPeak() }

// SetMemoryLimit bounds the memory of the device that the program has, in bytes; 0 takes
// the bound away. When it is reached, tensors that the program has dropped are collected;
// if that is not enough, the operation fails with [ErrOutOfMemory], and its error has the
// shape and the sizes. The same happens when the device itself has no memory left.
func (d *Device) SetMemoryLimit(bytes int64) { d.rt.SetMemoryLimit(bytes) }

// Scope frees the memory of tensors at a known time, not when Go has collected them: when
// it is closed, all that its goroutine has made since it was opened, but for what is
// kept. Work of a step belongs in a scope where memory is scarce:
//
//	s := tensor.OpenScope()
//	defer s.Close()
//	loss := s.Keep(model(x).Sub(y).Sqr().Mean())
//
// Using a tensor afterwards that was not kept is an error, [ErrFreed]. Tensors that are dropped while
// the scope is open are collected as always. Scopes nest: what the inner one keeps
// belongs to the outer one.
type Scope struct {
	goroutine uint64
	mu        sync.Mutex
	made      []weak.Pointer[runtime.Buffer]
	sweep     int // the length at which collected buffers are taken out of made
	kept      []*Tensor
}

// scopes are the open ones, the innermost last.
var scopes struct {
	count atomic.Int32 // so that programs without scopes need not ask for the goroutine
	mu    sync.Mutex
	by    map[uint64][]*Scope
}

// OpenScope opens a scope for what the calling goroutine makes.
func OpenScope() *Scope {
	s := &Scope{goroutine: goroutine(), sweep: 256}
	scopes.mu.Lock()
	defer scopes.mu.Unlock()
	if scopes.by == nil {
		scopes.by = map[uint64][]*Scope{}
	}
	scopes.by[s.goroutine] = append(scopes.by[s.goroutine], s)
	scopes.count.Add(1)
	return s
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

// Close frees the memory of what was made and not kept, behind the work so far. Closing a
// scope again does nothing. Those inside of it that are still open go on as part of the
// outer one.
func (s *Scope) Close() error {
	outer, open := s.leave()
	if !open {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	keep := reach(s.kept)
	var failure error
	for _, p := range s.made {
		switch b := p.Value(); {
		case b == nil || b.Freed():
		case !keep[b]:
			if err := b.Free(); err != nil && failure == nil {
				failure = err
			}
		case outer != nil:
			outer.add(b)
		}
	}
	s.made, s.kept = nil, nil
	return wrap("close scope", failure)
}

// leave takes the scope out of the open ones and returns the one around it. It reports
// false if it was not open.
func (s *Scope) leave() (outer *Scope, open bool) {
	scopes.mu.Lock()
	defer scopes.mu.Unlock()
	list := scopes.by[s.goroutine]
	i := slices.Index(list, s)
	if i < 0 {
		return nil, false
	}
	if i > 0 {
		outer = list[i-1]
	}
	list = slices.Delete(list, i, i+1)
	if scopes.by[s.goroutine] = list; len(list) == 0 {
		delete(scopes.by, s.goroutine)
	}
	scopes.count.Add(-1)
	return outer, true
}

// InScope calls f in a scope of its own and keeps the tensor that it returns.
//
//	y := tensor.InScope(func() *tensor.Tensor { return x.Exp().Add(x).Log() })
func InScope(f func() *Tensor) *Tensor {
	s := OpenScope()
	defer s.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	return s.Keep(f())
}

// add notes memory that was made in the scope.
func (s *Scope) add(b *runtime.Buffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.made) >= s.sweep {
		s.made = slices.DeleteFunc(s.made, func(p weak.Pointer[runtime.Buffer]) bool {
			b := p.Value()
			return b == nil || b.Freed()
		})
		s.sweep = max(256, 2*len(s.made))
	}
	s.made = append(s.made, weak.Make(b))
}

// scoped notes memory in the innermost scope of the calling goroutine, if there is one.
func scoped(b *runtime.Buffer) {
	if scopes.count.Load() == 0 {
		return
	}
	id := goroutine()
	scopes.mu.Lock()
	list := scopes.by[id]
	scopes.mu.Unlock()
	if len(list) > 0 {
		list[len(list)-1].add(b)
	}
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

// goroutine is the number of the calling goroutine, which stack traces begin with.
// Nothing else tells the calls of a function from those of other goroutines.
func goroutine() uint64 {
	var buf [64]byte
	text := strings.TrimPrefix(string(buf[:goruntime.Stack(buf[:], false)]), "goroutine ")
	number, _, _ := strings.Cut(text, " ")
	id, _ := strconv.ParseUint(number, 10, 64) // a test notices another format
	return id
}
