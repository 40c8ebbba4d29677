package tensor

// The gradients of views, copies and moves.

func gradReshape(g, out *Tensor, in []*Tensor) []*Tensor {
	return []*Tensor{g.Reshape(in[0].layout.Shape()...)}
}

// gradBroadcast leaves it to the tape to add up what goes to one element.
func gradBroadcast(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g} }

func gradCopy(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g} }

func gradTo(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{g.To(in[0].dev)} }

// gradView is the gradient of a view in which no element is twice.
func gradView(make func(Layout) (Layout, error)) backward {
	return func(g, out *Tensor, in []*Tensor) []*Tensor { return []*Tensor{put(g, in[0], make)} }
}

// put returns zeros in the shape of x with g where a view of x is.
func put(g, x *Tensor, make func(Layout) (Layout, error)) *Tensor {
	const op = "gradient of a view"
	if g.err != nil {
		return g
	}
	out := x.Detach().ZerosLike()
	if out.err != nil {
		return out
	}
	l, err := make(out.layout)
	if err == nil {
		err = out.dev.copyInto(out.with(l), g)
	}
	if err != nil {
		return failed(op, err)
	}
	return out.from(op, grad1(func(gg, _, _ *Tensor) *Tensor { return gg.viewed(op, gradView(make), make) }), g)
}

// gradUnfold adds up the windows that an element is in.
func gradUnfold(d, size, step int) backward {
	return func(g, out *Tensor, in []*Tensor) []*Tensor {
		x := in[0]
		if d < 0 {
			d += x.Rank()
		}
		sum := x.ZerosLike()
		for k := range size {
			part := g.GetOn(-1, k)
			n := (part.Size(d)-1)*step + 1
			sum = sum.Add(put(part, x, func(l Layout) (Layout, error) {
				l, err := l.Narrow(d, k, n)
				if err != nil {
					return l, err
				}
				return l.Step(d, step)
			}))
		}
		return []*Tensor{sum}
	}
}
