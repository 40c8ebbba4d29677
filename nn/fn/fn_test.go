package fn_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/tensor"
)

func TestActivationNames(t *testing.T) {
	for text, want := range map[string]string{
		"gelu": "gelu", "gelu_pytorch_tanh": "gelu_new", "GELU_NEW": "gelu_new", "swish": "silu", "SiLU": "silu", "hardswish": "hard_swish",
		"hard-sigmoid": "hard_sigmoid", "Relu2": "relu2", "elu(1)": "elu", "leaky_relu(0.3)": "leaky_relu(0.3)", "identity": "linear", "quick_gelu": "quick_gelu",
	} {
		a, err := fn.ParseActivation(text)
		require.NoError(t, err, text)
		require.Equal(t, want, a.String())
	}
	for text, part := range map[string]string{"gelo": `no activation is called "gelo"`, "": "called", "relu(2)": "has no parameter", "elu(x)": "a number in parentheses", "elu(1": "parentheses"} {
		_, err := fn.ParseActivation(text)
		require.ErrorIs(t, err, tensor.ErrArgument)
		require.ErrorContains(t, err, part)
	}
	var config struct{ Act fn.Activation }
	require.Equal(t, "gelu", config.Act.String())
	require.NoError(t, json.Unmarshal([]byte(`{"Act": "elu(0.5)"}`), &config))
	out, err := json.Marshal(config)
	require.NoError(t, err)
	require.JSONEq(t, `{"Act": "elu(0.5)"}`, string(out))
	require.Error(t, json.Unmarshal([]byte(`{"Act": "no"}`), &config))
	_, err = fn.Activation{Kind: 99}.MarshalText()
	require.Error(t, err)
	require.Equal(t, "Activation(99)", fn.Activation{Kind: 99}.String())
	act, ok := fn.Activation{}.Epilogue()
	require.True(t, ok)
	require.Equal(t, tensor.GeluErf, act)
	_, ok = fn.Activation{Kind: fn.KindRelu6}.Epilogue()
	require.False(t, ok)
}

// Dropout keeps the mean, gives gradients to what it has kept, and follows the seed.
func TestDropout(t *testing.T) {
	d := open(t)
	for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16} {
		x := tensor.NewVar(tensor.Ones(d, dt, 100, 100)).Tensor()
		d.SetSeed(5)
		y := fn.Dropout(x, 0.25)
		list, err := y.Float64s()
		require.NoError(t, err)
		zeros := 0
		for _, v := range list {
			if v == 0 {
				zeros++
			} else {
				require.InDelta(t, 1/0.75, v, 0.01)
			}
		}
		require.InDelta(t, 2500, zeros, 200)
		g, err := y.Backward()
		require.NoError(t, err)
		slopes, err := g.Of(x).Float64s()
		require.NoError(t, err)
		require.Equal(t, list, slopes)
		d.SetSeed(5)
		again, err := fn.Dropout(x, 0.25).Float64s()
		require.NoError(t, err)
		require.Equal(t, list, again)
	}
	x := tensor.Ones(d, tensor.F32, 4)
	require.Same(t, x, fn.Dropout(x, 0))
}

// Samples are as often as their probabilities say.
func TestSampling(t *testing.T) {
	d := open(t)
	d.SetSeed(3)
	p := []float64{0.1, 0.6, 0.3}
	logits := tensor.From(d, p).Log().BroadcastTo(20000, 3)
	for name, one := range map[string]*tensor.Tensor{
		"sample": fn.Sample(logits, 1, -1).OneHot(3, tensor.F64, 1, 0), "hard": fn.GumbelSoftmax(logits, 0.5, true, 1),
	} {
		got, err := one.Mean(0).Float64s()
		require.NoError(t, err)
		require.InDeltaSlice(t, p, got, 0.015, name)
	}
	ids, err := fn.Sample(logits.T(), 0, 0).Float64s()
	require.NoError(t, err)
	require.Len(t, ids, 20000)
	require.Equal(t, 1.0, ids[7])

	x := tensor.NewVar(tensor.From(d, []float32{1, 2, 3, 4}, 2, 2)).Tensor()
	for _, hard := range []bool{false, true} {
		y := fn.GumbelSoftmax(x, 0.7, hard, 0)
		sums, err := y.Sum(0).Float64s()
		require.NoError(t, err)
		require.InDeltaSlice(t, []float64{1, 1}, sums, 1e-6)
		g, err := y.Sqr().Backward()
		require.NoError(t, err)
		require.NoError(t, g.Of(x).Err())
	}
}

