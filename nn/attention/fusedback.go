package attention

import (
	"math"

	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// fuses reports whether gradients are computed by kernels where the result is: there are none for
// gradients of masks and slopes.
func (r *recomputed) fuses() bool {
	return r.needs.mask == nil && r.needs.slopes == nil && r.p.fuses()
}

// fused is gradients by kernels. It is an error of kind jit.ErrUnsupported where there are none.
// Operands that were changed since the result was computed are one of kind tensor.ErrChanged, and
// nothing is launched then.
func (r *recomputed) fused(x operands, g, out, lse, slope *tensor.Tensor) (sums operands, err error) {
	s := tensor.OpenScope()
	defer s.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	p := *r.p
	p.operands = x
	if r.needs.sinks == nil {
		p.sinks = nil // log-sum-exps have them
	}
	for _, t := range p.fields() {
		if *t != nil { // Cast to its own type checks that it is what it was, which kernels do not
			*t = (*t).In(s).Cast((*t).DType())
		}
	}
	if err := failure(p.list()...); err != nil {
		return sums, err
	}
	p.q, p.k, p.v = p.q.Contiguous(), contiguousRows(p.k), contiguousRows(p.v)
	g, lse = g.In(s).Contiguous(), lse.In(s).Contiguous()
	out = out.In(s).Cast(p.q.DType()).Contiguous()
	delta := lse.EmptyLike()
	if slope != nil {
		slope = slope.In(s).Squeeze(-1).Contiguous()
	}
	if r.needs.q != nil {
		sums.q = x.q.EmptyLike()
	}
	if r.needs.k != nil || r.needs.v != nil {
		sums.k, sums.v = x.k.EmptyLike(), x.v.EmptyLike()
	}
	if err := failure(p.q, p.k, p.v, g, out, lse, delta, slope, sums.q, sums.k, sums.v); err != nil {
		return sums, err
	}
	stream := g.Device().Stream()
	if err := opsattention.Delta(stream, view(delta), view(g), view(out), view(slope)); err != nil {
		return sums, err
	}
	results := &opsattention.Gradients{
		Q: view(sums.q), K: view(sums.k), V: view(sums.v), Out: view(g), LSE: view(lse), Delta: view(delta),
	}
	if err := opsattention.Backward(stream, results, p.forKernels()); err != nil {
		return sums, err
	}
	if r.needs.sinks == nil {
		return sums, nil
	}
	var errs failures
	sums.sinks = x.sinks.ZerosLike()
	errs.add(sums.sinks, func() *tensor.Tensor {
		return ofSinks(p.sinks, finite(lse.Unsqueeze(-1)), delta.Unsqueeze(-1))
	})
	return sums, errs.first
}

// failure is the first error of tensors, of which nil are none.
func failure(list ...*tensor.Tensor) error {
	for _, t := range list {
		if t != nil && t.Err() != nil {
			return t.Err()
		}
	}
	return nil
}

// finite is log-sum-exps with 0 in rows that attend to nothing: all scores of such a row are −Inf.
func finite(lse *tensor.Tensor) *tensor.Tensor {
	return lse.MaskedFill(lse.EqScalar(math.Inf(-1)), 0)
}

// ofSinks returns the gradient of sinks, for each row.
func ofSinks(sinks, lse, delta *tensor.Tensor) *tensor.Tensor {
	return sinks.Sub(lse).Exp().Mul(delta).Neg()
}
