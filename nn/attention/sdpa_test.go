package attention

import (
	"embed"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source) // of prefixMask

// list reads numbers.
func list(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	require.NoError(t, x.Err())
	all, err := x.Float64s()
	require.NoError(t, err)
	return all
}

// same checks that two tensors have the same shape and numbers, to a tolerance.
func same(t *testing.T, want, got *tensor.Tensor, tolerance float64) {
	t.Helper()
	require.NoError(t, want.Err())
	require.NoError(t, got.Err())
	require.Equal(t, want.Shape().String(), got.Shape().String())
	require.InDeltaSlice(t, list(t, want), list(t, got), tolerance)
}

// qkv returns operands of random numbers.
func qkv(d *tensor.Device, b, hq, hkv, s, kv, size int) (q, k, v *tensor.Tensor) {
	return tensor.Randn(d, tensor.F32, 0, 1, b, hq, s, size), tensor.Randn(d, tensor.F32, 0, 1, b, hkv, kv, size),
		tensor.Randn(d, tensor.F32, 0, 1, b, hkv, kv, size)
}

func TestErrors(t *testing.T) {
	d, other := open(t, "auto"), open(t, "cpu:interp")
	x := func(shape ...int) *tensor.Tensor { return tensor.Ones(d, tensor.F32, shape...) }
	q, k, v := x(2, 4, 3, 8), x(2, 2, 5, 8), x(2, 2, 5, 6)
	for _, c := range []struct {
		name    string
		q, k, v *tensor.Tensor
		o       Options
		kind    error
		text    string
	}{
		{"no keys", q, nil, v, Options{}, tensor.ErrArgument, "the keys are nil"},
		{"type", q, k.Cast(tensor.F16), v, Options{}, tensor.ErrDTypeMismatch, "the keys are f16, the queries f32"},
		{"integers", q.Cast(tensor.I32), k.Cast(tensor.I32), v.Cast(tensor.I32), Options{}, tensor.ErrDType, "i32"},
		{"device", q, k, v.To(other), Options{}, tensor.ErrDevice, "the values are on"},
		{"rank", q, k.Get(0), v, Options{}, tensor.ErrRank, "different numbers of dimensions"},
		{"rank of one", x(3), x(3), x(3), Options{}, tensor.ErrRank, "want (…, heads, tokens, size)"},
		{"size", q, x(2, 2, 5, 7), v, Options{}, tensor.ErrShape, "differ in the last dimension"},
		{"tokens", q, k, x(2, 2, 4, 6), Options{}, tensor.ErrShape, "differ in the number of tokens"},
		{"heads", q, x(2, 3, 5, 8), x(2, 3, 5, 6), Options{}, tensor.ErrShape, "4 heads of queries are no multiple of 3"},
		{"heads of values", q, k, x(2, 1, 5, 6), Options{}, tensor.ErrShape, "differ in the number of heads"},
		{"batches", q, x(3, 2, 5, 8), x(3, 2, 5, 6), Options{}, tensor.ErrBroadcast, "[3, 2, 5, 8]"},
		{"mask", q, k, v, Options{Mask: x(3, 4)}, tensor.ErrBroadcast, "the mask [3, 4], want what is broadcast to [2, 4, 3, 5]"},
		{"mask of groups", q, k, v, Options{Mask: x(2, 3, 5)}, tensor.ErrBroadcast, "the mask"},
		{"mask rank", q, k, v, Options{Mask: x(1, 1, 1, 1, 5)}, tensor.ErrBroadcast, "the mask"},
		{"mask type", q, k, v, Options{Mask: x(5).Cast(tensor.I32)}, tensor.ErrDType, "the mask are of type i32"},
		{"mask device", q, k, v, Options{Mask: x(5).To(other)}, tensor.ErrDevice, "the mask"},
		{"slopes", q, k, v, Options{ALiBi: x(2)}, tensor.ErrShape, "want one for each of 4 heads"},
		{"sinks", q, k, v, Options{Sinks: x(5)}, tensor.ErrShape, "want one for each of 4 heads"},
		{"dropout", q, k, v, Options{Dropout: 1.5}, tensor.ErrArgument, "dropout of 1.5"},
		{"soft cap", q, k, v, Options{SoftCap: -1}, tensor.ErrArgument, "soft cap of -1"},
		{"scale", q, k, v, Options{Scale: math.NaN()}, tensor.ErrArgument, "scale of NaN"},
		{"window", q, k, v, Options{Window: &Window{Left: -2}}, tensor.ErrArgument, "window of -2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			y, lse := SDPAWithLSE(c.q, c.k, c.v, c.o)
			require.ErrorIs(t, y.Err(), c.kind)
			require.ErrorContains(t, y.Err(), c.text)
			require.ErrorIs(t, lse.Err(), c.kind)
		})
	}
	first := tensor.Fail("first", tensor.ErrEmpty)
	require.ErrorIs(t, SDPA(first, k, v, Options{}).Err(), tensor.ErrEmpty)
	require.ErrorIs(t, SDPA(q, k, v, Options{Mask: first}).Err(), tensor.ErrEmpty)
}

