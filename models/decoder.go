package models

import (
	"cmp"
	"fmt"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/fn"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/tensor"
)

// Decoder is the network of Llama (Touvron et al., 2023) and of what is like it, encoders among
// them, whose tokens attend to all of their sequence. Its parameters have the names of Llama's files.
type Decoder struct {
	Embed     *nn.Embedding `nn:"model.embed_tokens"`
	Positions *nn.Embedding `nn:"model.embed_positions"` // learned ones (GPT-2), or nil
	Segments  *nn.Embedding `nn:"model.embed_segments"`  // of first and second texts (BERT), or nil
	EmbedNorm norm          `nn:"model.embed_norm"`      // or nil
	EmbedProj *nn.Linear    `nn:"model.embed_proj"`      // of embeddings of another width, or nil
	Relative  *Relative     `nn:"model.relative"`        // (DeBERTa), or nil
	Conv      *neighbours   `nn:"model.conv"`            // beside the first layer (DeBERTa), or nil
	Layers    []*Block      `nn:"model.layers"`
	Norm      norm          `nn:"model.norm"` // or nil
	Head      *nn.Linear    `nn:"lm_head"`    // nil: that of the embedding

	config *Config      `nn:"-"`
	traits traits       `nn:"-"`
	ropes  []*ropeTable `nn:"-"`
}

// norm is a layer that normalises the features of tokens.
type norm interface {
	nn.Layer
	// ForwardResidual adds two inputs, and returns the norm of the sum and the sum.
	ForwardResidual(x, residual *tensor.Tensor) (y, sum *tensor.Tensor)
}

// Block is a layer of a [Decoder]: attention and a feed-forward network, each with norms before it
// or behind it.
type Block struct {
	InputNorm norm     `nn:"input_layernorm"`
	Attn      mixer    `nn:"self_attn"`
	AttnPost  norm     `nn:"attn_post_norm"`           // of what attention adds, or nil
	MLPNorm   norm     `nn:"post_attention_layernorm"` // nil: the input's, or none
	MLP       nn.Layer `nn:"mlp"`                      // or nil
	Mix       mixer    `nn:"channel_mix"`              // a feed-forward network of several tokens, or nil
	MLPPost   norm     `nn:"mlp_post_norm"`            // of what the feed-forward network adds, or nil

	parallel bool    // both have the same input
	scale    float64 // of what both add, 0 for 1
	sumNorm  bool    // AttnPost and MLPPost are norms of sums: x + attention, x + feed-forward
}

// mixer is the part of a layer in which tokens meet: attention, or what is in its place.
type mixer interface {
	// forward returns (tokens, features) of (tokens, features) for layer i of a batch.
	forward(x *tensor.Tensor, b *batch, i int) *tensor.Tensor
	newState(m *LM) layerState
}

// newDecoder returns a network without weights.
func newDecoder(c *Config, t traits) (*Decoder, error) {
	width := cmp.Or(t.embedWidth, c.HiddenSize)
	d := &Decoder{config: c, traits: t, Embed: nn.NewEmbedding(c.VocabSize, width)}
	if t.learnedPositions {
		d.Positions = nn.NewEmbedding(c.MaxPositions, width)
	}
	if t.segments > 0 {
		d.Segments = nn.NewEmbedding(t.segments, width)
	}
	if t.embedNorm {
		d.EmbedNorm = t.newNorm(c, width)
	}
	if width != c.HiddenSize || t.sharedLayers {
		d.EmbedProj = linear(width, c.HiddenSize, true)
	}
	if t.relative != nil {
		d.Relative = newRelative(c, &t)
	}
	if t.convWidth > 0 {
		d.Conv = newNeighbours(c, &t)
	}
	if !t.noLastNorm {
		d.Norm = t.newNorm(c, c.HiddenSize)
	}
	if c.TieEmbedding == nil || !*c.TieEmbedding {
		d.Head = linear(c.HiddenSize, c.VocabSize, t.headBias)
	}
	for i := range c.Layers {
		if t.sharedLayers && i > 0 {
			d.Layers = append(d.Layers, d.Layers[0])
			continue
		}
		b, err := newBlock(c, &t, i)
		if err != nil {
			return nil, err
		}
		d.Layers = append(d.Layers, b)
	}
	for _, r := range t.ropes {
		table := &ropeTable{dim: c.RotaryDim, rope: r}
		if _, _, err := table.rope.scaling.Frequencies(table.dim, 1, r.theta); err != nil {
			return nil, fmt.Errorf("models: %w: %w", ErrConfig, err)
		}
		d.ropes = append(d.ropes, table)
	}
	return d, nil
}

