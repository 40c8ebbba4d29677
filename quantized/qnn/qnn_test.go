package qnn_test

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/qnn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
)

// model is a network with each kind of layer that multiplies with blocks.
type model struct {
	Embed *nn.Embedding          `nn:"token_embd"`
	Norm  *nn.RMSNorm            `nn:"attn_norm"`
	Attn  *nn.MultiHeadAttention `nn:"attn"`
	MLP   *nn.GatedMLP           `nn:"ffn"`
	MoE   *nn.MoE                `nn:"moe"`
	Head  *nn.Linear             `nn:"output"`
}

func newModel() *model {
	return &model{
		nn.NewEmbedding(11, 64), nn.NewRMSNorm(1e-5, 64),
		nn.NewMultiHeadAttention(64, 2, nn.AttentionOptions{}), nn.NewSwiGLU(64, 96),
		nn.NewMoE(64, 32, 4, nn.MoEOptions{TopK: 2, Normalise: true}), nn.NewLinear(64, 7),
	}
}

func (m *model) Forward(ids *tensor.Tensor) *tensor.Tensor {
	x := m.Norm.Forward(m.Embed.Forward(ids))
	x = x.Add(m.Attn.Forward(x))
	x = x.Add(m.MLP.Forward(x))
	return m.Head.Forward(x.Add(m.MoE.Forward(x)))
}

// ofBlocks are the formats of the model's parameters.
func ofBlocks(name string, _ tensor.Shape) (format.Type, bool) {
	switch {
	case name == "token_embd.weight":
		return format.Q8_0, true
	case strings.Contains(name, "experts.down"):
		return format.Q5_1, true
	case strings.Contains(name, "norm"), strings.HasSuffix(name, "bias"), name == "moe.gate.weight":
		return 0, false
	}
	return format.Q4_0, true
}

func onCPU(t *testing.T, f func(t *testing.T, d *tensor.Device)) {
	for _, name := range []string{"cpu", "cpu:interp"} {
		t.Run(name, func(t *testing.T) {
			d, err := tensor.Open(name)
			require.NoError(t, err)
			d.SetSeed(5)
			f(t, d)
		})
	}
}

