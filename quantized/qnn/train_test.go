package qnn_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor"
)

// adapted is a network of blocks with adapters, whose numbers are those of seed.
func adapted(t *testing.T, d *tensor.Device, o nn.LoRAOptions, seed uint64) *nn.Sequential {
	t.Helper()
	net := nn.NewSequential(nn.NewLinear(32, 64), nn.NewSwiGLU(64, 32), nn.NewLinear(64, 3))
	d.SetSeed(seed)
	require.NoError(t, nn.Init(net, nn.On{Device: d}))
	n, err := nn.Quantize(net, matrices(format.Q4_0))
	require.NoError(t, err)
	require.Equal(t, 5, n)
	n, err = nn.Adapt(net, o, nil)
	require.NoError(t, err)
	require.Equal(t, 5, n)
	require.NoError(t, nn.Init(net, nn.On{Device: d}))
	return net
}

// TestTrain fits adapters over blocks (QLoRA), with the gradients of a network whose weights are
// the same numbers as tensors, and leaves the blocks as they are.
func TestTrain(t *testing.T) {
	onCPU(t, func(t *testing.T, d *tensor.Device) {
		for _, o := range []nn.LoRAOptions{{Rank: 4, Alpha: 8}, {Rank: 4, DoRA: true}} {
			net, dense := adapted(t, d, o, 1), adapted(t, d, o, 1)
			n, err := nn.Dequantize(dense, 0)
			require.NoError(t, err)
			require.Equal(t, 5, n)
			before := blocks(t, net)

			vars, err := nn.Trainable(net)
			require.NoError(t, err)
			adapters, err := nn.Adapters(net)
			require.NoError(t, err)
			require.Len(t, vars, len(adapters))
			opt := optim.NewAdamW(vars, optim.AdamW{LR: 0.02})
			x, target := tensor.Randn(d, tensor.F32, 0, 1, 12, 32), tensor.Randn(d, tensor.F32, 0, 1, 12, 3)
			of := func(m *nn.Sequential) *tensor.Tensor {
				return loss.MSE(m.Forward(x), target, loss.Options{})
			}
			first := values(t, of(net))[0]
			for step := range 12 {
				g, err := of(net).Backward()
				require.NoError(t, err)
				if step == 0 {
					sameGradients(t, net, dense, g, of(dense))
				}
				require.NoError(t, opt.Step(g))
			}
			require.Less(t, values(t, of(net))[0], first/2)
			require.Equal(t, before, blocks(t, net))

			path := filepath.Join(t.TempDir(), "adapter.safetensors")
			require.NoError(t, nn.Save(path, adapters, nil))
			require.ErrorContains(t, nn.Save(path, net, nil), "0.weight is quantized")
			require.ErrorContains(t, nn.Merge(net, false), "0.weight is quantized")
			want := net.Forward(x)
			_, err = nn.Dequantize(net, 0)
			require.NoError(t, err)
			require.NoError(t, nn.Merge(net, false))
			near(t, want, net.Forward(x), eightBits, "merged")
		}
	})
}

// blocks are the bytes of the quantized parameters of a network.
func blocks(t *testing.T, m any) map[string][]byte {
	t.Helper()
	list, err := nn.List(m)
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, p := range list {
		if q, ok := p.Quantized().(*quantized.Tensor); ok {
			out[p.Name], err = q.Bytes()
			require.NoError(t, err)
		}
	}
	require.Len(t, out, 5)
	return out
}

// sameGradients compares gradients of adapters with those of a network of tensors, whose activations are
// not rounded, within a part of the largest of each adapter.
func sameGradients(t *testing.T, net, dense any, g *tensor.Gradients, of *tensor.Tensor) {
	t.Helper()
	h, err := of.Backward()
	require.NoError(t, err)
	a, err := nn.Adapters(net)
	require.NoError(t, err)
	b, err := nn.Adapters(dense)
	require.NoError(t, err)
	for name, p := range a {
		want := h.Of(b[name].Tensor())
		most := values(t, want.Abs().Max())[0]
		near(t, want, g.Of(p.Tensor()), 1e-5+eightBits*most, name)
	}
}

