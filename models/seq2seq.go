package models

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/tensor"
)

// Seq2Seq is the network of Vaswani et al., "Attention is all you need" (2017), and of what is like
// it, from sequences to sequences: an encoder, and a decoder whose layers attend to what the
// encoder returns, too. Its parameters have the names of BART's files (Lewis et al., 2019).
type Seq2Seq struct {
	Shared  *nn.Embedding `nn:"model.shared"` // nil: encoder and decoder have their own
	Encoder *Stack        `nn:"model.encoder"`
	Decoder *Stack        `nn:"model.decoder"` // nil if there is only an encoder
	Head    *nn.Linear    `nn:"lm_head"`       // nil: that of the decoder's embedding
	Bias    *nn.Param     `nn:"final_logits_bias"`

	config *Config `nn:"-"`
}

// Stack is the layers of an encoder or a decoder.
type Stack struct {
	Embed     *nn.Embedding `nn:"embed_tokens"`    // nil: the shared one
	Positions *nn.Embedding `nn:"embed_positions"` // learned ones, or nil
	EmbedNorm norm          `nn:"layernorm_embedding"`
	Layers    []*StackLayer `nn:"layers"`
	Norm      norm          `nn:"layer_norm"` // behind the last layer, or nil

	config *Config    `nn:"-"`
	waves  *sinusoids `nn:"-"` // in place of learned positions, or nil
}

// StackLayer is a layer of a [Stack]: attention, in a decoder attention to the encoder, and a
// feed-forward network, each with a norm before it, or behind the sum.
type StackLayer struct {
	Attn      *Attention `nn:"self_attn"`
	AttnNorm  norm       `nn:"self_attn_layer_norm"`
	Cross     *Attention `nn:"encoder_attn"` // or nil
	CrossNorm norm       `nn:"encoder_attn_layer_norm"`
	MLP       nn.Layer   `nn:"mlp"`
	MLPNorm   norm       `nn:"final_layer_norm"`

	behind bool // norms are behind the sums
}

// crossing is what a model from sequences to sequences has besides its [traits].
type crossing struct {
	behind      bool // norms are behind the sums
	finalNorm   bool // of the encoder and the decoder
	own         bool // embeddings are not shared
	encoderOnly bool
	logitsBias  bool
	sourceVocab int // of the encoder, 0 for that of the decoder

	sinusoidal bool
	offset     int // of the first position in the table of sinusoids
	divisor    int // of the exponents of their frequencies

	relative    bool // positions are relative, by buckets (T5)
	buckets     int
	maxDistance int
	eachLayer   bool // each layer has buckets of its own, not only the first

	encoderHeads, decoderHeads   int // where they differ from the configuration's
	encoderWidth, decoderWidth   int
	encoderLayers, decoderLayers int
}

// newSeq2Seq returns a network without weights.
func newSeq2Seq(c *Config, t traits) (*Seq2Seq, error) {
	x := t.crossing
	if err := x.check(c); err != nil {
		return nil, fmt.Errorf("models: %w: %w", ErrConfig, err)
	}
	n := &Seq2Seq{config: c}
	vocab := cmp.Or(x.sourceVocab, c.VocabSize)
	if !x.own {
		n.Shared = nn.NewEmbedding(vocab, c.HiddenSize)
	}
	part, err := c.part(x.encoderLayers, x.encoderHeads, x.encoderWidth), error(nil)
	if n.Encoder, err = newStack(part, &t, true); err != nil {
		return nil, err
	}
	if x.own {
		n.Encoder.Embed = nn.NewEmbedding(vocab, c.HiddenSize)
	}
	if x.encoderOnly {
		return n, nil
	}
	part = c.part(x.decoderLayers, x.decoderHeads, x.decoderWidth)
	if n.Decoder, err = newStack(part, &t, false); err != nil {
		return nil, err
	}
	if x.own {
		n.Decoder.Embed = nn.NewEmbedding(c.VocabSize, c.HiddenSize)
	}
	if c.TieEmbedding == nil || !*c.TieEmbedding {
		n.Head = linear(c.HiddenSize, c.VocabSize, t.headBias)
	}
	if x.logitsBias {
		n.Bias = nn.NewParam(nn.Zeros, 1, c.VocabSize)
	}
	return n, nil
}

