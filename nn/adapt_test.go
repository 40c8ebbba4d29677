package nn_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func init() {
	layers["weight_norm"] = func() model { return model{net: nn.NewWeightNorm(nn.NewLinear(3, 4))} }
	layers["weight_norm conv"] = func() model { return model{net: nn.NewWeightNorm(nn.NewConv1d(2, 3, 2, conv{}))} }
	layers["spectral_norm"] = func() model { return model{net: nn.NewSpectralNorm(nn.NewLinear(3, 4))} }
	layers["spectral_norm train"] = func() model { return model{net: nn.NewSpectralNorm(nn.NewLinearNoBias(3, 4))} }
	layers["spectral_norm conv train"] = func() model {
		n := nn.NewSpectralNorm(nn.NewConvTranspose1d(2, 3, 2, conv{}))
		n.Steps = 2
		return model{net: n}
	}
	layers["lora"] = func() model { return adapted(nn.LoRAOptions{Rank: 2, Alpha: 3}) }
	layers["dora"] = func() model { return adapted(nn.LoRAOptions{Rank: 2, Alpha: 4, DoRA: true}) }
}

// adapted is a linear layer with an adapter.
func adapted(o nn.LoRAOptions) model {
	l := nn.NewLinear(3, 4)
	if n, err := nn.Adapt(l, o, nil); err != nil || n != 1 {
		panic(err)
	}
	return model{net: l}
}

// TestAdapt: a network with adapters begins as it was, learns by them alone, is the same when they are
// merged, and has its weights back to the bit.
func TestAdapt(t *testing.T) {
	d := open(t)
	for _, o := range []nn.LoRAOptions{{Rank: 2}, {Rank: 2, Alpha: 8, RankRoot: true, Dropout: 0.5}, {Rank: 2, DoRA: true}} {
		net := ready2(t, d, nn.NewSequential(nn.NewLinear(3, 4), nn.NewSwiGLU(4, 6), nn.NewLinearNoBias(4, 2)))
		x := tensor.Randn(d, tensor.F32, 0, 1, 5, 3)
		before := net.Forward(x)
		n, err := nn.Adapt(net, o, func(name string) bool { return name != "2" })
		require.NoError(t, err)
		require.Equal(t, 4, n)
		ready2(t, d, net)
		requireNear(t, before, net.Forward(x), 1e-5)

		adapters, err := nn.Adapters(net)
		require.NoError(t, err)
		for name := range adapters {
			require.Contains(t, name, "lora_")
			require.False(t, strings.HasPrefix(name, "2."))
		}
		require.Contains(t, slices.Collect(maps.Keys(adapters)), "1.gate_proj.lora_B.weight")
		vars, err := nn.Trainable(net)
		require.NoError(t, err)
		require.Len(t, vars, len(adapters))
		for name, p := range adapters {
			if strings.Contains(name, "lora_B") {
				require.NoError(t, p.Set(tensor.Randn(d, tensor.F32, 0, 0.5, p.Shape()...)))
			}
		}
		apart, weight := net.Forward(x), net.Layers[0].(*nn.Linear).Weight.Tensor().Copy()

		path := filepath.Join(t.TempDir(), "adapter.safetensors")
		require.NoError(t, nn.Save(path, adapters, nil))
		set, err := safetensors.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, set.Close()) })
		require.Len(t, set.Names(), len(adapters))
		for _, p := range adapters {
			require.NoError(t, p.Set(p.Tensor().ZerosLike()))
		}
		_, err = nn.Load(adapters, nn.File(set), nn.LoadOptions{})
		require.NoError(t, err)
		requireNear(t, apart, net.Forward(x), 1e-6)

		require.NoError(t, nn.Merge(net, true))
		requireNear(t, apart, net.Forward(x), 1e-4)
		require.NoError(t, nn.Merge(net, true)) // nothing is left to do
		require.NoError(t, nn.Unmerge(net))
		requireSame(t, weight, net.Layers[0].(*nn.Linear).Weight.Tensor())
		requireSame(t, apart, net.Forward(x))
		require.NoError(t, nn.Merge(net, false))
		requireNear(t, apart, net.Forward(x), 1e-4)
		adapters, err = nn.Adapters(net)
		require.NoError(t, err)
		require.Empty(t, adapters)
	}
	_, err := nn.Adapt(nn.NewLinear(1, 1), nn.LoRAOptions{}, nil)
	require.ErrorIs(t, err, tensor.ErrArgument)
	l := nn.NewLinear(1, 1)
	_, err = nn.Adapt(l, nn.LoRAOptions{Rank: 1}, nil)
	require.NoError(t, err)
	require.ErrorIs(t, nn.Merge(l, true), nn.ErrNoValue)
}

