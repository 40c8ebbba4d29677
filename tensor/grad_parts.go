package tensor

import (
	"cmp"
	"slices"
)

// narrowed is the gradient of a part of dimension d from start on.
type narrowed struct{ d, start int }

func (v narrowed) spread(g, out *Tensor, in []*Tensor) []*Tensor {
	n := out.Size(v.d)
	return []*Tensor{put(g, in[0], func(l Layout) (Layout, error) { return l.Narrow(v.d, v.start, n) })}
}

// part is the gradient of a part of a tensor. Those of all parts are put together when the tensor's
// turn comes, so that each is copied once, where zeros would be filled in and added otherwise.
type part struct {
	narrowed
	g *Tensor
}

// defers notes the gradient g of a part, and reports whether it did.
func (b *pass) defers(n *node, g *Tensor) bool {
	v, ok := n.back.(narrowed)
	to := n.in[0]
	if !ok || b.graph || to.node == nil || b.leads != nil && !b.leads[to.Tensor] ||
		g.dtype != to.dtype || g.dev != to.dev || torn(to.Tensor, to.version) != nil {
		return false
	}
	if v.d < 0 {
		v.d += to.Rank()
	}
	if b.parts == nil {
		b.parts = map[*Tensor][]part{}
	}
	b.parts[to.Tensor] = append(b.parts[to.Tensor], part{v, g})
	b.hold(g)
	return true
}

// gradient is that of u, nil if it has none, with those of its parts.
func (b *pass) gradient(u *Tensor) (*Tensor, error) {
	parts := b.parts[u]
	if parts == nil {
		return b.grads[u], nil
	}
	delete(b.parts, u)
	var err error
	if b.grads[u] == nil && tile(u, parts) {
		err = b.add(u, together(u, parts))
	} else {
		for _, p := range parts {
			if err == nil {
				err = b.add(u, p.spread(p.g, p.g, []*Tensor{u})[0])
			}
		}
	}
	for _, p := range parts {
		if e := b.release(p.g); err == nil {
			err = e
		}
	}
	return b.grads[u], err
}

// add adds x, which the pass has allocated, to the gradient of u.
func (b *pass) add(u, x *Tensor) error {
	if have := b.grads[u]; have != nil && x.err == nil {
		sum := have.Add(x)
		b.hold(x)
		b.own(x)
		if err := b.release(x); err != nil {
			return err
		}
		x = sum
	}
	if x.err != nil {
		return x.err
	}
	if err := b.set(u, x); err != nil {
		return err
	}
	b.own(x)
	return nil
}

// tile reports whether parts are those that u falls into along a dimension. They are in order then.
func tile(u *Tensor, parts []part) bool {
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.start, b.start) })
	at := 0
	for _, p := range parts {
		if p.d != parts[0].d || p.start != at {
			return false
		}
		at += p.g.Size(p.d)
	}
	return at == u.Size(parts[0].d)
}

// together is the parts of u in one tensor. Its dimensions lie in memory in the order of those of u,
// so that gradients of what u is a permuted view of are contiguous.
func together(u *Tensor, parts []part) *Tensor {
	const op = "gradient of parts"
	order := make([]int, u.Rank())
	for d := range order {
		order[d] = d
	}
	strides := u.layout.Strides()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(strides[b], strides[a]) })
	shape, back := make(Shape, len(order)), make([]int, len(order))
	for i, d := range order {
		shape[i], back[d] = u.layout.Shape()[d], i
	}
	out, err := empty(u.dev, u.dtype, shape)
	if err != nil {
		return failed(op, err)
	}
	list := []*Tensor{u}
	for _, p := range parts {
		list = append(list, p.g)
	}
	out = out.scoped(list...).Permute(back...)
	for _, p := range parts {
		l, err := out.layout.Narrow(p.d, p.start, p.g.Size(p.d))
		if err == nil {
			err = u.dev.copyInto(out.with(l), p.g)
		}
		if err != nil {
			return out.dropped(op, err)
		}
	}
	return out
}
