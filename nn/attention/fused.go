package attention

import (
	"errors"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/tensor"
)

// fusing is whether the kernel is taken where there is one; tests change it.
var fusing = func(p *problem) bool {
	return opsattention.Fits(p.q.Device().Runtime(), p.q.DType())
}

// fuses reports whether a problem and its gradients are computed by kernels: those of gradients
// have no functions of positions.
func (p *problem) fuses() bool {
	return p.o.MaskFunc == nil && p.o.ScoreFunc == nil && p.fusesForward()
}

// fusesForward reports whether a problem is computed by one kernel.
func (p *problem) fusesForward() bool {
	return p.o.Dropout == 0 && p.b*p.hkv*p.g*p.s*p.kv*p.d*p.dv != 0 && fusing(p)
}

// fused computes a problem by one kernel, out (b, hkv, g, s, dv) and log-sum-exp (b, hkv, g, s). It
// reports false where there is no kernel for it.
func (p *problem) fused() (out, lse *tensor.Tensor, ok bool) {
	copied := *p
	copied.q, copied.k, copied.v = p.q.Contiguous(), contiguousRows(p.k), contiguousRows(p.v)
	for _, t := range []*tensor.Tensor{copied.q, copied.k, copied.v} {
		if t.Err() != nil {
			return t, t, true
		}
	}
	d := p.q.Device()
	out = tensor.Empty(d, p.q.DType(), p.b, p.hkv, p.g, p.s, p.dv)
	lse = tensor.Empty(d, p.acc, p.b, p.hkv, p.g, p.s)
	if err := errors.Join(out.Err(), lse.Err()); err != nil {
		bad := tensor.Fail("sdpa", err)
		return bad, bad, true
	}
	in := copied.forKernels()
	err := copied.withFunctions(in)
	if err == nil {
		err = opsattention.Forward(d.Stream(), view(out), view(lse), in)
	}
	switch {
	case errors.Is(err, jit.ErrUnsupported):
		return nil, nil, false
	case err != nil:
		bad := tensor.Fail("sdpa", err)
		return bad, bad, true
	}
	return out, lse, true
}

// forKernels returns a problem as package ops has it, of contiguous queries and rows of keys and
// values.
func (p *problem) forKernels() *opsattention.Problem {
	return &opsattention.Problem{
		Q: view(p.q), K: view(p.k), V: view(p.v), Mask: view(p.mask), Slopes: view(p.slopes), Sinks: view(p.sinks),
		Scale: p.scale, SoftCap: p.o.SoftCap, Left: p.left, Right: p.right,
	}
}

// contiguousRows returns a tensor whose last dimension is contiguous.
func contiguousRows(t *tensor.Tensor) *tensor.Tensor {
	if t.Size(-1) > 1 && t.Strides()[t.Rank()-1] != 1 {
		return t.Contiguous()
	}
	return t
}

// view is a tensor as package ops has it, nothing of nil.
func view(t *tensor.Tensor) ops.View {
	if t == nil {
		return ops.View{}
	}
	return ops.View{Buf: t.Buffer(), DType: t.DType(), Layout: t.Layout()}
}