// TestNothing has tensors without elements.
func TestNothing(t *testing.T) {
	for _, device := range devices() {
		d := open(t, device)
		for _, o := range []Options{{}, {Causal: true}, {Sinks: tensor.Ones(d, tensor.F32, 2)},
			{Mask: tensor.Ones(d, tensor.U8, 1)}, {ALiBi: tensor.Ones(d, tensor.F32, 2), Dropout: 0.5}} {
			for _, n := range [][3]int{{0, 3, 4}, {2, 0, 4}, {2, 3, 0}} {
				q, k, v := qkv(d, n[0], 2, 1, n[1], n[2], 4)
				q = tensor.NewVar(q).Tensor()
				y, lse := SDPAWithLSE(q, k, v, o)
				require.NoError(t, y.Err())
				require.Equal(t, tensor.Shape{n[0], 2, n[1], 4}.String(), y.Shape().String())
				require.Equal(t, tensor.Shape{n[0], 2, n[1]}.String(), lse.Shape().String())
				for i, x := range list(t, y) {
					require.Zero(t, x, "element %d", i)
				}
				for _, x := range list(t, lse) {
					require.True(t, math.IsInf(x, -1) || o.Sinks != nil)
				}
				grads, err := y.Backward()
				require.NoError(t, err)
				require.Zero(t, sum(t, grads.Of(q)))
			}
		}
	}
}

func sum(t *testing.T, x *tensor.Tensor) float64 {
	t.Helper()
	return list(t, x.Abs().Sum())[0]
}

// TestLayouts has operands that are not contiguous, and leading dimensions that are broadcast.
func TestLayouts(t *testing.T) {
	d := open(t, "auto")
	q, k, v := qkv(d, 2, 4, 2, 3, 5, 8)
	o := Options{Causal: true}
	want := SDPA(q, k, v, o)
	turn := func(x *tensor.Tensor) *tensor.Tensor { return x.Transpose(1, 2).Contiguous().Transpose(1, 2) }
	same(t, want, SDPA(turn(q), turn(k), turn(v), o), 1e-6)
	last := func(x *tensor.Tensor) *tensor.Tensor { return x.T().Contiguous().T() }
	same(t, want, SDPA(last(q), last(k), last(v), o), 1e-6)
	one := SDPA(q, k.Narrow(0, 1, 1), v.Narrow(0, 1, 1), o)
	same(t, want.Narrow(0, 1, 1), one.Narrow(0, 1, 1), 1e-6)
	same(t, SDPA(q.Get(0), k.Get(1), v.Get(1), o), one.Get(0), 1e-6)
	same(t, SDPA(q.Get(1).Get(3), k.Get(1).Get(1), v.Get(1).Get(1), o), want.Get(1).Get(3), 1e-6)
}

// TestDropout compares with what the random numbers leave.
func TestDropout(t *testing.T) {
	for _, scores := range []int{maxScores, 64} {
		defer func(n int) { maxScores = n }(maxScores)
		maxScores = scores
		d := open(t, "auto")
		q, k, _ := qkv(d, 2, 4, 2, 6, 8, 8)
		v := tensor.NewVar(tensor.Eye(d, tensor.F32, 8).BroadcastTo(2, 2, 8, 8).Contiguous()).Tensor()
		plain := SDPA(q, k, v, Options{})
		d.SetSeed(7)
		y := SDPA(q, k, v, Options{Dropout: 0.25}) // with these values, the probabilities
		kept := y.NeScalar(0)
		same(t, plain.DivScalar(0.75).Mul(kept.Cast(tensor.F32)), y, 1e-5)
		part := list(t, kept.Cast(tensor.F32).Mean())[0]
		require.InDelta(t, 0.75, part, 0.1)
		grads, err := y.BackwardWith(q.OnesLike())
		require.NoError(t, err)
		want := y.Reshape(2, 2, 12, 8).SumKeep(2).T().BroadcastTo(2, 2, 8, 8) // pᵀ·1: with the same numbers again
		same(t, want, grads.Of(v), 1e-5)
		d.SetSeed(7)
		same(t, y, SDPA(q, k, v, Options{Dropout: 0.25}), 0)
		require.Zero(t, sum(t, SDPA(q, k, v, Options{Dropout: 1})))
	}
}

// TestMemory bounds what attention over many tokens allocates, with its gradient: the scores of all
// heads would be 512 MiB.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("attention over 4096 tokens takes seconds: not in a -short run")
	}
	d := open(t, "auto")
	q, k, v := qkv(d, 1, 8, 2, 4096, 4096, 8)
	q = tensor.NewVar(q).Tensor()
	d.ResetPeak()
	before := d.PeakBytes()
	y := SDPA(q, k, v, Options{Causal: true})
	require.NoError(t, y.Err())
	require.NoError(t, d.Synchronize())
	require.Less(t, d.PeakBytes()-before, int64(200<<20))
	grads, err := y.Backward()
	require.NoError(t, err)
	require.NoError(t, grads.Of(q).Err())
	require.NoError(t, d.Synchronize())
	require.Less(t, d.PeakBytes()-before, int64(400<<20))
}