// written is a file with the tensors of a model in blocks, and the model.
func written(t *testing.T, d *tensor.Device) (*gguf.File, *model) {
	t.Helper()
	m := newModel()
	require.NoError(t, nn.Init(m, nn.On{Device: d}))
	list, err := nn.List(m)
	require.NoError(t, err)
	var entries []*file.Entry
	for _, p := range list {
		of, ok := ofBlocks(p.Name, nil)
		if !ok {
			e, err := p.Tensor().Entry(p.Name)
			require.NoError(t, err)
			entries = append(entries, e)
			continue
		}
		enc, err := gguf.Encoding(of)
		require.NoError(t, err)
		q := quantized.Quantize(p.Tensor(), of)
		e, err := file.FromBlocks(p.Name, enc, q.Shape(), q.Bytes)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	require.NoError(t, gguf.WriteFile(path, nil, entries...))
	f, err := gguf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f, m
}

func values(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := x.Float64s()
	require.NoError(t, err)
	return list
}

// eightBits is how far results may be apart of which one has activations of 8 bits where blocks are
// multiplied with few of them, of the largest result.
const eightBits = 2e-2

func near(t *testing.T, want, got *tensor.Tensor, within float64, what string) {
	t.Helper()
	a, b := values(t, want), values(t, got)
	require.Equal(t, want.Shape(), got.Shape(), what)
	most := 1.0
	for _, v := range a {
		most = max(most, math.Abs(v))
	}
	for i := range a {
		require.InDelta(t, a[i], b[i], within*most, "%s: element %d", what, i)
	}
}

// TestLoad loads a network of a file with its blocks and dequantized, and computes the same.
func TestLoad(t *testing.T) {
	onCPU(t, func(t *testing.T, d *tensor.Device) {
		f, first := written(t, d)
		blocks, dense := newModel(), newModel()
		o := nn.LoadOptions{On: nn.On{Device: d}}
		_, err := nn.Load(blocks, qnn.File(f.Set), o)
		require.NoError(t, err)
		o.Dequantize = func(string) bool { return true }
		_, err = nn.Load(dense, qnn.File(f.Set), o)
		require.NoError(t, err)

		list, err := nn.List(blocks)
		require.NoError(t, err)
		others, err := nn.List(dense)
		require.NoError(t, err)
		for i, p := range list {
			of, ok := ofBlocks(p.Name, nil)
			require.Nil(t, others[i].Quantized(), p.Name)
			require.Equal(t, ok, p.Quantized() != nil, p.Name)
			require.Equal(t, values(t, others[i].Tensor()), values(t, p.Tensor()), p.Name)
			if ok {
				require.Equal(t, of, p.Quantized().(*quantized.Tensor).Format(), p.Name)
				require.Nil(t, p.Var())
				require.True(t, p.IsFrozen())
			}
		}
		for _, tokens := range []int{3, 20} {
			list := make([]int32, 2*tokens)
			for i := range list {
				list[i] = int32(i % 11)
			}
			ids := tensor.From(d, list, 2, tokens)
			want := dense.Forward(ids)
			near(t, want, blocks.Forward(ids), eightBits, "blocks")
			near(t, first.Forward(ids), want, 0.5, "before")
		}
		ids := tensor.Arange[int32](d, 0, 10).Reshape(2, 5)
		require.Zero(t, dequantized(t, blocks, func() { blocks.Forward(ids) }))
		n, err := nn.Dequantize(blocks, 0)
		require.NoError(t, err)
		require.Equal(t, 10, n)
		ids = tensor.Arange[int32](d, 0, 10).Reshape(2, 5)
		require.Equal(t, values(t, dense.Forward(ids)), values(t, blocks.Forward(ids)))
	})
}

// counted counts how often numbers are dequantized.
type counted struct {
	*quantized.Tensor
	n *int
}

func (c counted) Dequantize(dt tensor.DType) *tensor.Tensor {
	*c.n++
	return c.Tensor.Dequantize(dt)
}

// dequantized is how often layers dequantize parameters of a network by themselves while f runs.
func dequantized(t *testing.T, m any, f func()) (n int) {
	t.Helper()
	list, err := nn.List(m)
	require.NoError(t, err)
	for _, p := range list {
		if q, ok := p.Quantized().(*quantized.Tensor); ok {
			require.NoError(t, p.SetQuantized(counted{q, &n}, tensor.F32))
		}
	}
	f()
	return n
}

// Numbers have the type that is asked for where they are no blocks, and activations any.
func TestTypes(t *testing.T) {
	onCPU(t, func(t *testing.T, d *tensor.Device) {
		f, _ := written(t, d)
		m := newModel()
		for _, dt := range []tensor.DType{tensor.F16, tensor.BF16, tensor.F64} {
			m = newModel()
			_, err := nn.Load(m, qnn.File(f.Set), nn.LoadOptions{On: nn.On{Device: d, DType: dt}})
			require.NoError(t, err)
			ids := tensor.Arange[int32](d, 0, 10).Reshape(2, 5)
			require.Equal(t, dt, m.Embed.Forward(ids).DType())
			require.NotNil(t, m.Head.Weight.Quantized())
			require.Equal(t, dt, m.Head.Weight.Tensor().DType())
			require.Equal(t, dt, m.Norm.Weight.Tensor().DType())
			require.Equal(t, dt, m.Forward(ids).DType())
			x := tensor.Randn(d, tensor.F32, 0, 1, 4, 64)
			require.Equal(t, tensor.F32, m.Head.Forward(x).DType(), "the bias follows the activations")
		}
		require.NoError(t, nn.Move(m, nn.On{DType: tensor.BF16}))
		require.Equal(t, tensor.BF16, m.Head.Weight.Tensor().DType())
		require.NotNil(t, m.Head.Weight.Quantized())
		n, err := nn.Dequantize(m, tensor.F16)
		require.NoError(t, err)
		require.Equal(t, 10, n)
		require.Equal(t, tensor.F16, m.Head.Weight.Tensor().DType())
		text, err := nn.Summary(newQuantized(t, d))
		require.NoError(t, err)
		require.Contains(t, text, "quantized  448  frozen")
	})
}

// newQuantized is a linear layer of 64 to 7 features with blocks.
func newQuantized(t *testing.T, d *tensor.Device) *nn.Linear {
	t.Helper()
	l := nn.NewLinear(64, 7)
	require.NoError(t, nn.Init(l, nn.On{Device: d}))
	n, err := nn.Quantize(l, inBlocks)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = nn.Quantize(l, inBlocks)
	require.NoError(t, err)
	require.Zero(t, n, "it is in blocks already")
	vars, err := nn.Trainable(l)
	require.NoError(t, err)
	require.Equal(t, []*tensor.Var{l.Bias.Var()}, vars)
	return l
}

// inBlocks quantizes parameters as ofBlocks says.
func inBlocks(name string, w *tensor.Tensor) nn.Quantized {
	if of, ok := ofBlocks(name, w.Shape()); ok {
		return quantized.Quantize(w, of)
	}
	return nil
}

// matrices quantizes parameters of two dimensions.
func matrices(of format.Type) func(string, *tensor.Tensor) nn.Quantized {
	return func(_ string, w *tensor.Tensor) nn.Quantized {
		if w.Rank() != 2 {
			return nil
		}
		return quantized.Quantize(w, of)
	}
}

// Layers that don't know blocks compute with dequantized numbers: here projections of three inputs,
// and an embedding that is a head, too.
func TestOtherLayers(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	bag := nn.NewEmbeddingBag(11, 64, nn.BagSum)
	attn := nn.NewMultiHeadAttention(64, 2, nn.AttentionOptions{KeySize: 32})
	table := nn.NewEmbedding(11, 64)
	x, k := tensor.Randn(d, tensor.F32, 0, 1, 2, 3, 64), tensor.Randn(d, tensor.F32, 0, 1, 2, 3, 32)
	packed := nn.NewMultiHeadAttention(64, 2, nn.AttentionOptions{})
	ids := tensor.From(d, []int32{1, 10, 3}, 3)
	for name, c := range map[string]struct {
		net any
		f   func() *tensor.Tensor
	}{
		"bag": {bag, func() *tensor.Tensor { return bag.Forward(ids.Reshape(1, 3)) }},
		"attention": {attn, func() *tensor.Tensor {
			y, _ := attn.Attend(x, k, x, nn.Attend{})
			return y
		}},
		"packed": {packed, func() *tensor.Tensor {
			y, _ := packed.Attend(x, x.AddScalar(1), x, nn.Attend{})
			return y
		}},
		"tied":     {table, func() *tensor.Tensor { return table.Unembed(x) }},
		"embedded": {table, func() *tensor.Tensor { return table.Forward(ids) }},
	} {
		require.NoError(t, nn.Init(c.net, nn.On{Device: d}))
		_, err := nn.Quantize(c.net, matrices(format.Q8_0))
		require.NoError(t, err, name)
		got := c.f()
		n, err := nn.Dequantize(c.net, 0)
		require.NoError(t, err)
		require.Positive(t, n)
		near(t, c.f(), got, eightBits, name)
	}
}

func TestShards(t *testing.T) {
	d, err := tensor.Open("cpu")
	require.NoError(t, err)
	f, _ := written(t, d)
	whole, half := nn.NewEmbedding(11, 64), nn.NewMoE(64, 32, 2, nn.MoEOptions{TopK: 1})
	_, err = nn.Load(whole, qnn.File(f.Set), nn.LoadOptions{On: nn.On{Device: d}, Prefix: "token_embd"})
	require.NoError(t, err)
	o := nn.LoadOptions{On: nn.On{Device: d}, Prefix: "moe", Shard: func(string) nn.Shard {
		return nn.Shard{Rank: 1, Count: 2}
	}}
	_, err = nn.Load(half, qnn.File(f.Set), o)
	require.NoError(t, err)
	e, err := f.Set.Get("moe.experts.up_proj")
	require.NoError(t, err)
	all := quantized.Load(d, e).Dequantize(tensor.F32)
	require.Equal(t, values(t, all.Narrow(0, 2, 2)), values(t, half.UpProj.Tensor()))
	narrow := nn.NewEmbedding(11, 32)
	o = nn.LoadOptions{On: nn.On{Device: d}, Prefix: "token_embd", Shard: func(string) nn.Shard {
		return nn.Shard{Dim: 1, Count: 2}
	}}
	_, err = nn.Load(narrow, qnn.File(f.Set), o)
	require.ErrorContains(t, err, "whole blocks of Q8_0 that follow each other")
	o.Shard = func(string) nn.Shard { return nn.Shard{Count: 2} }
	_, err = nn.Load(narrow, qnn.File(f.Set), o)
	require.ErrorContains(t, err, "does not divide into 2 equal parts")
}

// Experts with biases, and with another function between their products than a gated unit's, are the
// same with blocks and with plain numbers.
func TestExpertsWithBiases(t *testing.T) {
	onCPU(t, func(t *testing.T, d *tensor.Device) {
		o := nn.MoEOptions{TopK: 2, Gated: func(gate, up *tensor.Tensor) *tensor.Tensor {
			return gate.Sigmoid().Mul(up.AddScalar(1))
		}}
		m := nn.NewMoE(64, 32, 4, o)
		bias := nn.Uniform(-1, 1)
		m.GateBias, m.UpBias = nn.NewParam(bias, 4, 32), nn.NewParam(bias, 4, 32)
		m.DownBias = nn.NewParam(bias, 4, 64)
		require.NoError(t, nn.Init(m, nn.On{Device: d}))
		n, err := nn.Quantize(m, func(name string, w *tensor.Tensor) nn.Quantized {
			if w.Rank() != 3 {
				return nil
			}
			return quantized.Quantize(w, format.Q8_0)
		})
		require.NoError(t, err)
		require.Equal(t, 3, n)
		x := tensor.Randn(d, tensor.F32, 0, 1, 5, 64)
		got := m.Forward(x)
		n, err = nn.Dequantize(m, 0)
		require.NoError(t, err)
		require.Equal(t, 3, n)
		want := m.Forward(x)
		near(t, want, got, eightBits, "biases")

		// One expert by one, without sorting.
		r := m.Route(x)
		ids, err := tensor.ToSlice[int64](r.IDs.Cast(tensor.I64))
		require.NoError(t, err)
		var rows []*tensor.Tensor
		for i := range 5 {
			sum := tensor.Zeros(d, tensor.F32, 1, 64)
			for j := range 2 {
				e, row := int(ids[2*i+j]), x.Narrow(0, i, 1)
				of := func(w, b *nn.Param, x *tensor.Tensor) *tensor.Tensor {
					return x.MatMul(w.Tensor().Get(e).T()).Add(b.Tensor().Get(e))
				}
				h := o.Gated(of(m.GateProj, m.GateBias, row), of(m.UpProj, m.UpBias, row))
				y := of(m.DownProj, m.DownBias, h)
				sum = sum.Add(y.Mul(r.Weights.Narrow(0, i, 1).Narrow(1, j, 1)))
			}
			rows = append(rows, sum)
		}
		near(t, tensor.Cat(0, rows...), want, 1e-5, "one by one")
	})
}
