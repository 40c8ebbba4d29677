package attention

import (
	"errors"
	"slices"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// fusing is whether the kernel is taken where there is one; tests change it.
var fusing = func(p *problem) bool {
	return opsattention.Fits(p.q.Device().Runtime(), p.q.DType())
}

// fellBack is told why kernels that were to be taken are not, and operations compute instead; tests
// that mean the kernels change it.
var fellBack = func(error) {}

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
	return copied.run("sdpa", copied.forKernels())
}

// run runs the kernel for a problem of contiguous queries and rows of keys and values, which in is
// as package ops has it. The result has the shape of the queries but for the last size, dv, and the
// log-sum-exps have no last dimension.
func (p *problem) run(op string, in *opsattention.Problem) (out, lse *tensor.Tensor, ok bool) {
	return p.runBy(opsattention.Forward, op, in)
}

// runBy is run by one of the functions of package ops.
func (p *problem) runBy(
	launch func(*runtime.Stream, ops.View, ops.View, *opsattention.Problem) error, op string, in *opsattention.Problem,
) (out, lse *tensor.Tensor, ok bool) {
	fail := func(err error) (out, lse *tensor.Tensor, ok bool) {
		bad := tensor.Fail(op, err)
		return bad, bad, true
	}
	if err := failure(p.list()...); err != nil {
		return fail(err)
	}
	d, rows := p.q.Device(), p.q.Shape()[:p.q.Rank()-1]
	out = tensor.Empty(d, p.q.DType(), append(slices.Clone(rows), p.dv)...)
	lse = tensor.Empty(d, p.acc, rows...)
	if err := failure(out, lse); err != nil {
		return fail(err)
	}
	err := p.withFunctions(in)
	if err == nil {
		err = launch(d.Stream(), view(out), view(lse), in)
	}
	switch {
	case errors.Is(err, jit.ErrUnsupported):
		fellBack(err)
		return nil, nil, false
	case err != nil:
		return fail(err)
	}
	from := p.list()
	return tensor.ApplyN(computed{op, out}, from...), tensor.ApplyN(computed{op, lse}, from...), true
}

// computed is an operation of which a kernel has computed the result: it has the scope of the
// operands and their mark of [tensor.Tensor.NoGrad], as those of operations have.
type computed struct {
	op  string
	out *tensor.Tensor
}

// Name is that of the operation in errors.
func (c computed) Name() string { return c.op }

// Forward returns what was computed.
func (c computed) Forward(...*tensor.Tensor) *tensor.Tensor { return c.out }

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