// Errors name the function, and what was wrong.
func TestErrors(t *testing.T) {
	d := open(t)
	x, n := tensor.Ones(d, tensor.F32, 2, 3), tensor.Ones(d, tensor.I32, 2, 4)
	one := tensor.Ones(d, tensor.F32, 2)
	bad := tensor.Fail("first", tensor.ErrArgument)
	for _, c := range []struct {
		y    *tensor.Tensor
		kind error
		text string
	}{
		{fn.Relu2(nil), tensor.ErrArgument, "relu2: invalid argument: operand 0 is a nil tensor (fn_test.go:"},
		{fn.HardSwish(n), tensor.ErrDType, "hard_swish: "},
		{fn.LogSigmoid(bad), tensor.ErrArgument, "first: "},
		{fn.Celu(x, 0), tensor.ErrArgument, "celu: invalid argument: alpha of 0"},
		{fn.Selu(n, 1, 1), tensor.ErrDType, "selu: "},
		{fn.Swiglu(x), tensor.ErrShape, "swiglu: shape mismatch: [2, 3] has no halves"},
		{fn.PRelu(x, one), tensor.ErrShape, "prelu: shape mismatch: a weight of [2] for [2, 3], want 1 or 3 numbers"},
		{fn.PRelu(x, one.Cast(tensor.F64)), tensor.ErrDTypeMismatch, "prelu: "},
		{fn.Activation{Kind: 99}.Apply(x), tensor.ErrArgument, "activation: invalid argument: kind 99"},
		{fn.Activation{}.Apply(nil), tensor.ErrArgument, "activation: "},
		{fn.GroupNorm(x, 2, nil, nil, 1e-5), tensor.ErrShape, "group_norm: shape mismatch: 2 groups of the channels of [2, 3]"},
		{fn.GroupNorm(one, 2, nil, nil, 1e-5), tensor.ErrRank, "group_norm: "},
		{fn.InstanceNorm(x, one, nil, 1e-5), tensor.ErrShape, "instance_norm: shape mismatch: a weight or bias of [2] for the channels of [2, 3]"},
		{fn.BatchNorm(x, one, one, nil, nil, 1e-5), tensor.ErrShape, "batch_norm: "},
		{fn.BatchNorm(x, nil, one, nil, nil, 1e-5), tensor.ErrArgument, "batch_norm: "},
		{fn.LocalResponseNorm(x, 0, 1, 1, 1), tensor.ErrArgument, "local_response_norm: "},
		{fn.Normalize(x, 2, 2, 0), tensor.ErrDim, "normalize: dimension out of range: 2 of [2, 3]"},
		{fn.Normalize(x, 0, 1, 0), tensor.ErrArgument, "normalize: "},
		{fn.CosineSimilarity(x, one, 0, 0), tensor.ErrDim, "cosine_similarity: "},
		{fn.PixelShuffle(x, 2), tensor.ErrRank, "pixel_shuffle: "},
		{fn.PixelShuffle(x.Unsqueeze(0), 2), tensor.ErrShape, "pixel_shuffle: shape mismatch: 1 channels of [1, 2, 3] are no multiple of 2²"},
		{fn.PixelUnshuffle(x.Unsqueeze(0), 2), tensor.ErrShape, "pixel_unshuffle: "},
		{fn.ChannelShuffle(x, 2), tensor.ErrShape, "channel_shuffle: "},
		{fn.Dropout(x, 1), tensor.ErrArgument, "dropout: invalid argument: probability 1"},
		{fn.GumbelSoftmax(x, 0, false, 1), tensor.ErrArgument, "gumbel_softmax: "},
		{fn.Sample(x, 1, 2), tensor.ErrDim, "sample: "},
	} {
		require.ErrorIs(t, c.y.Err(), c.kind, c.text)
		require.ErrorContains(t, c.y.Err(), c.text)
	}
	_, err := fn.Swiglu(tensor.NewVar(tensor.Ones(d, tensor.F32, 2)).Tensor()).BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	empty := tensor.Zeros(d, tensor.F32, 0, 4)
	for _, y := range []*tensor.Tensor{fn.Relu6(empty), fn.Swiglu(empty), fn.GroupNorm(empty, 2, nil, nil, 1e-5), fn.Dropout(empty, 0.5)} {
		require.NoError(t, y.Err())
		require.Zero(t, y.Count())
	}
}

