package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// Encoder is a model that makes vectors of texts, or scores of texts and tokens: BERT and what
// followed it, and language models that are published for this. One goroutine uses it at a time.
type Encoder struct {
	Config    *Config
	Tokenizer *tokenizers.Tokenizer // nil if there is none beside the weights

	TokenizerErr error // why there is no tokenizer though there are files of one

	Net    *EncoderNet
	Task   Task     // what its head is for
	Labels []string // of classes, by number; nil if the configuration names none

	// Pooling makes one vector of the hidden states of a text, and Normalize divides it by its norm.
	Pooling   Pooling
	Normalize bool
	// Prompts are texts that belong in front of others, by names such as "query"; Prompt is the one
	// that [Encoder.Embed] puts there.
	Prompts map[string]string
	Prompt  string
	// MaxTokens is how many tokens of a text are taken, with special tokens; 0 for all.
	MaxTokens int

	Device *tensor.Device
	DType  tensor.DType // of weights that are in no blocks, and of what is between layers
	Report *nn.Report   // what did not fit when the weights were loaded

	lm    *LM
	row   *encoderRow
	plain bool // scores of pairs are what the head says
	lower bool // texts are in lower case
}

// EncoderNet is the network of an [Encoder].
type EncoderNet struct {
	*Decoder `nn:",inline"`

	Head  *Head    `nn:"head"`  // nil if there is none
	Dense []*Dense `nn:"dense"` // of pooled vectors, one behind the other
}

// OpenEncoder loads an encoder as [Open] does a language model, with the head that its
// configuration names. How hidden states are pooled is read from the files of the library
// sentence-transformers (modules.json), or from a GGUF file. Where nothing is said it is the mean
// of all tokens, and the last one of models whose tokens do not see those behind them.
func OpenEncoder(path string, o Options) (*Encoder, error) {
	s, err := findSentence(path)
	if err != nil {
		return nil, fmt.Errorf("models: open %s: %w", path, err)
	}
	p, err := find(s.weights)
	if err != nil {
		return nil, fmt.Errorf("models: open %s: %w", path, err)
	}
	defer p.set.Close()
	e, err := p.encoder(s, o)
	if err != nil {
		return nil, fmt.Errorf("models: open %s: %w", path, err)
	}
	return e, nil
}

// NewEncoder makes an encoder of a configuration with random weights, to be trained or measured.
func NewEncoder(c *Config, o Options) (*Encoder, error) {
	e, err := newEncoder(c, o, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	if err := nn.Init(e.Net, nn.On{Device: e.Device, DType: e.DType}); err != nil {
		return nil, err
	}
	return e, nn.SetFrozen(e.Net, true)
}

// newEncoder returns an encoder without weights. has reports whether there is a tensor whose name
// ends so.
func newEncoder(c *Config, o Options, has func(ending string) bool) (*Encoder, error) {
	row, err := encoderOf(c)
	if err != nil {
		return nil, err
	}
	lm, err := newLM(c, o)
	if err != nil {
		return nil, err
	}
	e := &Encoder{Config: c, Device: lm.Device, DType: lm.DType, Labels: labels(c),
		lm: lm, row: row, plain: plainScores(c)}
	t := row.traits(c)
	t.interleaved = t.interleaved || row.permuted && c.gguf
	if !t.bidirectional {
		e.Pooling = PoolLast
	}
	tied, yes := c.TieEmbedding == nil || *c.TieEmbedding, true
	c.TieEmbedding = &yes // the last layer is the head's
	built, err := row.build(c, t)
	if err != nil {
		return nil, err
	}
	d, ok := built.(*Decoder)
	if !ok {
		return nil, fmt.Errorf("models: %w: %s as an encoder: not supported", ErrConfig, c.ModelType)
	}
	e.MaxTokens = c.MaxPositions
	e.Net = &EncoderNet{Decoder: d}
	lm.Net = d
	e.Task, e.Net.Head, err = row.newHead(c, &t, tied, has)
	return e, err
}

// encoder makes the encoder of files.
func (p *published) encoder(s *sentence, o Options) (*Encoder, error) {
	names := p.from.Names()
	e, err := newEncoder(p.config, o, func(ending string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.HasSuffix(n, ending) })
	})
	if err != nil {
		return nil, err
	}
	a := e.row.architecture
	if e.Net.Head != nil {
		a.rename = append(e.Net.Head.rename(), a.rename...)
	}
	a.ignore = append(slices.Clone(a.ignore), headNames)
	p.traits = &e.Net.traits
	of, err := a.originOf(p.config, p.traits, names)
	if err != nil {
		return nil, err
	}
	if err := p.weights(e.lm, e.Net, &a, of, o); err != nil {
		return nil, err
	}
	e.Report = e.lm.Report
	if err := s.finish(e, p); err != nil {
		return nil, err
	}
	return e, p.tokens(e)
}

