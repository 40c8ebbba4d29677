package train

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/data"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

// The network of testdata/gen.py.
const (
	batchSize, contextSize = 8, 32
	dim, heads, layers     = 64, 4, 2
)

type gpt struct {
	Token, Position *nn.Embedding
	Blocks          []*gptBlock
	Norm            *nn.LayerNorm
	Head            *nn.Linear
}

type gptBlock struct {
	Norm1     *nn.LayerNorm `nn:"norm1"`
	QKV, Proj *nn.Linear
	Norm2     *nn.LayerNorm `nn:"norm2"`
	Up, Down  *nn.Linear
}

func newGPT(vocabulary int) *gpt {
	g := &gpt{
		Token: nn.NewEmbedding(vocabulary, dim), Position: nn.NewEmbedding(contextSize, dim),
		Norm: nn.NewLayerNorm(dim), Head: nn.NewLinearNoBias(dim, vocabulary),
	}
	for range layers {
		g.Blocks = append(g.Blocks, &gptBlock{
			Norm1: nn.NewLayerNorm(dim), QKV: nn.NewLinear(dim, 3*dim), Proj: nn.NewLinear(dim, dim),
			Norm2: nn.NewLayerNorm(dim), Up: nn.NewLinear(dim, 4*dim), Down: nn.NewLinear(4*dim, dim),
		})
	}
	return g
}

func (g *gpt) forward(ids *tensor.Tensor) *tensor.Tensor {
	x := g.Token.Forward(ids).Add(g.Position.Weight.Tensor())
	for _, b := range g.Blocks {
		x = x.Add(b.attend(b.Norm1.Forward(x)))
		x = x.Add(b.Down.Forward(b.Up.Forward(b.Norm2.Forward(x)).Gelu()))
	}
	return g.Head.Forward(g.Norm.Forward(x))
}

func (b *gptBlock) attend(x *tensor.Tensor) *tensor.Tensor {
	qkv := b.QKV.Forward(x).Reshape(-1, contextSize, 3, heads, dim/heads).Permute(2, 0, 3, 1, 4)
	y := attention.SDPA(qkv.Get(0), qkv.Get(1), qkv.Get(2), attention.Options{Causal: true})
	return b.Proj.Forward(y.Transpose(1, 2).Reshape(-1, contextSize, dim))
}

// begin gives the parameters the values of gen.py: hashes of names and indices.
func begin(t *testing.T, g *gpt, dev *tensor.Device) {
	list, err := nn.List(g)
	require.NoError(t, err)
	for _, p := range list {
		values := make([]float32, p.Count())
		for i := range values {
			switch {
			case len(p.Shape()) == 2:
				values[i] = float32((float64(hash(p.Name, i))/(1<<31) - 1) * 0.035)
			case strings.Contains(p.Name, "norm") && strings.HasSuffix(p.Name, "weight"):
				values[i] = 1
			}
		}
		require.NoError(t, p.Set(tensor.From(dev, values, p.Shape()...)))
	}
}

// hash is the finaliser of MurmurHash3.
func hash(name string, i int) uint32 {
	h := uint32(i)*2654435761 + crc32.ChecksumIEEE([]byte(name))
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// text is the file LICENSE as tokens, and how many different ones there are.
func text(t *testing.T) ([]uint8, int) {
	tokens, err := os.ReadFile("../../LICENSE")
	require.NoError(t, err)
	vocabulary := slices.Compact(slices.Sorted(slices.Values(tokens)))
	for i, b := range tokens {
		at, _ := slices.BinarySearch(vocabulary, b)
		tokens[i] = uint8(at)
	}
	return tokens, len(vocabulary)
}

// windows is the batches of gen.py.
func windows(t *testing.T, tokens []uint8, steps int, dev *tensor.Device) *data.Loader[[]uint8, data.Pair] {
	all, err := data.NewWindows(tokens, contextSize, 1)
	require.NoError(t, err)
	var starts []int
	for i := range steps * batchSize {
		starts = append(starts, i*37%(len(tokens)-contextSize))
	}
	set, err := data.Subset(all, starts)
	require.NoError(t, err)
	loader, err := data.NewLoader(set, data.NextToken[uint8](dev), data.Options{Batch: batchSize})
	require.NoError(t, err)
	return loader
}

// A GPT learns here as in PyTorch: of the same first values and batches, the loss of each of the first
// fifty steps is that of PyTorch within 1e-4, and the last one of two hundred within 0.5 %. By default
// there are sixty.
func TestPyTorch(t *testing.T) {
	var golden struct{ Losses []float64 }
	raw, err := os.ReadFile("testdata/gpt.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &golden))
	steps := 60
	if tooltest.Sweeps() {
		steps = len(golden.Losses)
	}
	dev := device(t)
	tokens, vocabulary := text(t)
	g := newGPT(vocabulary)
	begin(t, g, dev)
	losses := learn(t, g, windows(t, tokens, steps, dev))
	require.Len(t, losses, steps)
	worst := 0.0
	for i, l := range losses {
		want := golden.Losses[i]
		if off := max(l-want, want-l) / want; i < 50 {
			worst = max(worst, off)
			require.Less(t, off, 1e-4, "step %d: %v, PyTorch has %v", i, l, want)
		} else if i == steps-1 {
			require.Less(t, off, 0.005, "step %d: %v, PyTorch has %v", i, l, want)
			t.Logf("loss %v at the last step, %.2g from PyTorch; at most %.2g in the first fifty", l, off, worst)
		}
	}
}

// learn trains for an epoch and returns the losses.
func learn(t *testing.T, g *gpt, loader *data.Loader[[]uint8, data.Pair]) (losses []float64) {
	params, err := nn.Trainable(g)
	require.NoError(t, err)
	opt := optim.NewAdamW(params, optim.AdamW{LR: 1e-3, WeightDecay: 0.01})
	for b, err := range loader.Epoch(context.Background()) {
		require.NoError(t, err)
		l := loss.CrossEntropy(g.forward(b.X).Flatten(0, 1), b.Y.FlattenAll(), loss.CrossEntropyOptions{})
		grads, err := l.Backward()
		require.NoError(t, err)
		_, err = opt.StepClipped(grads, 1)
		require.NoError(t, err)
		x, err := tensor.To0[float32](l)
		require.NoError(t, err, fmt.Sprint(len(losses)))
		losses = append(losses, float64(x))
	}
	return losses
}