func ExampleParseActivation() {
	act, err := fn.ParseActivation("gelu_pytorch_tanh")
	if err != nil {
		fmt.Println(err)
		return
	}
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %.3f\n", act, act.Apply(tensor.From(dev, []float32{-1, 0, 1})))
	// Output:
	// gelu_new [-0.159,  0.000,  0.841]
	// Tensor[[3], f32]
}

// Numbers of 16 bits are rounded once, and those of 64 bits are not divided by a float32.
func TestRoundOnce(t *testing.T) {
	d := open(t)
	ones := tensor.Ones(d, tensor.F64, 256)
	for _, dt := range []tensor.DType{tensor.F64, tensor.BF16} {
		most, err := fn.Dropout(ones.MulScalar(9).Cast(dt), 0.1).Max().Float64s()
		require.NoError(t, err)
		require.InDelta(t, 10, most[0], 1e-14)
	}
	x, w := tensor.Randn(d, tensor.BF16, 0, 1, 3, 4, 50), tensor.Rand(d, tensor.BF16, 1, 2, 4)
	wide := w.Cast(tensor.F32)
	want, err := fn.GroupNorm(x.Cast(tensor.F32), 2, wide, wide, 1e-5).Cast(tensor.BF16).Float64s()
	require.NoError(t, err)
	got, err := fn.GroupNorm(x, 2, w, w, 1e-5).Float64s()
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Dropout multiplies by factors that follow from the numbers of Rand, bit for bit, from operands of
// any layout, and so do its gradients and theirs.
func TestDropoutNumbers(t *testing.T) {
	d := open(t)
	for _, dt := range []tensor.DType{tensor.F64, tensor.F32, tensor.BF16, tensor.F16} {
		if !d.Supports(dt) {
			continue
		}
		for _, n := range []int{1, 2, 3, 4, 5, 9, 1030, 70000} {
			values := tensor.Randn(d, tensor.F32, 0, 3, 2, n).Cast(dt)
			for _, x := range []*tensor.Tensor{values, tensor.Stack(2, values, values.Neg()).GetOn(-1, 0)} {
				begin := d.RandomState()
				wide, p := dt.Compute(), 0.3
				by := 1 / (1 - p)
				if wide == tensor.F32 {
					by = float64(1 / (1 - float32(p)))
					p = float64(float32(p))
				}
				u := tensor.Rand(d, tensor.F32, 0, 1, 2, n).Cast(wide)
				factors := u.LtScalar(p).Where(u.ZerosLike(), u.FullLike(by))
				end := d.RandomState()
				d.SetRandomState(begin)
				v := tensor.NewVar(x).Tensor()
				y := fn.Dropout(v, 0.3)
				require.Equal(t, end, d.RandomState())
				requireBits(t, x.Cast(wide).Mul(factors).Cast(dt), y)
				seed := tensor.Randn(d, tensor.F32, 0, 1, 2, n).Cast(dt)
				g, err := y.BackwardBy(tensor.BackwardOptions{Seed: seed, Graph: true})
				require.NoError(t, err)
				requireBits(t, seed.Cast(wide).Mul(factors).Cast(dt), g.Of(v))
			}
		}
	}
	x := tensor.NewVar(tensor.Ones(d, tensor.F64, 64)).Tensor()
	y := fn.Dropout(x, 0.5)
	g, err := y.Sqr().BackwardBy(tensor.BackwardOptions{Graph: true})
	require.NoError(t, err)
	h, err := g.Of(x).Sum().Backward() // of the gradient 2f²x
	require.NoError(t, err)
	requireBits(t, y.Detach().Sqr().MulScalar(2), h.Of(x))
	d.SetSeed(3)
	want := fn.Dropout(x, 0.5).Detach()
	again := fn.Dropout(x, 0.5).Detach()
	var z, dz *tensor.Tensor
	graph, err := d.Capture(func() error {
		z = fn.Dropout(x, 0.5)
		g, err := z.Backward() // of ones: the factors
		dz = g.Of(x)
		return err
	})
	require.NoError(t, err)
	d.SetSeed(3)
	for _, want := range []*tensor.Tensor{want, again} {
		require.NoError(t, graph.Launch())
		requireBits(t, want, z.Detach())
		requireBits(t, want, dz)
	}
}

// requireBits compares the bits of tensors.
func requireBits(t *testing.T, want, got *tensor.Tensor) {
	t.Helper()
	a, err := want.Bytes()
	require.NoError(t, err)
	b, err := got.Bytes()
	require.NoError(t, err)
	require.Equal(t, want.DType(), got.DType())
	require.True(t, string(a) == string(b), "the bits of %v differ", want.Shape())
}

func BenchmarkDropout(b *testing.B) {
	d, err := tensor.Open("auto")
	require.NoError(b, err)
	x := tensor.NewVar(tensor.Ones(d, tensor.F32, 1024, 1024)).Tensor()
	b.SetBytes(int64(4 * x.Count()))
	for b.Loop() {
		y := fn.Dropout(x, 0.1)
		_, err := y.BackwardWith(x.Detach())
		require.NoError(b, err)
		require.NoError(b, d.Synchronize())
	}
}

// Gradients of gradients of activations are those of the formulas, and first gradients are the same
// where they are to have some.
func TestSecondGradients(t *testing.T) {
	d := open(t)
	half := func(x *tensor.Tensor, f func(a *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
		return f(x.Narrow(-1, 0, 8)).Mul(x.Narrow(-1, 8, 8))
	}
	for name, c := range map[string]struct {
		f, formula func(x *tensor.Tensor) *tensor.Tensor
	}{
		"relu2":        {fn.Relu2, func(x *tensor.Tensor) *tensor.Tensor { return x.Relu().Sqr() }},
		"relu6":        {fn.Relu6, func(x *tensor.Tensor) *tensor.Tensor { return x.Clamp(0, 6) }},
		"hard_sigmoid": {fn.HardSigmoid, func(x *tensor.Tensor) *tensor.Tensor { return x.AddScalar(3).Clamp(0, 6).DivScalar(6) }},
		"hard_swish": {fn.HardSwish, func(x *tensor.Tensor) *tensor.Tensor {
			return x.Mul(x.AddScalar(3).Clamp(0, 6).DivScalar(6))
		}},
		"softsign":    {fn.Softsign, func(x *tensor.Tensor) *tensor.Tensor { return x.Div(x.Abs().AddScalar(1)) }},
		"log_sigmoid": {fn.LogSigmoid, func(x *tensor.Tensor) *tensor.Tensor { return x.Neg().Softplus().Neg() }},
		"quick_gelu":  {fn.QuickGelu, func(x *tensor.Tensor) *tensor.Tensor { return x.Mul(x.MulScalar(1.702).Sigmoid()) }},
		"swiglu":      {fn.Swiglu, func(x *tensor.Tensor) *tensor.Tensor { return half(x, (*tensor.Tensor).Silu) }},
		"geglu":       {fn.GeGLU, func(x *tensor.Tensor) *tensor.Tensor { return half(x, (*tensor.Tensor).GeluErf) }},
		"reglu":       {fn.ReGLU, func(x *tensor.Tensor) *tensor.Tensor { return half(x, (*tensor.Tensor).Relu) }},
	} {
		x := tensor.NewVar(tensor.Randn(d, tensor.F64, 0, 4, 5, 16)).Tensor()
		var list [2][]float64
		for i, f := range []func(x *tensor.Tensor) *tensor.Tensor{c.f, c.formula} {
			once, err := f(x).Sqr().Backward()
			require.NoError(t, err, name)
			first, err := f(x).Sqr().BackwardBy(tensor.BackwardOptions{Graph: true})
			require.NoError(t, err, name)
			a, err := once.Of(x).Float64s()
			require.NoError(t, err, name)
			b, err := first.Of(x).Float64s()
			require.NoError(t, err, name)
			require.InDeltaSlice(t, a, b, 1e-10, name)
			second, err := first.Of(x).Sqr().Sum().Backward()
			require.NoError(t, err, name)
			list[i], err = second.Of(x).Float64s()
			require.NoError(t, err, name)
		}
		for i, want := range list[1] {
			require.InDelta(t, want, list[0][i], 1e-9*(1+math.Abs(want)), "%s at %d", name, i)
		}
	}
}

// Gradients at infinities are the limits of the slopes, which 0 times infinity hides.
func TestGradientsAtInfinities(t *testing.T) {
	d := open(t)
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		f       func(x *tensor.Tensor) *tensor.Tensor
		x, want []float64
	}{
		"quick_gelu": {fn.QuickGelu, []float64{-inf, inf}, []float64{0, 2}},
		"swiglu":     {fn.Swiglu, []float64{-inf, 3, inf, 3, inf, -3, 1e38, 3}, []float64{0, 0, 6, inf, -6, inf, 6, 2e38}},
		"geglu":      {fn.GeGLU, []float64{-inf, 3, inf, 3, inf, -3, -1e38, 3}, []float64{0, 0, 6, inf, -6, inf, 0, 0}},
	} {
		for _, dt := range []tensor.DType{tensor.F32, tensor.F64, tensor.BF16} {
			for _, graph := range []bool{false, true} {
				x := tensor.NewVar(tensor.From(d, c.x, len(c.x)/2, 2).Cast(dt)).Tensor()
				y := c.f(x)
				grads, err := y.BackwardBy(tensor.BackwardOptions{Seed: y.OnesLike().MulScalar(2), Graph: graph})
				require.NoError(t, err)
				got, err := grads.Of(x).Float64s()
				require.NoError(t, err)
				for i, want := range c.want {
					text := []any{"%s of %s at %d of %v, graph %v", name, dt, i, c.x, graph}
					if math.IsInf(want, 0) {
						require.Equal(t, want, got[i], text...)
					} else {
						require.InDelta(t, want, got[i], 5e-3*math.Abs(want), text...)
					}
				}
			}
		}
	}
}

// Gradients that are to have some have the numbers of others at infinities and far from 0 too.
func TestGradientsFarOut(t *testing.T) {
	d := open(t)
	inf := math.Inf(1)
	far := []float64{-inf, -1e3, -3, 0, 3, 1e3, inf}
	var halves, seeds []float64 // every two of these, and as many gradients
	for _, a := range far {
		for _, b := range far {
			halves, seeds = append(halves, a, b), append(seeds, 2)
		}
	}
	for name, f := range map[string]func(x *tensor.Tensor) *tensor.Tensor{
		"relu2": fn.Relu2, "relu6": fn.Relu6, "hard_sigmoid": fn.HardSigmoid, "hard_swish": fn.HardSwish,
		"softsign": fn.Softsign, "log_sigmoid": fn.LogSigmoid, "quick_gelu": fn.QuickGelu,
		"swiglu": fn.Swiglu, "geglu": fn.GeGLU, "reglu": fn.ReGLU,
	} {
		for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
			for _, seed := range []float64{2, inf} {
				x := tensor.NewVar(tensor.From(d, halves, len(seeds), 2).Cast(dt)).Tensor()
				y := f(x)
				g := y.OnesLike().MulScalar(seed)
				var list [2][]float64
				for i, graph := range []bool{false, true} {
					grads, err := y.BackwardBy(tensor.BackwardOptions{Seed: g, Graph: graph})
					require.NoError(t, err, name)
					list[i], err = grads.Of(x).Float64s()
					require.NoError(t, err, name)
				}
				for i, want := range list[0] {
					got, text := list[1][i], []any{"%s of %s at %d of %v: %v", name, dt, i % 2, halves[i&^1 : i&^1+2], seed}
					if math.IsNaN(want) || math.IsInf(want, 0) {
						require.Equal(t, math.IsNaN(want), math.IsNaN(got), text...)
						require.True(t, math.IsNaN(want) || want == got, text...)
						continue
					}
					require.InDelta(t, want, got, 1e-4*(1+math.Abs(want)), text...)
				}
			}
		}
	}
}