// TestSecond compares gradients of gradients of one block with those of several.
func TestSecond(t *testing.T) {
	defer func(n int) { maxScores = n }(maxScores)
	d := open(t, "auto")
	q, k, v := qkv(d, 2, 4, 2, 5, 6, 4)
	penalty := func() (list []*tensor.Tensor) {
		var in []*tensor.Tensor
		for _, x := range []*tensor.Tensor{q, k, v} {
			in = append(in, tensor.NewVar(x).Tensor())
		}
		y, lse := SDPAWithLSE(in[0], in[1], in[2], Options{Causal: true, SoftCap: 2})
		grads, err := y.Sqr().Sum().Add(lse.Sum()).BackwardBy(tensor.BackwardOptions{Graph: true})
		require.NoError(t, err)
		second, err := grads.Of(in[0]).Sqr().Sum().Add(grads.Of(in[1]).Sqr().Sum()).Backward()
		require.NoError(t, err)
		for _, x := range in {
			list = append(list, second.Of(x))
		}
		return list
	}
	want := penalty()
	maxScores = 24
	for i, got := range penalty() {
		same(t, want[i], got, 1e-4)
	}
}

// TestInScope has gradients of attention that was computed in a scope.
func TestInScope(t *testing.T) {
	defer func(n int) { maxScores = n }(maxScores)
	maxScores = 24
	d := open(t, "auto")
	q, k, v := qkv(d, 2, 4, 2, 5, 6, 4)
	q = tensor.NewVar(q).Tensor()
	want, err := SDPA(q, k, v, Options{}).Backward()
	require.NoError(t, err)
	y := tensor.InScope(func(in ...*tensor.Tensor) *tensor.Tensor { return SDPA(in[0], in[1], in[2], Options{}) }, q, k, v)
	got, err := y.Backward()
	require.NoError(t, err)
	same(t, want.Of(q), got.Of(q), 0)
	require.False(t, SDPA(q.NoGrad(), k, v, Options{}).RequiresGrad())
}

// TestLogSumExp puts the parts of an attention over different keys together.
func TestLogSumExp(t *testing.T) {
	d := open(t, "auto")
	q, k, v := qkv(d, 2, 4, 2, 3, 7, 8)
	want, all := SDPAWithLSE(q, k, v, Options{})
	a, la := SDPAWithLSE(q, k.Narrow(2, 0, 3), v.Narrow(2, 0, 3), Options{})
	b, lb := SDPAWithLSE(q, k.Narrow(2, 3, 4), v.Narrow(2, 3, 4), Options{})
	lse := la.LogAddExp(lb)
	same(t, all, lse, 1e-5)
	weight := func(l *tensor.Tensor) *tensor.Tensor { return l.Sub(lse).Exp().Unsqueeze(-1) }
	same(t, want, a.Mul(weight(la)).Add(b.Mul(weight(lb))), 1e-5)
}

// A mask by a function is that of the numbers that it returns, whatever else leaves out keys, in
// one block and in several, with gradients and log-sum-exps. Some queries attend to nothing.
func TestMaskFunc(t *testing.T) {
	d := open(t, "auto")
	const s, kv = 7, 9
	mask := make([]uint8, s*kv)
	for i := range s {
		for j := range kv {
			if prefixMask(int32(i+kv-s), int32(j)) {
				mask[i*kv+j] = 1
			}
		}
	}
	q, k, v := qkv(d, 2, 4, 2, s, kv, 8)
	for _, scores := range []int{maxScores, 24} {
		for _, o := range []Options{{}, {Causal: true}, {Window: &Window{Left: 3, Right: 1}}} {
			func() {
				defer func(n int) { maxScores = n }(maxScores)
				maxScores = scores
				run := func(o Options) []*tensor.Tensor {
					x, y, z := tensor.NewVar(q), tensor.NewVar(k), tensor.NewVar(v)
					out, lse := SDPAWithLSE(x.Tensor(), y.Tensor(), z.Tensor(), o)
					grads, err := out.Sqr().Sum().Add(lse.Clamp(-100, 100).Sum()).Backward()
					require.NoError(t, err)
					return []*tensor.Tensor{out, lse.Clamp(-100, 100), grads.Of(x.Tensor()), grads.Of(y.Tensor()), grads.Of(z.Tensor())}
				}
				other := o
				o.MaskFunc, other.Mask = prefixMask, tensor.From(d, mask, s, kv)
				want := run(other)
				for i, got := range run(o) {
					same(t, want[i], got, 1e-5)
				}
			}()
		}
	}
}

// prefixMask attends to the first two tokens and to those behind the query, but none from position
// 8 on.
func prefixMask(query, key int32) bool { return query < 8 && (key < 2 || key >= query) }
