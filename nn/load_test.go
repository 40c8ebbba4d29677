package nn_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func TestShards(t *testing.T) {
	d := open(t)
	whole := &nn.Linear{Weight: nn.ParamOf(tensor.Arange[float32](d, 0, 24).Reshape(4, 6))}
	path := filepath.Join(t.TempDir(), "l.safetensors")
	require.NoError(t, nn.Save(path, whole, nil))
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, set.Close()) })
	state, err := nn.State(whole)
	require.NoError(t, err)
	for _, from := range []nn.Source{nn.File(set), state} {
		for dim := range 2 {
			for rank := range 2 {
				part := nn.NewLinearNoBias(6, 2)
				if dim == 1 {
					part = nn.NewLinearNoBias(3, 4)
				}
				shard := func(string) nn.Shard { return nn.Shard{Dim: dim, Rank: rank, Count: 2} }
				_, err := nn.Load(part, from, nn.LoadOptions{On: nn.On{Device: d}, Shard: shard})
				require.NoError(t, err)
				n := part.Weight.Shape()[dim]
				requireSame(t, whole.Weight.Tensor().Narrow(dim, rank*n, n), part.Weight.Tensor())
			}
		}
		for _, c := range []struct {
			shard nn.Shard
			kind  error
			says  string
		}{
			{nn.Shard{Dim: 0, Rank: 0, Count: 3}, tensor.ErrShape, "dimension 0 does not divide into 3 equal parts"},
			{nn.Shard{Dim: 2, Rank: 0, Count: 2}, tensor.ErrDim, "along dimension 2"},
			{nn.Shard{Dim: 0, Rank: 2, Count: 2}, tensor.ErrRange, "part 2 of 2"},
		} {
			_, err := nn.Load(nn.NewLinearNoBias(6, 2), from, nn.LoadOptions{On: nn.On{Device: d}, Shard: func(string) nn.Shard { return c.shard }})
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, err, `"weight"`)
		}
	}
}

// Weights of a GGUF file are found by their names there, and converted to the type that is asked for.
func TestLoadGGUF(t *testing.T) {
	d := open(t)
	path := filepath.Join(t.TempDir(), "m.gguf")
	w := tensor.Arange[float32](d, 0, 64).Reshape(2, 32)
	plain, err := w.Cast(tensor.BF16).Entry("blk.0.ffn_up.weight")
	require.NoError(t, err)
	enc, err := gguf.Encoding(format.Q8_0)
	require.NoError(t, err)
	q, err := file.FromBlocks("output.weight", enc, w.Shape(), func() ([]byte, error) { return make([]byte, 68), nil })
	require.NoError(t, err)
	require.NoError(t, gguf.WriteFile(path, nil, plain, q))
	f, err := gguf.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	l := nn.NewLinearNoBias(32, 2)
	o := nn.LoadOptions{On: nn.On{Device: d, DType: tensor.F32}, Prefix: "blk.0.ffn_up"}
	_, err = nn.Load(l, nn.File(f.Set), o)
	require.NoError(t, err)
	requireSame(t, w, l.Weight.Tensor())
	o.Prefix = "output"
	_, err = nn.Load(l, nn.File(f.Set), o)
	require.ErrorContains(t, err, "Q8_0 is a quantized type")
	requireSame(t, w, l.Weight.Tensor())
}

func TestReplace(t *testing.T) {
	f, err := nn.Replace([2]string{`^blocks\.(\d+)`, "h.$1"}, [2]string{`in_proj`, "c_attn"})
	require.NoError(t, err)
	require.Equal(t, "h.12.c_attn.weight", f("blocks.12.in_proj.weight"))
	require.Equal(t, "my.blocks.1", f("my.blocks.1"))
	_, err = nn.Replace([2]string{"(", ""})
	require.ErrorIs(t, err, tensor.ErrArgument)
}

func TestMoveAndSummary(t *testing.T) {
	d := open(t)
	n := newNet()
	require.NoError(t, nn.Init(n, nn.On{Device: d}))
	before := n.Embed.Weight.Tensor()
	require.NoError(t, nn.Move(n, nn.On{DType: tensor.F64}))
	requireSame(t, before.Cast(tensor.F64), n.Embed.Weight.Tensor())
	require.Same(t, n.Embed.Weight, n.Head.Weight)
	require.Equal(t, tensor.F64, n.Scale.Tensor().DType())
	vars, err := nn.Trainable(n)
	require.NoError(t, err)
	require.Len(t, vars, 8)
	require.NoError(t, nn.SetFrozen(n.Blocks[0], true))
	text, err := nn.Summary(n)
	require.NoError(t, err)
	require.Equal(t, `wte.weight               [5, 4]  f64  20  also head.weight
blocks.0.in_proj.weight  [3, 4]  f64  12  frozen
blocks.0.in_proj.bias    [3]     f64  3   frozen
blocks.0.qkv.weight      [6, 3]  f64  18  frozen
blocks.1.in_proj.weight  [3, 4]  f64  12
blocks.1.in_proj.bias    [3]     f64  3
more.a.weight            [2, 2]  f64  4
more.b.weight            [2, 2]  f64  4
scale                    [3]     f64  3   buffer
parameters                            76
`, text)
}
