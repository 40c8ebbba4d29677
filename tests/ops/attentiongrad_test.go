package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/ops"
	opsattention "github.com/gokiln/kiln/ops/attention"
	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor"
)

// Gradients by kernels are those of operations on the CPU: tiles of several heads with edges, heads
// of values of another size, and all options at once, by matrix instructions where there are some.
func TestAttentionGradients(t *testing.T) {
	list := devices(t)
	cpu := list[0]
	types := []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16, tensor.BF16}
	for i, d := range list {
		g := drawGradients(cpu, types[i])
		want, err := g.out.BackwardWith(g.seed)
		require.NoError(t, err)
		got := g.byKernels(t, d)
		near := map[tensor.DType]float64{tensor.F64: 1e-10, tensor.F32: 1e-5, tensor.F16: 1e-2, tensor.BF16: 6e-2}[types[i]]
		for j, x := range g.in {
			require.InDeltaSlice(t, values(t, want.Of(x).Cast(tensor.F32)), values(t, got[j].To(cpu).Cast(tensor.F32)), near, "%v, operand %d", d, j)
		}
	}
}

// gradients is an attention on the CPU of numbers that are exact in a type.
type gradients struct {
	dt             tensor.DType
	in             [3]*tensor.Tensor // queries, keys and values
	out, lse, seed *tensor.Tensor
	o              attention.Options
}

func drawGradients(cpu *tensor.Device, dt tensor.DType) (g gradients) {
	g.dt = dt
	draw := func(heads, tokens, size int) *tensor.Tensor {
		return tensor.Randn(cpu, tensor.F32, 0, 1, 1, heads, tokens, size).Cast(dt).Cast(tensor.F64)
	}
	for i, x := range []*tensor.Tensor{draw(4, 70, 40), draw(2, 90, 40), draw(2, 90, 24)} {
		g.in[i] = tensor.NewVar(x).Tensor()
	}
	g.o = attention.Options{
		Window: &attention.Window{Left: 41, Right: 3}, SoftCap: 4,
		Mask:  tensor.Rand(cpu, tensor.F64, 0, 1, 4, 1, 90).GtScalar(0.1),
		ALiBi: tensor.Rand(cpu, tensor.F32, 0, 0.1, 4).Cast(tensor.F64), Sinks: tensor.Randn(cpu, tensor.F64, 0, 1, 4),
	}
	g.out, g.lse = attention.SDPAWithLSE(g.in[0], g.in[1], g.in[2], g.o)
	g.seed = draw(4, 70, 24)
	return g
}

// byKernels computes the gradients on a device.
func (g *gradients) byKernels(t *testing.T, d *tensor.Device) (grads [3]*tensor.Tensor) {
	view := func(x *tensor.Tensor) ops.View {
		require.NoError(t, x.Err())
		return ops.View{Buf: x.Buffer(), DType: x.DType(), Layout: x.Layout()}
	}
	on := func(x *tensor.Tensor, dt tensor.DType, shape ...int) *tensor.Tensor {
		return x.Detach().Cast(dt).To(d).Reshape(shape...)
	}
	sum := g.dt.Compute()
	q, k, v := on(g.in[0], g.dt, 1, 2, 2, 70, 40), on(g.in[1], g.dt, 1, 2, 90, 40), on(g.in[2], g.dt, 1, 2, 90, 24)
	out, seed := on(g.out, g.dt, 1, 2, 2, 70, 24), on(g.seed, g.dt, 1, 2, 2, 70, 24)
	lse := on(g.lse, sum, 1, 2, 2, 70)
	delta := lse.EmptyLike()
	grads = [3]*tensor.Tensor{q.EmptyLike(), k.EmptyLike(), v.EmptyLike()}
	p := &opsattention.Problem{
		Q: view(q), K: view(k), V: view(v),
		Mask: view(on(g.o.Mask, tensor.U8, 1, 2, 2, 1, 90)), Slopes: view(on(g.o.ALiBi, sum, 1, 2, 2, 1, 1)), Sinks: view(on(g.o.Sinks, sum, 1, 2, 2, 1, 1)),
		Scale: 1 / math.Sqrt(40), SoftCap: g.o.SoftCap, Left: g.o.Window.Left, Right: g.o.Window.Right,
	}
	require.NoError(t, opsattention.Delta(d.Stream(), view(delta), view(seed), view(out), ops.View{}))
	require.NoError(t, opsattention.Backward(d.Stream(), &opsattention.Gradients{
		Q: view(grads[0]), K: view(grads[1]), V: view(grads[2]), Out: view(seed), LSE: view(lse), Delta: view(delta),
	}, p))
	return grads
}

// What gradients are stored in, and computed from, has the types and shapes of the problem.
func TestAttentionGradientErrors(t *testing.T) {
	d, err := tensor.Open("cpu:interp")
	require.NoError(t, err)
	view := func(dt tensor.DType, shape ...int) ops.View {
		x := tensor.Zeros(d, dt, shape...)
		return ops.View{Buf: x.Buffer(), DType: dt, Layout: x.Layout()}
	}
	rows, keys, row := view(tensor.F16, 1, 1, 1, 3, 8), view(tensor.F16, 1, 1, 3, 8), view(tensor.F32, 1, 1, 1, 3)
	for _, c := range []struct {
		text   string
		kind   error
		change func(g *opsattention.Gradients, p *opsattention.Problem)
	}{
		{"the log-sum-exp is of type f16", ops.ErrDType, func(g *opsattention.Gradients, _ *opsattention.Problem) { g.LSE = view(tensor.F16, 1, 1, 1, 3) }},
		{"the gradient of the values is of type", ops.ErrDType, func(g *opsattention.Gradients, _ *opsattention.Problem) { g.V = ops.View{} }},
		{"the gradient of the keys is", layout.ErrShape, func(g *opsattention.Gradients, _ *opsattention.Problem) { g.K = view(tensor.F16, 1, 1, 4, 8) }},
		{"heads of 264 numbers", jit.ErrUnsupported, func(g *opsattention.Gradients, p *opsattention.Problem) {
			p.Q, p.K = view(tensor.F16, 1, 1, 1, 3, 264), view(tensor.F16, 1, 1, 3, 264)
			g.Q, g.K = p.Q, p.K
		}},
		{"different lengths", jit.ErrUnsupported, func(_ *opsattention.Gradients, p *opsattention.Problem) {
			p.Sequences = []opsattention.Sequence{{Keys: 3}}
		}},
		{"functions of scores", jit.ErrUnsupported, func(_ *opsattention.Gradients, p *opsattention.Problem) {
			p.MaskFunc = jit.Func(kernels.AnyKey)
		}},
	} {
		g := &opsattention.Gradients{Q: rows, K: keys, V: keys, Out: rows, LSE: row, Delta: row}
		p := &opsattention.Problem{Q: rows, K: keys, V: keys, Scale: 1}
		c.change(g, p)
		err := opsattention.Backward(d.Stream(), g, p)
		require.ErrorIs(t, err, c.kind, c.text)
		require.ErrorContains(t, err, c.text)
	}
	require.ErrorIs(t, opsattention.Delta(d.Stream(), row, view(tensor.F32, 1, 1, 1, 3, 8), rows, ops.View{}), ops.ErrDType)
}