// check reports numbers without which there is no network.
func (x *crossing) check(c *Config) error {
	switch {
	case x.relative && (x.buckets < 4 || x.maxDistance <= x.buckets/2):
		return fmt.Errorf("relative_attention_num_buckets is %d, relative_attention_max_distance %d",
			x.buckets, x.maxDistance)
	case x.sinusoidal && (c.HiddenSize%2 != 0 || x.divisor < 1):
		return fmt.Errorf("hidden_size is %d, which is odd or 2", c.HiddenSize)
	}
	for name, n := range map[string]int{
		"encoder_attention_heads": x.encoderHeads, "decoder_attention_heads": x.decoderHeads,
	} {
		if n < 0 || n > 0 && c.HiddenSize%n != 0 {
			return fmt.Errorf("%s is %d for %d features", name, n, c.HiddenSize)
		}
	}
	for name, n := range map[string]int{
		"encoder_layers": x.encoderLayers, "encoder_ffn_dim": x.encoderWidth,
		"decoder_layers": x.decoderLayers, "decoder_ffn_dim": x.decoderWidth,
	} {
		if n < 0 || n > limit {
			return fmt.Errorf("%s is %d", name, n)
		}
	}
	return nil
}

// part is the configuration of the encoder or the decoder; 0 is what the whole has.
func (c *Config) part(layers, heads, width int) *Config {
	p := *c
	p.Layers, p.Width = cmp.Or(layers, c.Layers), cmp.Or(width, c.Width)
	if heads > 0 && heads != c.Heads {
		p.Heads, p.KVHeads, p.HeadDim = heads, heads, c.HiddenSize/heads
	}
	return &p
}

// newStack returns an encoder or a decoder.
func newStack(c *Config, t *traits, encodes bool) (*Stack, error) {
	if err := c.checkAttention(); err != nil {
		return nil, err
	}
	x, all := t.crossing, *t
	all.bidirectional = true
	own := t
	if encodes {
		own = &all
	}
	s := &Stack{config: c}
	switch {
	case x.sinusoidal:
		s.waves = &sinusoids{features: c.HiddenSize, offset: x.offset, divisor: x.divisor}
	case t.learnedPositions:
		s.Positions = nn.NewEmbedding(c.MaxPositions, c.HiddenSize)
	}
	if t.embedNorm {
		s.EmbedNorm = t.newNorm(c, c.HiddenSize)
	}
	if x.finalNorm {
		s.Norm = t.newNorm(c, c.HiddenSize)
	}
	for i := range c.Layers {
		l := &StackLayer{behind: x.behind}
		l.Attn, l.AttnNorm = newAttention(c, own, i), t.newNorm(c, c.HiddenSize)
		switch {
		case x.relative && (i == 0 || x.eachLayer):
			l.Attn.buckets = newBuckets(x.buckets, x.maxDistance, c.Heads, encodes)
			l.Attn.Buckets = l.Attn.buckets.of
		case x.relative:
			l.Attn.buckets = s.Layers[0].Attn.buckets
		}
		if !encodes {
			l.Cross, l.CrossNorm = newAttention(c, &all, i), t.newNorm(c, c.HiddenSize)
		}
		var err error
		if l.MLP, err = t.newMLP(c, i); err != nil {
			return nil, err
		}
		l.MLPNorm = t.newNorm(c, c.HiddenSize)
		s.Layers = append(s.Layers, l)
	}
	return s, nil
}

// forward returns (tokens, features) of a batch.
func (s *Stack) forward(b *batch, shared *nn.Embedding) *tensor.Tensor {
	if err := s.fits(b); err != nil {
		return tensor.Fail("models: step", err)
	}
	embed := shared
	if s.Embed != nil {
		embed = s.Embed
	}
	x := embed.Forward(b.ids)
	if f := s.config.EmbeddingScale; f != 0 && f != 1 {
		x = x.MulScalar(f)
	}
	if s.Positions != nil {
		x = x.Add(s.Positions.Forward(b.positions()))
	}
	if s.waves != nil {
		x = x.Add(s.waves.of(b).Cast(x.DType()))
	}
	if s.EmbedNorm != nil {
		x = s.EmbedNorm.Forward(x)
	}
	var more *tensor.Tensor // what is still to be added to x
	for i, l := range s.Layers {
		x, more = l.forward(x, more, b, i)
	}
	if more == nil && s.Norm == nil {
		return x
	}
	y, _ := normSum(s.Norm, x, more)
	return y
}

// fits reports sequences that are longer than the table of positions.
func (s *Stack) fits(b *batch) error {
	for i, q := range b.list {
		if n := q.n + b.count(i); s.Positions != nil && n > s.config.MaxPositions {
			return fmt.Errorf("%w %d: %w: %d tokens, and the model has positions for %d",
				ErrSequence, i, tensor.ErrRange, n, s.config.MaxPositions)
		}
	}
	return nil
}

