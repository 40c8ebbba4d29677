package qnn_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/checkpoint"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// TestCheckpoint loads a network of weights in NF4 and FP8, computes as with the same weights
// dequantized, and trains adapters over them.
func TestCheckpoint(t *testing.T) {
	onCPU(t, func(t *testing.T, d *tensor.Device) {
		net := nn.NewSequential(nn.NewLinear(32, 64), nn.NewLinear(64, 32), nn.NewEmbedding(5, 32))
		require.NoError(t, nn.Init(net, nn.On{Device: d}))
		list, err := nn.List(net)
		require.NoError(t, err)
		var entries []*file.Entry
		for i, w := range []*checkpoint.Weight{
			checkpoint.QuantizeNF4(list[0].Tensor(), 64, true), nil,
			checkpoint.QuantizeFP8(list[2].Tensor(), 1, 64), nil,
			checkpoint.QuantizeNF4(list[4].Tensor(), 32, false),
		} {
			if w == nil {
				e, err := list[i].Tensor().Entry(list[i].Name)
				require.NoError(t, err)
				entries = append(entries, e)
				continue
			}
			more, err := w.Entries(list[i].Name[:1])
			require.NoError(t, err)
			entries = append(entries, more...)
		}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		require.NoError(t, safetensors.WriteFile(path, nil, entries...))
		set, err := safetensors.Open(path)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, set.Close()) })

		from := qnn.Checkpoint(set, checkpoint.Config{})
		require.Equal(t, []string{"0.bias", "0.weight", "1.bias", "1.weight", "2.weight"}, from.Names())
		o := nn.LoadOptions{On: nn.On{Device: d, DType: tensor.F32}}
		dense := nn.NewSequential(nn.NewLinear(32, 64), nn.NewLinear(64, 32), nn.NewEmbedding(5, 32))
		all := o
		all.Dequantize = func(string) bool { return true }
		_, err = nn.Load(dense, from, all)
		require.NoError(t, err)
		fresh := nn.NewSequential(nn.NewLinear(32, 64), nn.NewLinear(64, 32), nn.NewEmbedding(5, 32))
		_, err = nn.Load(fresh, from, o)
		require.NoError(t, err)
		require.IsType(t, &checkpoint.Weight{}, fresh.Layers[1].(*nn.Linear).Weight.Quantized())
		ids := tensor.From(d, []int32{4, 0, 4}, 3)
		require.Equal(t, values(t, dense.Layers[2].Forward(ids)), values(t, fresh.Layers[2].Forward(ids)))
		x := tensor.Randn(d, tensor.F32, 0, 1, 3, 32)
		forward := func(m *nn.Sequential) *tensor.Tensor {
			return m.Layers[1].Forward(m.Layers[0].Forward(x))
		}
		near(t, forward(dense), forward(fresh), 1e-4, "loaded")

		n, err := nn.Adapt(fresh, nn.LoRAOptions{Rank: 2}, nil)
		require.NoError(t, err)
		require.Equal(t, 2, n)
		require.NoError(t, nn.Init(fresh, nn.On{Device: d}))
		g, err := forward(fresh).Sqr().Sum().Backward()
		require.NoError(t, err)
		first := g.Of(fresh.Layers[0].(*nn.Linear).Adapter.B.Tensor())
		require.NotZero(t, values(t, first.Abs().Sum())[0], "through the second weight")

		o.Shard = func(string) nn.Shard { return nn.Shard{Count: 2} }
		o.Prefix = "0"
		_, err = nn.Load(nn.NewLinear(32, 32), from, o)
		require.ErrorIs(t, err, checkpoint.ErrUnsupported)
		none, err := from.Quantized(d, "0.bias", nn.Shard{})
		require.NoError(t, err)
		require.True(t, none == nil)
	})
}

// The tensors of GPTQ have names that no parameter has, and are no weight if one is missing.
func TestCheckpointNames(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	var entries []*file.Entry
	for _, name := range []string{
		"a.qweight", "a.qzeros", "a.g_idx", "a.bias", "b.scales", "b.weight", "qweight",
	} {
		e, err := tensor.Zeros(d, tensor.I32, 2, 2).Entry(name)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, safetensors.WriteFile(path, nil, entries...))
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	from := qnn.Checkpoint(set, checkpoint.Config{})
	require.Equal(t, []string{"a.bias", "a.weight", "b.scales", "b.weight", "weight"}, from.Names())
	_, err = from.Quantized(d, "a.weight", nn.Shard{})
	require.ErrorIs(t, err, checkpoint.ErrFormat)
	require.ErrorContains(t, err, `"a"`)
}

// TestPacked finds the tensors of packed integers and takes them for one weight.
func TestPacked(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	set := file.NewSet()
	for name, x := range map[string]*tensor.Tensor{
		"up.weight_packed": tensor.Zeros(d, tensor.I32, 8, 4), "up.weight_shape": tensor.From(d, []int64{8, 32}),
		"up.weight_scale": tensor.Ones(d, tensor.F16, 8, 1), "up.weight_zero_point": tensor.Zeros(d, tensor.I32, 1, 1),
		"up.weight_g_idx": tensor.Zeros(d, tensor.I32, 32), "up.bias": tensor.Zeros(d, tensor.F16, 8),
	} {
		e, err := x.Entry(name)
		require.NoError(t, err)
		require.NoError(t, set.Add(e))
	}
	from := qnn.Checkpoint(set, checkpoint.Config{})
	require.Equal(t, []string{"up.bias", "up.weight"}, from.Names())
	q, err := from.Quantized(d, "up.weight", nn.Shard{})
	require.NoError(t, err)
	require.Equal(t, tensor.Shape{8, 32}, q.Shape())
}