// tokens reads the tokenizer, which pads nothing.
func (p *published) tokens(e *Encoder) error {
	if err := p.tokenizer(e.lm); err != nil {
		return err
	}
	e.Tokenizer, e.TokenizerErr = e.lm.Tokenizer, e.lm.TokenizerErr
	if e.Tokenizer == nil {
		return nil
	}
	e.Tokenizer.Padding = nil
	return nil
}

// States is what an encoder makes of texts.
type States struct {
	Hidden *tensor.Tensor // (tokens, features), of all texts one behind the other
	Starts []int          // where each text begins among the tokens, and how many there are
}

// Encode returns the hidden states of texts as the tokenizer has them, of which the fields IDs,
// Mask and TypeIDs count; the last two may be nil. Texts of any lengths go together without padding,
// and tokens of padding are left out. An error is in what it returns.
func (e *Encoder) Encode(texts []*tokenizers.Encoding) *States {
	b, err := e.batch(texts)
	if err != nil {
		return &States{Hidden: tensor.Fail("models: encode", err)}
	}
	h := e.Net.hidden(b)
	for _, s := range b.list {
		s.Close()
	}
	return &States{Hidden: h, Starts: b.starts}
}

// batch packs texts.
func (e *Encoder) batch(texts []*tokenizers.Encoding) (*batch, error) {
	list, ids := make([]*Sequence, len(texts)), make([][]int32, len(texts))
	var kinds []int32
	for i, t := range texts {
		if t == nil {
			return nil, fmt.Errorf("%w: text %d is nil", tensor.ErrArgument, i)
		}
		n := len(t.IDs)
		if t.Mask != nil && len(t.Mask) != n || t.TypeIDs != nil && len(t.TypeIDs) != n {
			return nil, fmt.Errorf("%w: text %d has %d ids, a mask of %d and %d ids of segments",
				tensor.ErrShape, i, n, len(t.Mask), len(t.TypeIDs))
		}
		list[i] = e.lm.NewSequence()
		for j, id := range t.IDs {
			if t.Mask != nil && !t.Mask[j] {
				continue
			}
			kind := int32(0)
			if t.TypeIDs != nil && e.Net.Segments != nil {
				kind = t.TypeIDs[j]
			}
			if n := e.Net.traits.segments; kind != 0 && (kind < 0 || int(kind) >= n) {
				if n > 1 {
					return nil, fmt.Errorf("%w: text %d: segment %d of %d", tensor.ErrRange, i, kind, n)
				}
				kind = 0 // pairs are told apart by their tokens alone
			}
			ids[i], kinds = append(ids[i], id), append(kinds, kind)
		}
		if len(ids[i]) == 0 {
			return nil, fmt.Errorf("%w: text %d has no tokens", tensor.ErrArgument, i)
		}
		if most := e.Config.MaxPositions; e.Net.Positions != nil && len(ids[i]) > most {
			return nil, fmt.Errorf("%w: text %d has %d tokens, the model has positions for %d",
				tensor.ErrRange, i, len(ids[i]), most)
		}
	}
	b, err := e.lm.newBatch(list, ids)
	if err == nil {
		b.kinds = kinds
	}
	return b, err
}

