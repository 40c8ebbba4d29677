package models

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/attention"
	"github.com/gokiln/kiln/nn/recurrent"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// ErrSequence is the kind of error of sequences that cannot be fed as asked.
var ErrSequence = errors.New("sequence of tokens")

// Network is the layers of a language model, a struct whose parameters package nn finds.
type Network interface {
	// newState returns what a sequence keeps for each layer, empty.
	newState(m *LM) []layerState
	// hidden feeds a batch, and returns (tokens, features) behind the last norm.
	hidden(b *batch) *tensor.Tensor
	// logits returns scores of all tokens in float32, (n, vocab) of (n, features).
	logits(h *tensor.Tensor) *tensor.Tensor
}

// layerState is what a sequence keeps for a layer.
type layerState interface {
	oldest() int          // the fewest tokens that truncate can leave
	truncate(n int) error // forgets what is behind n tokens
	reset()               // forgets all, and drops the memory
}

// LM is a language model. One goroutine steps it at a time.
type LM struct {
	Config    *Config
	Tokenizer *tokenizers.Tokenizer // nil if there is none beside the weights

	TokenizerErr error  // why there is no tokenizer though there are files of one
	Template     string // of chats, in the language Jinja; "" if there is none

	Net    Network
	paged  bool
	rows   rowList
	states []*stateRows // of layers that were fed something
	steps  stepper
	Device *tensor.Device
	DType  tensor.DType // of weights that are in no blocks, and of what is between layers
	Report *nn.Report   // what did not fit when the weights were loaded
}

// Sequence is the tokens that were fed to a model one behind the other.
type Sequence struct {
	lm     *LM
	layers []layerState
	row    *heldRow // of states of fixed size, nil before there are any
	source *Source  // of a model with an encoder
	n      int

	pages     []int32 // of all layers that have some, when the last step was taken
	samePages int     // how many of them are known to be the same at all layers
	graphs    graphs  // of steps whose first sequence it is, with memory of their own
	weights   uint64  // as of the model's steps
}

// NewSequence returns an empty sequence. Of a model with [Options.Paged], pages are free again when
// it is closed.
func (m *LM) NewSequence() *Sequence { return &Sequence{lm: m, layers: m.Net.newState(m)} }

// Len is how many tokens were fed.
func (s *Sequence) Len() int { return s.n }

// Truncate forgets the tokens behind the first n. Where that cannot be done, as behind the window
// of a layer that keeps no more, it is an error and the sequence stays as it is. A recurrent layer
// has one state for all tokens: such a sequence can be truncated to what was fed before the last
// step, if that was [LM.StepAll]. All can be truncated to 0.
func (s *Sequence) Truncate(n int) error {
	if n < 0 || n > s.n {
		return fmt.Errorf("models: %w: truncate %d tokens to %d", ErrSequence, s.n, n)
	}
	if n == 0 {
		s.Close()
		return nil
	}
	for i, l := range s.layers {
		if o := l.oldest(); n < o {
			return fmt.Errorf("models: %w: truncate %d tokens to %d: layer %d keeps those from %d on",
				ErrSequence, s.n, n, i, o)
		}
		if f, ok := l.(*fixed); ok && !f.has(n) {
			return fmt.Errorf("models: %w: truncate %d tokens to %d: layer %d has a state behind %d tokens "+
				"and none between", ErrSequence, s.n, n, i, f.oldest())
		}
	}
	s.samePages = 0
	for _, l := range s.layers {
		if err := l.truncate(n); err != nil {
			return fmt.Errorf("models: %w: %w", ErrSequence, err)
		}
	}
	s.n = n
	return nil
}

// Close forgets all tokens and drops the memory of the sequence, which can be fed anew.
func (s *Sequence) Close() {
	for _, l := range s.layers {
		l.reset()
	}
	s.dropRow()
	s.graphs.drop()
	s.n, s.pages, s.samePages = 0, nil, 0
}

// Step feeds ids[i] to sequence i, one id at least, and returns scores in float32 for the token
// behind the last of each, (sequences, vocab). An error is in what it returns; the sequences are
// then as they were, or closed if that cannot be.
//
// A step of one id for each sequence is captured the second time that one of its kind comes, and is
// one launch from then on: see [LM.Replayed].
func (m *LM) Step(list []*Sequence, ids [][]int32) *tensor.Tensor {
	b, err := m.checkBatch(list, ids)
	if err != nil {
		return tensor.Fail("models: step", err)
	}
	if len(b.all) == len(list) {
		if logits, _, ok := m.takeStep(b, nil); ok {
			return logits
		}
	}
	return m.anyStep(b)
}

// anyStep feeds any numbers of ids.
func (m *LM) anyStep(b *batch) *tensor.Tensor {
	if err := b.upload(); err != nil {
		return tensor.Fail("models: step", err)
	}
	h := m.Net.hidden(b)
	if h.Err() == nil {
		h = b.last(h)
	}
	return m.finish(b, m.Net.logits(h))
}

// Vocab is how many tokens have scores.
func (m *LM) Vocab() int { return m.Config.VocabSize }

// StepThen is [LM.Step] with what follows the scores as a part of the step, and so of its graph: y
// is what then returns of the scores and of numbers, of type I32, on the device. What then does
// depends on nothing but the key and how many numbers there are. Both results are changed by the
// next step.
func (m *LM) StepThen(
	list []*Sequence, ids [][]int32, key string, numbers []int32,
	then func(logits, numbers *tensor.Tensor) *tensor.Tensor,
) (y, logits *tensor.Tensor) {
	b, err := m.checkBatch(list, ids)
	if err != nil {
		bad := tensor.Fail("models: step", err)
		return bad, bad
	}
	if len(b.all) == len(list) {
		if y, logits, ok := m.takeStep(b, &follow{key, numbers, then}); ok {
			return y, logits
		}
	}
	if logits = m.anyStep(b); logits.Err() != nil {
		return logits, logits
	}
	return then(logits, tensor.From(m.Device, numbers, len(numbers))), logits
}