// forward adds the layer to x + more. It returns the sum, and what is still to be added to it.
func (l *StackLayer) forward(
	x, more *tensor.Tensor, b *batch, i int,
) (sum, rest *tensor.Tensor) {
	add := func(n norm, f func(h *tensor.Tensor) *tensor.Tensor) {
		if l.behind {
			x, _ = n.ForwardResidual(f(x), x)
			return
		}
		var h *tensor.Tensor
		h, x = normSum(n, x, more)
		more = f(h)
	}
	add(l.AttnNorm, func(h *tensor.Tensor) *tensor.Tensor { return l.Attn.forward(h, b, i) })
	if l.Cross != nil {
		add(l.CrossNorm, func(h *tensor.Tensor) *tensor.Tensor { return l.Cross.cross(h, b, i) })
	}
	add(l.MLPNorm, l.MLP.Forward)
	return x, more
}

// cross is attention of tokens to what the encoder returned for the source of their sequence.
func (a *Attention) cross(x *tensor.Tensor, b *batch, i int) *tensor.Tensor {
	q := a.project(a.Q, nil, x, a.heads)
	source := b.list[0].source
	if !slices.ContainsFunc(b.list, func(s *Sequence) bool { return s.source != source }) {
		of := source.layers[i]
		return a.O.Forward(a.rows(attention.SDPA(q, of.keys, of.values, a.options)))
	}
	return a.O.Forward(b.each(func(n, at, count int) *tensor.Tensor {
		of := b.list[n].source.layers[i]
		return a.rows(attention.SDPA(q.Narrow(2, at, count), of.keys, of.values, a.options))
	}))
}

// rows returns (tokens, heads·size) of (1, heads, tokens, size).
func (a *Attention) rows(y *tensor.Tensor) *tensor.Tensor {
	if y.Err() != nil {
		return y
	}
	return y.Transpose(1, 2).Reshape(y.Size(2), a.heads*a.size)
}

