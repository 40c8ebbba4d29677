package tensor

import "github.com/gokiln/kiln/runtime"

// memory is that of gradients of intermediate results: it is freed when no gradient has it any more,
// not when Go has collected it, so that a backward pass takes little more than what it goes through.
// Only what the pass has allocated itself is freed, and nothing that functions of
// [Tensor.OnGradient] have seen.
type memory struct {
	uses map[*runtime.Buffer]int // how many gradients have it
	made map[*runtime.Buffer]bool
}

// hold notes that a gradient is in use.
func (m *memory) hold(g *Tensor) {
	if g.buf == nil {
		return
	}
	if m.uses == nil {
		m.uses, m.made = map[*runtime.Buffer]int{}, map[*runtime.Buffer]bool{}
	}
	m.uses[g.buf]++
}

// own notes that the pass has allocated the memory of a gradient.
func (m *memory) own(g *Tensor) {
	if g.buf != nil && m.made != nil {
		m.made[g.buf] = true
	}
}

// release takes a gradient out of use.
func (m *memory) release(g *Tensor) error {
	if g == nil || g.buf == nil {
		return nil
	}
	if m.uses[g.buf]--; m.uses[g.buf] > 0 {
		return nil
	}
	delete(m.uses, g.buf)
	if !m.made[g.buf] {
		return nil
	}
	delete(m.made, g.buf)
	return wrap("backward", g.buf.Free())
}

// settle closes the scope of one operation's gradients, of which some are kept.
func (m *memory) settle(s *Scope, kept []*Tensor) error {
	s.mu.Lock()
	made := make(map[*runtime.Buffer]bool, len(s.made))
	for _, p := range s.made {
		made[p.Value()] = true
	}
	s.mu.Unlock()
	for _, t := range kept {
		if t == nil || m.uses[t.buf] == 0 {
			continue
		}
		s.Keep(t)
		if made[t.buf] {
			m.own(t)
		}
	}
	err := s.Close()
	for _, t := range kept {
		if t != nil && t.scope == s {
			t.scope = s.open()
		}
	}
	return err
}

// enclose puts views into a scope of their own, in that which they are in.
func enclose(views []*Tensor) *Scope {
	var outer *Scope
	for _, t := range views {
		outer = innermost(outer, t.scope)
	}
	s := openScope(outer)
	for _, t := range views {
		t.scope = s
	}
	return s
}

// set replaces the gradient of t.
func (b *pass) set(t, g *Tensor) error {
	had := b.grads[t]
	b.hold(g)
	b.grads[t] = g
	return b.release(had)
}

// drop takes the gradient of t away.
func (b *pass) drop(t *Tensor) error {
	g := b.grads[t]
	delete(b.grads, t)
	return b.release(g)
}

// hooked is what functions make of the gradient of u, which they may keep.
func (b *pass) hooked(u, g *Tensor) (*Tensor, error) {
	delete(b.made, g.buf)
	x, err := u.node.hooks.call(u, g, b.graph)
	if err != nil {
		return nil, err
	}
	return x, b.set(u, x)
}