// TestNormsOfWeights: weights begin with the length, or the largest singular value, that they are to have.
func TestNormsOfWeights(t *testing.T) {
	d := open(t)
	l := nn.NewLinear(5, 4)
	w := ready2(t, d, nn.NewWeightNorm(l))
	requireNear(t, l.Weight.Tensor(), w.Weight(), 1e-6)
	x := tensor.Randn(d, tensor.F32, 0, 1, 2, 5)
	plain, err := w.Plain()
	require.NoError(t, err)
	requireNear(t, w.Forward(x), plain.Forward(x), 1e-6)
	vars, err := nn.Trainable(plain)
	require.NoError(t, err)
	require.Len(t, vars, 2)

	s := nn.NewSpectralNorm(nn.NewConv2d(2, 3, 2, conv{}))
	require.ErrorIs(t, s.Forward(x).Err(), nn.ErrNoValue)
	ready2(t, d, s)
	require.NoError(t, nn.SetTraining(s, true))
	for range 50 {
		s.Weight()
	}
	m := s.Weight().Reshape(3, 8)
	gram := m.MatMul(m.T()) // its largest eigenvalue is 1
	v := tensor.Ones(d, tensor.F32, 3)
	for range 100 {
		v = gram.MV(v)
		v = v.Div(v.Norm())
	}
	requireNear(t, tensor.Ones(d, tensor.F32), v.Dot(gram.MV(v)), 1e-3)
	_, err = nn.NewWeightNorm(nn.NewLinear(1, 1)).Plain()
	require.ErrorIs(t, err, nn.ErrNoValue)
}

// TestAdaptEach adds adapters that are there already, and refuses those that fit no layer.
func TestAdaptEach(t *testing.T) {
	d := open(t)
	net := ready2(t, d, nn.NewSequential(nn.NewLinear(3, 4), nn.NewLinear(4, 2)))
	one := func(shape ...int) *nn.Param { return nn.ParamOf(tensor.Ones(d, tensor.F32, shape...)) }
	add := func(l *nn.LoRA) (int, error) {
		return nn.AdaptEach(net, func(name string, _ *nn.Linear) (*nn.LoRA, error) {
			if name != "0" {
				return nil, nil
			}
			return l, nil
		})
	}
	for _, l := range []*nn.LoRA{
		{A: one(2, 4), B: one(4, 2)}, {A: one(2, 3), B: one(3, 2)}, {A: one(2, 3), B: one(4, 1)}, {A: one(3), B: one(4, 2)},
		{A: one(2, 3), B: one(4, 2), Magnitude: one(3)},
	} {
		n, err := add(l)
		require.Zero(t, n)
		require.ErrorIs(t, err, tensor.ErrShape)
		require.ErrorContains(t, err, "nn: adapt 0: ")
	}
	x := tensor.Randn(d, tensor.F32, 0, 1, 5, 3)
	before := net.Layers[0].Forward(x)
	n, err := add(&nn.LoRA{A: one(2, 3), B: one(4, 2), Scale: 0.5})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	requireNear(t, before.Add(x.SumKeep(1)), net.Layers[0].Forward(x), 1e-5)
	n, err = add(&nn.LoRA{A: one(2, 9), B: one(9, 2)}) // it is adapted already
	require.NoError(t, err)
	require.Zero(t, n)
}
