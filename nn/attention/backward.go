package attention

import (
	"errors"
	"slices"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/tensor"
)

// recomputed is attention whose gradients compute the probabilities of each block again, from the
// log-sum-exp of each row (Dao, "FlashAttention-2", 2023, algorithm 2): nothing of the size of the
// scores is kept. Its operands are those of the problem and the log-sum-exp, (b, hkv, g, s).
type recomputed struct {
	p     *problem
	out   *tensor.Tensor // what was computed before
	needs operands       // those that gradients are for, nil for others
	both  bool           // the result is in the type of the sums, with the log-sum-exp behind each row
}

func (*recomputed) Name() string { return "sdpa" }

// Forward returns what was computed.
func (r *recomputed) Forward(in ...*tensor.Tensor) *tensor.Tensor {
	if r.both {
		lse := in[len(in)-1]
		return tensor.Cat(-1, r.out.Cast(r.p.acc), lse.Unsqueeze(-1))
	}
	return r.out
}

// recorded computes a problem of several blocks, so that it has gradients.
func (p *problem) recorded(withLSE bool) (out, lse *tensor.Tensor) {
	bare := *p
	for _, t := range bare.fields() {
		if *t != nil {
			*t = (*t).Detach()
		}
	}
	r := &recomputed{p: &bare, both: withLSE, needs: p.operands}
	for _, t := range r.needs.fields() {
		if *t != nil && !(*t).RequiresGrad() {
			*t = nil
		}
	}
	r.out, lse = bare.forward()
	both := tensor.ApplyN(r, append(p.list(), lse)...)
	if !withLSE {
		return both, nil
	}
	return both.Narrow(-1, 0, p.dv).Cast(p.q.DType()), both.GetOn(-1, p.dv)
}

// Backward returns the gradients of the operands.
func (r *recomputed) Backward(g *tensor.Tensor, in []*tensor.Tensor, out *tensor.Tensor) []*tensor.Tensor {
	last := len(in) - 1
	for _, t := range append(in[:last:last], g) {
		if t.RequiresGrad() {
			return r.tracked(g, in)
		}
	}
	x, lse := r.p.of(in[:last]), in[last]
	var slope *tensor.Tensor // of the log-sum-exp
	if r.both {
		slope = g.Narrow(-1, r.p.dv, 1)
		g, out = g.Narrow(-1, 0, r.p.dv).Cast(r.p.q.DType()), out.Narrow(-1, 0, r.p.dv)
	}
	sums, err := r.gradients(x, g, out, lse, slope)
	if err != nil { // whichever of them is wanted
		return slices.Repeat([]*tensor.Tensor{tensor.Fail("sdpa", err)}, len(in))
	}
	var grads []*tensor.Tensor
	ends := sums.fields()
	for i, t := range x.fields() {
		switch {
		case *t != nil && *ends[i] != nil:
			grads = append(grads, (*ends[i]).Cast((*t).DType()))
		case *t != nil:
			grads = append(grads, nil)
		}
	}
	return append(grads, nil)
}

// gradients returns the gradients of the operands x, g being that of the result out and slope that
// of the log-sum-exp, (b, hkv, g, s, 1), or nil.
func (r *recomputed) gradients(x operands, g, out, lse, slope *tensor.Tensor) (operands, error) {
	if r.fuses() {
		sums, err := r.fused(x, g, out, lse, slope)
		if !errors.Is(err, jit.ErrUnsupported) {
			return sums, err
		}
		fellBack(err)
	}
	return r.inBlocks(x, g, out, lse, slope)
}

// inBlocks returns gradients that operations of tensors compute, block by block.
func (r *recomputed) inBlocks(x operands, g, out, lse, slope *tensor.Tensor) (sums operands, err error) {
	sums = r.sums(x)
	for _, b := range r.p.allBlocks() {
		if err := r.block(b, x, sums, g, out, lse, slope); err != nil {
			return sums, err
		}
	}
	return sums, nil
}

// sums returns zeros to add gradients to, in the type of the sums.
func (r *recomputed) sums(x operands) operands {
	ends, needs := x.fields(), r.needs.fields()
	for i, t := range ends {
		switch {
		case *t == nil:
		case *needs[i] == nil:
			*t = nil
		default:
			*t = (*t).ZerosLike().Cast(r.p.acc)
		}
	}
	return x
}

