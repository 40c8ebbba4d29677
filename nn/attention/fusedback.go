package attention

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/jit"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// fused returns the gradients of the operands x, computed by kernels where the result is: g is that
// of the result out, slope that of the log-sum-exp (b, hkv, g, s, 1), or nil. It is an error of
// kind jit.ErrUnsupported where there are no kernels, as there are none for gradients of masks and
// slopes.
func (r *recomputed) fused(x operands, g, out, lse, slope *tensor.Tensor) (sums operands, err error) {
	p := *r.p
	if p.operands = x; r.needs.mask != nil || r.needs.slopes != nil || !p.fuses() {
		return sums, fmt.Errorf("sdpa: %w: a gradient by kernels", jit.ErrUnsupported)
	}
	s := tensor.OpenScope()
	defer s.Close() //nolint:errcheck // a device that cannot free reports itself at the next operation
	p.q, p.k, p.v = x.q.In(s).Contiguous(), contiguousRows(x.k.In(s)), contiguousRows(x.v.In(s))
	g, out, lse = g.In(s).Contiguous(), out.In(s).Cast(p.q.DType()).Contiguous(), lse.In(s).Contiguous()
	less := lse.EmptyLike()
	if slope != nil {
		slope = slope.In(s).Contiguous()
	}
	if r.needs.q != nil {
		sums.q = x.q.EmptyLike()
	}
	if r.needs.k != nil || r.needs.v != nil {
		sums.k, sums.v = x.k.EmptyLike(), x.v.EmptyLike()
	}
	for _, t := range []*tensor.Tensor{p.q, p.k, p.v, g, out, lse, less, slope, sums.q, sums.k, sums.v} {
		if t != nil && t.Err() != nil {
			return sums, t.Err()
		}
	}
	stream := g.Device().Stream()
	if err := opsattention.Delta(stream, view(less), view(g), view(out), view(slope)); err != nil {
		return sums, err
	}
	results := &opsattention.Gradients{Q: view(sums.q), K: view(sums.k), V: view(sums.v), Out: view(g), LSE: view(lse), Delta: view(less)}
	if err := opsattention.Backward(stream, results, p.forKernels()); err != nil {
		return sums, err
	}
	if r.needs.sinks == nil {
		return sums, nil
	}
	var errs failures
	sums.sinks = x.sinks.ZerosLike()
	errs.add(sums.sinks, func() *tensor.Tensor {
		return ofSinks(x.sinks.In(s), finite(lse.Unsqueeze(-1)), less.Unsqueeze(-1))
	})
	return sums, errs.first
}

// finite is log-sum-exps with 0 in rows that attend to nothing: all scores of such a row are −Inf.
func finite(lse *tensor.Tensor) *tensor.Tensor {
	return lse.MaskedFill(lse.EqScalar(math.Inf(-1)), 0)
}

// ofSinks returns the gradient of sinks, for each row.
func ofSinks(sinks, lse, less *tensor.Tensor) *tensor.Tensor {
	return sinks.Sub(lse).Exp().Mul(less).Neg()
}