// each returns what f returns for the rows of each sequence, one behind the other.
func (b *batch) each(f func(n, at, count int) *tensor.Tensor) *tensor.Tensor {
	parts := make([]*tensor.Tensor, len(b.list))
	for n := range b.list {
		parts[n] = f(n, b.starts[n], b.count(n))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(0, parts...)
}

// newState returns what a sequence keeps: keys and values of the decoder's layers. Those of the
// encoder are in its [Source].
func (n *Seq2Seq) newState(m *LM) []layerState {
	if n.Decoder == nil {
		return nil
	}
	out := make([]layerState, len(n.Decoder.Layers))
	for i, l := range n.Decoder.Layers {
		out[i] = l.Attn.newState(m)
	}
	return out
}

// hidden returns (tokens, features) behind the last norm, and what was fed is in the sequences.
func (n *Seq2Seq) hidden(b *batch) *tensor.Tensor {
	if n.Decoder == nil {
		err := fmt.Errorf("%w: the model is an encoder alone: see Encode", ErrSequence)
		return tensor.Fail("models: step", err)
	}
	for i, s := range b.list {
		if s.source == nil {
			return tensor.Fail("models: step", fmt.Errorf("%w %d: it has no source: "+
				"sequences of this model are made by what Encode returns", ErrSequence, i))
		}
	}
	return n.Decoder.forward(b, n.Shared)
}

// logits returns scores of all tokens in float32, (n, vocab) of (n, features).
func (n *Seq2Seq) logits(h *tensor.Tensor) *tensor.Tensor {
	var y *tensor.Tensor
	switch {
	case n.Head != nil:
		y = n.Head.Forward(h)
	case n.Decoder != nil && n.Decoder.Embed != nil:
		y = n.Decoder.Embed.Unembed(h)
	case n.Shared != nil:
		y = n.Shared.Unembed(h)
	default:
		return h
	}
	y = y.Cast(tensor.F32)
	if s := n.config.LogitScale; s != 0 && s != 1 {
		y = y.DivScalar(s)
	}
	if n.Bias != nil {
		y = y.Add(n.Bias.Tensor().Cast(tensor.F32))
	}
	return y
}

// Source is what the encoder returned for a sequence, and the keys and values that the layers of
// the decoder have of it. Sequences of a source share them. It is a model of package generate:
//
//	sources, err := lm.Encode([][]int32{ids})
//	g := &generate.Generator[*models.Sequence]{Model: sources[0], EOS: lm.Config.EOS}
//	beams, err := g.Beam(ctx, lm.Start(), generate.BeamOptions{Width: 4, MaxTokens: 100})
//
// Sequences of several sources are fed together by [LM.Step].
type Source struct {
	// Hidden is (ids, features), in the type of the model.
	Hidden *tensor.Tensor

	lm     *LM
	layers []struct{ keys, values *tensor.Tensor } // (1, heads, ids, size) of each layer
}

// Encode has the encoder read sequences of ids. A model without an encoder is an error of kind
// [ErrSequence].
func (m *LM) Encode(ids [][]int32) ([]*Source, error) {
	n, ok := m.Net.(*Seq2Seq)
	if !ok {
		return nil, fmt.Errorf("models: %w: %s has no encoder", ErrSequence, m.Config.ModelType)
	}
	list := make([]*Sequence, len(ids))
	for i := range list {
		list[i] = &Sequence{lm: m}
	}
	vocab := n.Encoder.Embed
	if vocab == nil {
		vocab = n.Shared
	}
	b, err := m.batchOf(list, ids, vocab.Weight.Shape()[0])
	if err == nil {
		err = b.upload()
	}
	if err != nil {
		return nil, fmt.Errorf("models: encode: %w", err)
	}
	h := n.Encoder.forward(b, n.Shared)
	out := make([]*Source, len(ids))
	for i := range out {
		out[i] = &Source{lm: m, Hidden: h.Narrow(0, b.starts[i], b.count(i))}
	}
	err = h.Err()
	if n.Decoder != nil {
		for _, l := range n.Decoder.Layers {
			err = cmp.Or(err, l.Cross.read(h, b, out))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("models: encode: %w", err)
	}
	return out, nil
}

// read computes keys and values for sources.
func (a *Attention) read(h *tensor.Tensor, b *batch, list []*Source) error {
	k, v := a.project(a.K, nil, h, a.kvHeads), a.project(a.V, nil, h, a.kvHeads)
	for i, s := range list {
		of := func(t *tensor.Tensor) *tensor.Tensor {
			return t.Narrow(2, b.starts[i], b.count(i)).Contiguous()
		}
		kv := struct{ keys, values *tensor.Tensor }{of(k), of(v)}
		if err := cmp.Or(kv.keys.Err(), kv.values.Err()); err != nil {
			return err
		}
		s.layers = append(s.layers, kv)
	}
	return nil
}

// NewSequence returns an empty sequence of tokens that the decoder writes for the source.
func (s *Source) NewSequence() *Sequence {
	q := s.lm.NewSequence()
	q.source = s
	return q
}

// Step is [LM.Step].
func (s *Source) Step(list []*Sequence, ids [][]int32) *tensor.Tensor {
	return s.lm.Step(list, ids)
}

// StepAll is [LM.StepAll].
func (s *Source) StepAll(q *Sequence, ids []int32) *tensor.Tensor { return s.lm.StepAll(q, ids) }

// Encodes reports whether the model has an encoder: see [LM.Encode].
func (m *LM) Encodes() bool {
	_, ok := m.Net.(*Seq2Seq)
	return ok
}

// Start is what sequences of the decoder of a model with an encoder begin with; of others it is the
// token that sequences begin with, if there is one.
func (m *LM) Start() []int32 {
	id := m.Config.BOS
	if m.Encodes() {
		id = m.Config.DecoderStart
	}
	if id < 0 {
		return nil
	}
	return []int32{id}
}

// sinusoids are positions by fixed frequencies (Vaswani et al., 2017): sines in front, cosines
// behind.
type sinusoids struct {
	features, offset, divisor int
	table                     *tensor.Tensor
	rows                      int
}

// of returns the rows of the positions of a batch.
func (w *sinusoids) of(b *batch) *tensor.Tensor {
	need := 0
	for i, s := range b.list {
		need = max(need, s.n+b.count(i))
	}
	if need > w.rows {
		w.rows = max(2*w.rows, (need+ropeStep-1)/ropeStep*ropeStep)
		half := w.features / 2
		out := make([]float32, w.rows*w.features)
		for p := range w.rows {
			for i := range half {
				angle := float64(p+w.offset) * math.Pow(10000, -float64(i)/float64(w.divisor))
				out[p*w.features+i] = float32(math.Sin(angle))
				out[p*w.features+half+i] = float32(math.Cos(angle))
			}
		}
		w.table = tensor.From(b.device, out, w.rows, w.features)
	}
	if len(b.list) == 1 {
		return w.table.Narrow(0, b.list[0].n, b.count(0))
	}
	return w.table.IndexSelect(b.positions(), 0)
}