func TestMistakes(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	q := quantized.Quantize(tensor.Zeros(d, tensor.F32, 2, 32), format.Q4_0)
	p := nn.NewLinearNoBias(32, 2).Weight
	require.Nil(t, p.Quantized())
	require.ErrorIs(t, p.SetQuantized(nil, 0), tensor.ErrArgument)
	require.ErrorIs(t, p.SetQuantized(q, tensor.I32), tensor.ErrDType)
	other := quantized.Quantize(tensor.Zeros(d, tensor.F32, 3, 32), format.Q4_0)
	require.ErrorIs(t, p.SetQuantized(other, 0), tensor.ErrShape)
	bad := quantized.FromBytes(d, format.Q4_0, nil, 1)
	require.ErrorIs(t, p.SetQuantized(bad, 0), format.ErrSize)
	require.False(t, p.HasValue())
	require.NoError(t, p.SetQuantized(q, 0))
	require.True(t, p.HasValue())

	interp, err := tensor.Open("cpu:interp")
	require.NoError(t, err)
	l := newQuantized(t, d)
	require.NoError(t, l.Weight.SetQuantized(struct{ nn.Quantized }{l.Weight.Quantized()}, 0))
	err = nn.Move(l, nn.On{Device: interp})
	require.ErrorIs(t, err, tensor.ErrDevice)
	require.ErrorContains(t, err, "weight: ")
	require.ErrorContains(t, err, "which cannot be moved: load it on cpu:interp")
	_, err = nn.Quantize(nn.NewLinear(33, 2), inBlocks)
	require.ErrorIs(t, err, nn.ErrNoValue)
	odd := nn.NewLinear(33, 2)
	require.NoError(t, nn.Init(odd, nn.On{Device: d}))
	_, err = nn.Quantize(odd, inBlocks)
	require.ErrorIs(t, err, format.ErrSize)
	require.ErrorContains(t, err, "weight")
	require.NotNil(t, odd.Weight.Var(), "it stays as it was")

	f, _ := written(t, d)
	_, err = qnn.File(f.Set).Quantized(d, "none", nn.Shard{})
	require.Error(t, err)
	plain, err := qnn.File(f.Set).Quantized(d, "attn_norm.weight", nn.Shard{})
	require.NoError(t, err)
	require.True(t, plain == nil, "no nil of a type")
	require.True(t, errors.Is(quantized.Load(d, nil).Err(), tensor.ErrArgument))
	e, err := f.Set.Get("attn_norm.weight")
	require.NoError(t, err)
	require.ErrorIs(t, quantized.Load(d, e).Err(), format.ErrType)
	wrong := nn.NewLinear(64, 8)
	_, err = nn.Load(wrong, qnn.File(f.Set), nn.LoadOptions{On: nn.On{Device: d}, Prefix: "output"})
	require.ErrorIs(t, err, tensor.ErrShape)
	require.ErrorContains(t, err, `load weight from "output.weight"`)
}

// Quantized parameters move to another device as they are, of every type that is one.
func TestMove(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	interp, err := tensor.Open("cpu:interp")
	require.NoError(t, err)
	for name, of := range map[string]func(string, *tensor.Tensor) nn.Quantized{
		"blocks": inBlocks,
		"nf4": func(name string, w *tensor.Tensor) nn.Quantized {
			if name != "weight" {
				return nil
			}
			return checkpoint.QuantizeNF4(w, 64, true)
		},
	} {
		l := nn.NewLinear(64, 7)
		require.NoError(t, nn.Init(l, nn.On{Device: d}))
		_, err := nn.Quantize(l, of)
		require.NoError(t, err)
		x := tensor.Randn(d, tensor.F32, 0, 1, 3, 64)
		want := values(t, l.Forward(x))
		before := l.Weight.Quantized()
		require.NoError(t, nn.Move(l, nn.On{Device: d, DType: tensor.F16}))
		require.True(t, before == l.Weight.Quantized(), "it is there already")
		require.NoError(t, nn.Move(l, nn.On{Device: interp}))
		require.Equal(t, interp, l.Weight.Quantized().Device(), name)
		require.IsType(t, before, l.Weight.Quantized())
		require.Equal(t, tensor.F16, l.Weight.Tensor().DType(), "the type stays")
		got := l.Forward(x.To(interp))
		require.Equal(t, interp, got.Device())
		for i, v := range values(t, got) {
			require.InDelta(t, want[i], v, 2e-2, name) // the bias is in F16
		}
	}
}