// block adds the gradients of a block. Its memory is freed at the end.
func (r *recomputed) block(b block, x, sums operands, g, out, lse, slope *tensor.Tensor) error {
	s := tensor.OpenScope()
	defer s.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	p := r.p
	x, sums = p.cutOf(x, b), p.cutOf(sums, b)
	for _, t := range x.fields() {
		if *t != nil {
			*t = (*t).In(s)
		}
	}
	rows := func(t *tensor.Tensor) *tensor.Tensor {
		return narrow(narrow(t, 0, b.batch, b.batches), 3, b.row, b.rows).In(s)
	}
	g, out, lse = rows(g), rows(out), rows(lse.Unsqueeze(-1))
	raw := p.capped(p.products(b, x))
	lse = finite(lse)
	probs := p.masked(b, x, raw).Sub(lse).Exp()
	delta := g.Cast(p.acc).Mul(out.Cast(p.acc)).SumKeep(-1)
	if slope != nil {
		delta = delta.Sub(rows(slope))
	}
	flat := func(t *tensor.Tensor) *tensor.Tensor {
		return t.Cast(p.q.DType()).Reshape(b.batches, p.hkv, p.g*b.rows, t.Size(-1))
	}
	gf := flat(g)
	ds := gf.MatMulAs(x.v.T(), p.acc)
	ds = ds.Reshape(b.batches, p.hkv, p.g, b.rows, b.keys) // as probs, which may be an error
	ds = ds.Sub(delta).Mul(probs)
	var errs failures
	errs.add(sums.v, func() *tensor.Tensor { return flat(probs).T().MatMulAs(gf, p.acc) })
	errs.add(sums.mask, func() *tensor.Tensor { return ds })
	errs.add(sums.slopes, func() *tensor.Tensor { return ds.Mul(p.distances(b, x.q.Device()).Abs().Cast(p.acc)).Neg() })
	errs.add(sums.sinks, func() *tensor.Tensor { return ofSinks(x.sinks, lse, delta) })
	if c := p.o.SoftCap; c != 0 {
		ds = ds.Mul(raw.DivScalar(c).Sqr().SubFrom(1))
	}
	df := flat(ds.MulScalar(p.scale))
	errs.add(sums.q, func() *tensor.Tensor { return df.MatMulAs(x.k, p.acc).Reshape(x.q.Shape()...) })
	errs.add(sums.k, func() *tensor.Tensor { return df.T().MatMulAs(flat(x.q), p.acc) })
	return errs.first
}

// failures is the first error of several additions.
type failures struct{ first error }

// add adds what f returns to a gradient, nil for one that is not wanted, over the dimensions in
// which the operand was broadcast.
func (f *failures) add(sum *tensor.Tensor, part func() *tensor.Tensor) {
	if sum == nil || f.first != nil {
		return
	}
	t := part()
	for d := range sum.Rank() {
		if sum.Size(d) == 1 && t.Size(d) != 1 {
			t = t.SumKeep(d)
		}
	}
	f.first = sum.Assign(sum.Add(t))
}

// tracked returns gradients that have gradients themselves: those of the operations that attention
// is made of.
func (r *recomputed) tracked(g *tensor.Tensor, in []*tensor.Tensor) []*tensor.Tensor {
	p := *r.p
	list := make([]*tensor.Tensor, len(in)-1)
	for i := range list { // where gradients are wanted: another way to these tensors does not count
		list[i] = in[i].Transpose(0, 1).Transpose(0, 1)
	}
	p.operands = p.of(list)
	y, lse := p.atOnce(r.both)
	if r.both {
		y = tensor.Cat(-1, y.Cast(p.acc), lse.Unsqueeze(-1))
	}
	grads, err := y.BackwardBy(tensor.BackwardOptions{Seed: g, Graph: true, For: list})
	out := make([]*tensor.Tensor, len(in))
	for i, t := range list {
		if err != nil {
			out[i] = tensor.Fail("sdpa", err)
			continue
		}
		out[i] = grads.Of(t)
	}
	return out
}