// newBlock returns layer i.
func newBlock(c *Config, t *traits, i int) (b *Block, err error) {
	b = &Block{parallel: t.parallel, scale: c.ResidualScale, sumNorm: t.sumNorm}
	if t.mixer != nil {
		b.Attn = t.mixer(i)
	}
	if err := c.checkAttention(); err != nil && b.Attn == nil {
		return nil, err
	}
	switch {
	case b.Attn != nil:
	case t.latent != nil:
		b.Attn = newLatentAttention(c, t)
	default:
		b.Attn = newAttention(c, t, i)
	}
	if !t.noPreNorm && (i > 0 || !t.noFirstNorm) {
		b.InputNorm = t.newNorm(c, c.HiddenSize)
	}
	if !t.noPreNorm && !t.oneNorm && !t.noMLP {
		b.MLPNorm = t.newNorm(c, c.HiddenSize)
	}
	if t.postNorm || t.sumNorm {
		b.AttnPost, b.MLPPost = t.newNorm(c, c.HiddenSize), t.newNorm(c, c.HiddenSize)
	}
	switch {
	case t.channelMix:
		b.Mix = newChannelMix(c)
	case !t.noMLP:
		b.MLP, err = t.newMLP(c, i)
	}
	return b, err
}

// linear is a linear layer with or without bias.
func linear(in, out int, bias bool) *nn.Linear {
	l := nn.NewLinearNoBias(in, out)
	if bias {
		l.Bias = nn.NewParam(nn.Zeros, out)
	}
	return l
}

// hidden returns (tokens, features) behind the last norm, and what was fed is in the sequences.
func (d *Decoder) hidden(b *batch) *tensor.Tensor {
	x := d.Embed.Forward(b.ids)
	if s := d.config.EmbeddingScale; s != 0 && s != 1 {
		x = x.MulScalar(rounded(x, s))
	}
	if d.Positions != nil {
		x = x.Add(d.Positions.Forward(b.positions()))
	}
	if d.Segments != nil {
		x = x.Add(d.Segments.Forward(b.segments()))
	}
	if d.EmbedNorm != nil {
		x = d.EmbedNorm.Forward(x)
	}
	if d.EmbedProj != nil {
		x = d.EmbedProj.Forward(x)
	}
	b.rotate(d.ropes)
	b.distances = d.Relative.distances()
	var more *tensor.Tensor // what is still to be added to x
	for i, l := range d.Layers {
		in := x
		if x, more = l.forward(x, more, b, i); i == 0 && d.Conv != nil {
			x = d.Conv.forward(in, x, b)
		}
	}
	y, _ := normSum(d.Norm, x, more)
	return y
}

// rounded is a factor in the type of x, as the reference library has it in a tensor.
func rounded(x *tensor.Tensor, s float64) float64 {
	if x.Err() != nil {
		return s
	}
	return dtype.FromFloat(x.DType(), s).Float()
}

// logits returns scores of all tokens in float32, (n, vocab) of (n, features).
func (d *Decoder) logits(h *tensor.Tensor) *tensor.Tensor {
	var y *tensor.Tensor
	if d.Head != nil {
		y = d.Head.Forward(h)
	} else {
		y = d.Embed.Unembed(h)
	}
	y = y.Cast(tensor.F32)
	if s := d.config.LogitScale; s != 0 && s != 1 {
		y = y.DivScalar(s)
	}
	if s := d.config.LogitSoftCap; s != 0 {
		y = y.DivScalar(s).Tanh().MulScalar(s)
	}
	return y
}

// forward adds the layer to x + more. It returns the sum, and what is still to be added to it.
func (l *Block) forward(x, more *tensor.Tensor, b *batch, i int) (sum, rest *tensor.Tensor) {
	h, x := normSum(l.InputNorm, x, more)
	if l.sumNorm {
		x, _ = normSum(l.AttnPost, x, l.Attn.forward(h, b, i))
		x, _ = normSum(l.MLPPost, x, l.MLP.Forward(x))
		return x, nil
	}
	a := l.scaled(after(l.AttnPost, l.Attn.forward(h, b, i)))
	if l.parallel {
		if l.MLPNorm != nil {
			h = l.MLPNorm.Forward(x)
		}
		return x.Add(a), l.scaled(after(l.MLPPost, l.feed(h, b, i)))
	}
	if l.MLP == nil && l.Mix == nil {
		return x, a
	}
	h, x = normSum(l.MLPNorm, x, a)
	return x, l.scaled(after(l.MLPPost, l.feed(h, b, i)))
}