// Of returns the hidden states of text i, (tokens, features).
func (s *States) Of(i int) *tensor.Tensor {
	if s.Hidden.Err() != nil {
		return s.Hidden
	}
	if i < 0 || i >= len(s.Starts)-1 {
		return tensor.Fail("models: states",
			fmt.Errorf("%w: text %d of %d", tensor.ErrRange, i, len(s.Starts)-1))
	}
	return s.Hidden.Narrow(0, s.Starts[i], s.Starts[i+1]-s.Starts[i])
}

// tokensAtOnce bounds the tokens of a batch: more do not make a device faster, but take memory.
const tokensAtOnce = 1 << 14

// Embed returns a vector in float32 for each text, (texts, features), as the model is published to
// make them: with its prompt, special tokens, pooling, layers behind it, and norm. Of texts of more
// than MaxTokens the rest is left out. An error is in what it returns.
func (e *Encoder) Embed(texts ...string) *tensor.Tensor {
	list := make([]*tokenizers.Encoding, len(texts))
	for i, text := range texts {
		var err error
		if list[i], err = e.tokenize(e.Prompt+text, nil); err != nil {
			return tensor.Fail("models: embed", fmt.Errorf("text %d: %w", i, err))
		}
	}
	return e.EmbedTokens(list)
}

// EmbedTokens is [Encoder.Embed] of texts as the tokenizer has them.
func (e *Encoder) EmbedTokens(texts []*tokenizers.Encoding) *tensor.Tensor {
	return e.batches("models: embed", texts, func(s *States) *tensor.Tensor {
		y := s.Pool(e.Pooling)
		for _, d := range e.Net.Dense {
			y = d.Forward(y)
		}
		if e.Normalize {
			y = normalized(y)
		}
		return y
	})
}

// batches does something with texts, some at a time, and joins what comes of it.
func (e *Encoder) batches(
	op string, texts []*tokenizers.Encoding, do func(*States) *tensor.Tensor,
) *tensor.Tensor {
	if len(texts) == 0 {
		return tensor.Fail(op, fmt.Errorf("%w: no texts", tensor.ErrArgument))
	}
	var parts []*tensor.Tensor
	for len(texts) > 0 {
		n, tokens := 0, 0
		for n < len(texts) && (n == 0 || tokens < tokensAtOnce) {
			if texts[n] != nil {
				tokens += len(texts[n].IDs)
			}
			n++
		}
		y := do(e.Encode(texts[:n]))
		if y.Err() != nil {
			return y
		}
		parts, texts = append(parts, y), texts[n:]
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return tensor.Cat(0, parts...)
}

// Tokens makes tokens of a text, or of a pair of texts, as [Encoder.Embed] and [Encoder.Score] do.
// Special tokens that are written in a text, such as [MASK], count as such.
func (e *Encoder) Tokens(text string, pair ...string) (*tokenizers.Encoding, error) {
	if len(pair) > 1 {
		return nil, fmt.Errorf("models: tokens: %w: %d texts, want one or two",
			tensor.ErrArgument, 1+len(pair))
	}
	t, err := e.tokenize(text, pair)
	if err != nil {
		return nil, fmt.Errorf("models: tokens: %w", err)
	}
	return t, nil
}

func (e *Encoder) tokenize(text string, pair []string) (*tokenizers.Encoding, error) {
	switch {
	case e.TokenizerErr != nil:
		return nil, e.TokenizerErr
	case e.Tokenizer == nil:
		return nil, fmt.Errorf("%w: there is no tokenizer beside the weights", ErrConfig)
	}
	o := tokenizers.Options{SpecialTokens: true}
	if e.Tokenizer.Truncation = nil; e.MaxTokens > 0 {
		e.Tokenizer.Truncation = &tokenizers.Truncation{MaxLength: e.MaxTokens}
	}
	if e.lower {
		text = strings.ToLower(text)
	}
	if len(pair) == 0 {
		return e.Tokenizer.Encode(text, o)
	}
	second := pair[0]
	if e.lower {
		second = strings.ToLower(second)
	}
	return e.Tokenizer.EncodePair(text, second, o)
}
