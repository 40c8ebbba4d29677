package attention

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/tensor"
)

// TestGoldenFusedGradients has masks and slopes that need no gradient, so that kernels compute the
// others.
func TestGoldenFusedGradients(t *testing.T) {
	fuse(t)
	each(t, func(t *testing.T, d *tensor.Device, g golden) {
		dt, tolerance := doubles(d)
		in, o := g.problem(d, dt)
		if o.Mask != nil {
			o.Mask = o.Mask.Detach()
		}
		if o.ALiBi != nil {
			o.ALiBi = o.ALiBi.Detach()
		}
		grads, err := SDPA(in["q"], in["k"], in["v"], o).BackwardWith(g.Seed.tensor(d, dt))
		require.NoError(t, err)
		for name, want := range g.Grads {
			if name != "mask" && name != "alibi" {
				near(t, want, grads.Of(in[name]), tolerance, "gradient of "+name)
			}
		}
	})
}

// TestFusedGradients has several tiles of rows and of keys, with edges, rows that attend to
// nothing, keys that nothing attends to, gradients of some operands, and operands that are views.
func TestFusedGradients(t *testing.T) {
	for _, device := range devices() {
		if device != "auto" && !tooltest.Sweeps() {
			continue // what is interpreted is in the golden cases
		}
		d := open(t, device)
		draw := func(shape ...int) *tensor.Tensor { return tensor.Randn(d, tensor.F32, 0, 1, shape...) }
		for i, n := range []struct{ s, kv, d, dv int }{{70, 150, 40, 24}, {45, 20, 33, 72}, {1, 70, 32,
			32}} {
			if device != "auto" && i > 0 {
				continue
			}
			q, k, v := draw(2, n.s, 4, n.d).Transpose(1, 2), draw(2, n.kv+3, 2, n.d).Transpose(1,
				2).Narrow(2, 3, n.kv), draw(2, 2, n.dv, n.kv).T()
			sinks, slopes := draw(4), tensor.Rand(d, tensor.F32, 0, 0.3, 4)
			mask, bias := tensor.Rand(d, tensor.F32, 0, 1, 4, 1, n.kv).GtScalar(0.2), draw(n.s, n.kv)
			second := tensor.Arange(d, int32(0), int32(n.s)).Unsqueeze(-1).EqScalar(1)
			bias = bias.MaskedFill(second, math.Inf(-1)) // whose log-sum-exp is −Inf, too
			seed, ofLSE := draw(2, n.s, 4, n.dv).Transpose(1, 2), draw(2, 4, n.s)
			for j, o := range []Options{
				{}, {Causal: true, Sinks: sinks, SoftCap: 3}, {Window: &Window{Left: 9, Right: 30}, Mask: mask,
					ALiBi: slopes},
				{Mask: bias, Window: &Window{Left: 5, Right: Unlimited}},
			} {
				if i != (j+1)/2 && !tooltest.Sweeps() {
					continue // every shape, options and operands are in one
				}
				some := (i + j) % 4 // 3 are all of them
				gradients := func(yes bool) (list []*tensor.Tensor) {
					defer byKernels(t, yes)()
					in := []*tensor.Tensor{q, k, v, o.Sinks}
					for i, x := range in {
						if x != nil && (i == some || some == 3) {
							in[i] = tensor.NewVar(x).Tensor()
						}
					}
					o := o
					o.Sinks = in[3]
					y, lse := SDPAWithLSE(in[0], in[1], in[2], o)
					finite := lse.Clamp(-1e30, 1e30)
					grads, err := y.Mul(seed).Sum().Add(finite.Mul(ofLSE).Sum()).Backward()
					require.NoError(t, err)
					for i, x := range in {
						if x != nil && (i == some || some == 3) {
							list = append(list, grads.Of(x))
						}
					}
					return list
				}
				want, got := gradients(false), gradients(true)
				require.Len(t, got, len(want))
				for i := range want {
					same(t, want[i], got[i], 5e-5)
				}
			}
		}
	}
}

// TestFusedPeak has gradients of 1024 rows need no memory for scores, which are 4 MB, nor for a
// part of them.
func TestFusedPeak(t *testing.T) {
	fuse(t)
	d := open(t, "auto")
	q, k, v := qkv(d, 1, 1, 1, 1024, 1024, 16)
	vars := []*tensor.Tensor{tensor.NewVar(q).Tensor(), tensor.NewVar(k).Tensor(),
		tensor.NewVar(v).Tensor()}
	y := SDPA(vars[0], vars[1], vars[2], Options{Causal: true})
	seed := y.Detach().RandnLike(0, 1)
	d.ResetPeak()
	before := d.PeakBytes()
	grads, err := y.BackwardWith(seed)
	require.NoError(t, err)
	require.NoError(t, d.Synchronize())
	require.Less(t, d.PeakBytes()-before, int64(5*4*1024*16)) // three gradients are 3/5 of it
	for _, x := range vars {
		require.NoError(t, grads.Of(x).Err())
	}
}

// TestGradientsOfChanged has operands change between a result and its gradients, of one operand or
// another: that is an error for each that is wanted and needs them, by kernels and in blocks.
func TestGradientsOfChanged(t *testing.T) {
	defer func(n int) { maxScores = n }(maxScores)
	maxScores = 24
	d := open(t, "auto")
	names := []string{"queries", "keys", "values", "mask", "slopes", "sinks"}
	for _, yes := range []bool{true, false} {
		for changed, name := range names {
			for _, wanted := range []int{0, 1, 2, 5} {
				end := byKernels(t, yes)
				q, k, v := qkv(d, 1, 2, 1, 5, 7, 8)
				in := []*tensor.Tensor{q, k, v, tensor.Zeros(d, tensor.F32, 5, 7),
					tensor.Ones(d, tensor.F32, 2), tensor.Ones(d, tensor.F32, 2)}
				needed := changed < 5
				switch {
				case wanted == 5:
					needed = yes || changed == 5
				case wanted == 2 && changed == 2:
					needed = yes
				}
				in[wanted] = tensor.NewVar(in[wanted]).Tensor()
				y := SDPA(in[0], in[1], in[2], Options{Mask: in[3], ALiBi: in[4], Sinks: in[5]})
				grads, err := y.Backward()
				require.NoError(t, err)
				require.NoError(t, grads.Of(in[wanted]).Err())
				require.NoError(t, in[changed].Assign(in[changed].Detach().MulScalar(2)))
				grads, err = y.Backward()
				end()
				if !needed {
					require.NoError(t, err, "%s changed, of %s wanted", name, names[wanted])
					continue
				}
				require.ErrorIs(t, err, tensor.ErrChanged, "%s changed, of %s wanted, kernels: %v",
					name, names[wanted], yes)
				require.Nil(t, grads)
			}
		}
	}
}