// feed is the feed-forward network.
func (l *Block) feed(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	if l.Mix != nil {
		return l.Mix.forward(x, b, i)
	}
	return l.MLP.Forward(x)
}

// scaled is what a layer adds, times the layer's factor.
func (l *Block) scaled(x *tensor.Tensor) *tensor.Tensor {
	if l.scale == 0 || l.scale == 1 {
		return x
	}
	return x.MulScalar(l.scale)
}

// normSum returns the norm of x + more, and this sum. The norm may be nil for none, and more if
// there is nothing to add.
func normSum(n norm, x, more *tensor.Tensor) (y, sum *tensor.Tensor) {
	switch {
	case more == nil && n == nil:
		return x, x
	case more == nil:
		return n.Forward(x), x
	case n == nil:
		sum = x.Add(more)
		return sum, sum
	}
	return n.ForwardResidual(more, x)
}

// after is x behind a norm that may be nil.
func after(n norm, x *tensor.Tensor) *tensor.Tensor {
	if n == nil {
		return x
	}
	return n.Forward(x)
}

// plainMLP is down(act(up(x))).
type plainMLP struct {
	Up   *nn.Linear `nn:"up_proj"`
	Down *nn.Linear `nn:"down_proj"`
	act  fn.Activation
}

// Forward returns (…, features) of (…, features).
func (m *plainMLP) Forward(x *tensor.Tensor) *tensor.Tensor {
	return m.Down.Forward(m.act.Apply(m.Up.Forward(x)))
}

func newPlainMLP(c *Config, t *traits, act fn.Activation, width int) *plainMLP {
	return &plainMLP{
		Up:   linear(c.HiddenSize, width, t.mlpBias),
		Down: linear(width, c.HiddenSize, t.mlpBias), act: act,
	}
}

// newMLP returns the feed-forward network of layer i.
func (t *traits) newMLP(c *Config, i int) (nn.Layer, error) {
	if c.Experts > 0 && (t.moe == nil || t.moe(i)) {
		return t.newMoE(c)
	}
	if c.Width < 1 {
		return nil, fmt.Errorf("models: %w: intermediate_size is %d", ErrConfig, c.Width)
	}
	if t.plainMLP {
		return newPlainMLP(c, t, c.Act, c.Width), nil
	}
	return t.newGated(c, c.Width)
}

// newGated returns a gated feed-forward network.
func (t *traits) newGated(c *Config, width int) (*nn.GatedMLP, error) {
	act, err := c.activation()
	return &nn.GatedMLP{
		GateProj: linear(c.HiddenSize, width, t.mlpBias),
		UpProj:   linear(c.HiddenSize, width, t.mlpBias),
		DownProj: linear(width, c.HiddenSize, t.mlpBias || t.downBias), Act: act,
	}, err
}

// newMoE returns a mixture of experts.
func (t *traits) newMoE(c *Config) (nn.Layer, error) {
	act, err := c.activation()
	if err != nil {
		return nil, err
	}
	if c.ExpertsUsed < 1 || c.ExpertsUsed > c.Experts {
		return nil, fmt.Errorf("models: %w: %d of %d experts", ErrConfig, c.ExpertsUsed, c.Experts)
	}
	o := t.routing
	o.TopK, o.Act = c.ExpertsUsed, act
	width := cmp.Or(c.ExpertWidth, c.Width)
	m := nn.NewMoE(c.HiddenSize, width, c.Experts, o)
	if t.moeBias {
		m.Gate = linear(c.HiddenSize, c.Experts, true)
		m.GateBias = nn.NewParam(nn.Zeros, c.Experts, width)
		m.UpBias = nn.NewParam(nn.Zeros, c.Experts, width)
		m.DownBias = nn.NewParam(nn.Zeros, c.Experts, c.HiddenSize)
	}
	if c.SharedWidth == 0 {
		return m, nil
	}
	shared, err := t.newGated(c, c.SharedWidth)
	if err != nil {
		return nil, err
	}
	m.Shared = shared
	if t.sharedGate {
		m.Shared = &gatedExpert{GatedMLP: shared, Gate: linear(c.HiddenSize, 1, false)}
	}
	return m, nil
}

// gatedExpert is an expert for all tokens, times a factor for each.
type gatedExpert struct {
	*nn.GatedMLP `nn:",inline"`
	Gate         *nn.Linear `nn:"gate"`
}

// Forward returns (tokens, features) of (tokens, features).
func (g *gatedExpert) Forward(x *tensor.Tensor) *tensor.Tensor {
	return g.GatedMLP.Forward(x).Mul(g.Gate.Forward(x).Sigmoid())
}
