package main

import (
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

// GPT gives each position of a text the scores of the characters that may come next.
type GPT struct {
	Token, Position *nn.Embedding
	Blocks          []*Block
	Norm            *nn.LayerNorm
}

// Block lets positions look at those before them, and then thinks about what it saw.
type Block struct {
	AttnNorm  *nn.LayerNorm
	QKV, Proj *nn.Linear
	MLPNorm   *nn.LayerNorm
	Up, Down  *nn.Linear
	heads     int
}

// NewGPT returns a network for a vocabulary, of layers that are dim wide.
func NewGPT(vocabulary, context, dim, heads, layers int) *GPT {
	g := &GPT{Token: nn.NewEmbedding(vocabulary, dim), Position: nn.NewEmbedding(context, dim), Norm: nn.NewLayerNorm(dim)}
	small := nn.Normal(0, 0.02)
	g.Token.Weight = nn.NewParam(small, vocabulary, dim)
	g.Position.Weight = nn.NewParam(small, context, dim)
	for range layers {
		g.Blocks = append(g.Blocks, &Block{
			AttnNorm: nn.NewLayerNorm(dim), QKV: nn.NewLinear(dim, 3*dim), Proj: nn.NewLinear(dim, dim),
			MLPNorm: nn.NewLayerNorm(dim), Up: nn.NewLinear(dim, 4*dim), Down: nn.NewLinear(4*dim, dim),
			heads: heads,
		})
	}
	return g
}

// Forward takes characters, (batch, time), and returns scores, (batch, time, vocabulary). The
// weight of the last product is that of the embedding.
func (g *GPT) Forward(ids *tensor.Tensor) *tensor.Tensor {
	_, time, err := ids.Dims2()
	if err != nil {
		return tensor.Fail("gpt", err)
	}
	x := g.Token.Forward(ids).Add(g.Position.Weight.Tensor().Narrow(0, 0, time))
	y := g.norm(0).Forward(x)
	for i, b := range g.Blocks {
		y, x = b.MLPNorm.ForwardResidual(b.attend(y), x) // the norm of the sum, and the sum
		y, x = g.norm(i+1).ForwardResidual(b.Down.Forward(b.Up.Forward(y).Gelu()), x)
	}
	return g.Token.Unembed(y)
}

// norm is in front of block i, or behind the last one.
func (g *GPT) norm(i int) *nn.LayerNorm {
	if i == len(g.Blocks) {
		return g.Norm
	}
	return g.Blocks[i].AttnNorm
}

func (b *Block) attend(x *tensor.Tensor) *tensor.Tensor {
	batch, time, dim, err := x.Dims3()
	if err != nil {
		return tensor.Fail("attention", err)
	}
	qkv := b.QKV.Forward(x).Reshape(batch, time, 3, b.heads, dim/b.heads).Permute(2, 0, 3, 1, 4)
	y := attention.SDPA(qkv.Get(0), qkv.Get(1), qkv.Get(2), attention.Options{Causal: true})
	return b.Proj.Forward(y.Transpose(1, 2).Reshape(batch, time, dim))
}
