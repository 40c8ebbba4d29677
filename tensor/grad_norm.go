package tensor

import (
	"slices"

	"github.com/gokiln/kiln/ops"
	rowsops "github.com/gokiln/kiln/ops/rows"
)

// normal is the gradient of a normalization.
type normal struct {
	d                        int
	eps                      float64
	center, weighted, biased bool
}

func (n normal) spread(g, out *Tensor, in []*Tensor) []*Tensor {
	grads, _ := n.spreadOnto(nil, g, out, in)
	return grads
}

// spreadOnto is one kernel along the last dimension of rows, which adds have, and sums of its parts of
// the gradients of weights. One that is to have a gradient itself is by operations, and so is one of
// few long rows.
func (n normal) spreadOnto(have, g, out *Tensor, in []*Tensor) (grads []*Tensor, added bool) {
	x := in[0]
	recorded := g.RequiresGrad() || slices.ContainsFunc(in, (*Tensor).RequiresGrad)
	if recorded || n.d != x.Rank()-1 || g.dtype != x.dtype {
		return n.operations(g, in), false
	}
	k := rowsops.NormGrad{Center: n.center, Scaled: n.weighted, Shift: n.biased, Eps: n.eps}
	size := x.Size(n.d)
	blocks := k.Parts(x.dev.rt, x.dtype, x.Count()/max(size, 1), size)
	if blocks == 0 {
		return n.operations(g, in), false
	}
	if have != nil && have.dtype != x.dtype {
		have = nil
	}
	grads = n.kernel(&k, blocks, have, g, in)
	return grads, have != nil
}

// kernel is the gradients by the kernel, whose weights have so many parts.
func (n normal) kernel(k *rowsops.NormGrad, blocks int, have, g *Tensor, in []*Tensor) []*Tensor {
	const op = "norm gradient"
	dense := []*Tensor{in[0].Contiguous(), g.Contiguous()}
	var views [3]ops.View // of have, the weight and the parts
	if have != nil {
		dense = append(dense, have.Contiguous())
	}
	if n.weighted {
		dense = append(dense, in[1].Contiguous())
	}
	if bad := first(op, dense...); bad != nil {
		return []*Tensor{bad}
	}
	x, g := dense[0], dense[1]
	if have != nil {
		views[0] = dense[2].view()
	}
	if n.weighted {
		views[1] = dense[len(dense)-1].view()
	}
	weights := len(in) - 1
	var parts *Tensor
	run := func(dx ops.View) error {
		return k.Run(x.dev.stream, dx, x.view(), g.view(), views[0], views[1], views[2])
	}
	produce := func() *Tensor { return x.produce(op, x.Shape(), run).scoped(dense...) }
	if weights == 0 {
		return []*Tensor{produce()}
	}
	var dx *Tensor
	parts = x.produceAs(op, x.dtype.Compute(), Shape{weights, blocks, x.Size(n.d)}, func(p ops.View) error {
		views[2] = p
		dx = produce()
		return dx.Err()
	}).scoped(dense...)
	if parts.err != nil {
		return []*Tensor{parts}
	}
	sums := parts.Sum(1).Cast(x.dtype)
	grads := []*Tensor{dx}
	for i := range weights {
		grads = append(grads, sums.Get(i))
	}
	return grads
}

// operations is the gradients step by step, which compute halves in F32, as the norm does.
func (n normal) operations(g *Tensor, in []*Tensor) []*Tensor {
	x, to := in[0], in[0].dtype
	g, x = g.Cast(to.Compute()), x.Cast(to.Compute())
	if n.center {
		x = x.Sub(x.MeanKeep(n.d))
	}
	f := x.Sqr().MeanKeep(n.d).AddScalar(n.eps).Rsqrt()
	unit := x.Mul(f)
	grads := make([]*Tensor, 1, 3)
	others := n.others(x)
	if n.weighted {
		grads = append(grads, n.sum(g.Mul(unit), others).Cast(to))
	}
	if n.biased {
		grads = append(grads, n.sum(g, others).Cast(to))
	}
	if n.weighted {
		shape := make(Shape, x.Rank())
		for i := range shape {
			shape[i] = 1
		}
		shape[n.d] = x.Size(n.d)
		g = g.Mul(in[1].Cast(to.Compute()).Reshape(shape...))
	}
	gx := g.Sub(unit.Mul(g.Mul(unit).MeanKeep(n.d)))
	if n.center {
		gx = gx.Sub(g.MeanKeep(n.d))
	}
	grads[0] = gx.Mul(f).Cast(to)
	return grads
}

// others are the dimensions that are not normalized along.
func (n normal) others(x *Tensor) (dims []int) {
	for d := range x.Rank() {
		if d != n.d {
			dims = append(dims, d)
		}
	}
	return dims
}

// sum adds up along dims, of which none is no dimension.
func (n normal) sum(t *Tensor, dims []int) *Tensor {
	if len(dims) == 0 {
		return t
	}
	return t.Sum(dims...)
}