// StepAll is [LM.Step] of one sequence, with scores behind each of the ids: (ids, vocab).
func (m *LM) StepAll(s *Sequence, ids []int32) *tensor.Tensor {
	b, err := m.newBatch([]*Sequence{s}, [][]int32{ids})
	if err != nil {
		return tensor.Fail("models: step", err)
	}
	b.keeps = true
	return m.finish(b, m.Net.logits(m.Net.hidden(b)))
}

// finish counts the tokens that were fed, or takes them back if there was an error.
func (m *LM) finish(b *batch, logits *tensor.Tensor) *tensor.Tensor {
	for i, s := range b.list {
		before := s.n
		s.n += b.count(i)
		if logits.Err() != nil && s.Truncate(before) != nil {
			s.Close()
		}
	}
	return logits
}

// batch is the ids of some sequences, packed one behind the other.
type batch struct {
	list   []*Sequence
	starts []int // of each sequence among the ids, and the end
	all    []int32
	ids    *tensor.Tensor // nil before they are on the device
	step   *step          // if the lengths are on the device, or nil
	device *tensor.Device

	biases map[*buckets][]*tensor.Tensor // of scores by distance, for each sequence

	kinds []int32 // which segment each id is of; nil: the first

	distances *distances // scores by how far keys are from queries, or nil

	tables [][]attention.Rotation // for all positions of each sequence
	rows   []attention.Rotation   // those of the batch, a row for each id
	values *tensor.Tensor         // of the first layer (RWKV-7)

	keeps  bool                 // the step may be taken back: see fixed
	rowsOn *recurrent.Sequences // where states of fixed size are, nil before a layer asks
}

// newBatch checks what is fed, and brings ids to the device.
func (m *LM) newBatch(list []*Sequence, ids [][]int32) (*batch, error) {
	b, err := m.checkBatch(list, ids)
	if err != nil {
		return nil, err
	}
	return b, b.upload()
}

// checkBatch checks what is fed.
func (m *LM) checkBatch(list []*Sequence, ids [][]int32) (*batch, error) {
	return m.batchOf(list, ids, m.Config.VocabSize)
}

// batchOf is checkBatch for ids of a vocabulary.
func (m *LM) batchOf(list []*Sequence, ids [][]int32, vocab int) (*batch, error) {
	if len(list) == 0 || len(list) != len(ids) {
		return nil, fmt.Errorf("%w: %d sequences and ids for %d", ErrSequence, len(list), len(ids))
	}
	b := &batch{list: list, starts: make([]int, 1, len(list)+1), device: m.Device}
	for i := range list {
		if err := m.checkIDs(list, i, ids[i], vocab); err != nil {
			return nil, fmt.Errorf("%w %d: %w", ErrSequence, i, err)
		}
		b.starts = append(b.starts, b.starts[i]+len(ids[i]))
	}
	b.all = ids[0]
	if len(ids) > 1 {
		b.all = slices.Concat(ids...)
	}
	return b, nil
}

// upload brings ids to the device.
func (b *batch) upload() error {
	b.ids = tensor.From(b.device, b.all, len(b.all))
	return b.ids.Err()
}

// checkIDs checks what is to be fed to sequence i.
func (m *LM) checkIDs(list []*Sequence, i int, ids []int32, vocab int) error {
	switch s := list[i]; {
	case s == nil || s.lm != m:
		return fmt.Errorf("%w: it is of another model", tensor.ErrArgument)
	case len(list) > 1 && slices.Index(list, s) != i:
		return fmt.Errorf("%w: it is number %d, too", tensor.ErrArgument, slices.Index(list, s))
	case len(ids) == 0:
		return fmt.Errorf("%w: no ids", tensor.ErrArgument)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= vocab {
			return fmt.Errorf("%w: id %d of a vocabulary of %d", tensor.ErrRange, id, vocab)
		}
	}
	return nil
}

// count is how many ids are fed to sequence i.
func (b *batch) count(i int) int { return b.starts[i+1] - b.starts[i] }

// last returns the rows of the last id of each sequence.
func (b *batch) last(h *tensor.Tensor) *tensor.Tensor {
	if n := len(b.starts) - 1; n == 1 {
		return h.Narrow(0, b.starts[1]-1, 1)
	} else if h.Size(0) == n {
		return h
	}
	at := make([]int32, len(b.list))
	for i := range at {
		at[i] = int32(b.starts[i+1] - 1)
	}
	return h.IndexSelect(tensor.From(b.device, at, len(at)), 0)
}

// positions are those of the ids, from 0 in each sequence.
func (b *batch) positions() *tensor.Tensor {
	if b.step != nil {
		return b.step.at
	}
	var at []int32
	for i, s := range b.list {
		for j := range b.count(i) {
			at = append(at, int32(s.n+j))
		}
	}
	return tensor.From(b.device, at, len(at))
}

// segments are those of the ids.
func (b *batch) segments() *tensor.Tensor {
	n := b.starts[len(b.list)]
	if b.kinds == nil {
		return tensor.Zeros(b.device, tensor.I32, n)
	}
	return tensor.From(b.device, b.kinds, n)
}

// newState returns what a sequence keeps.
func (d *Decoder) newState(m *LM) []layerState {
	out := make([]layerState, len(d.Layers))
	for i, l := range d.Layers {
		out[i] = l.Attn.newState(m)
	}
	return out
}
