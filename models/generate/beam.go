package generate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gokiln/kiln/tensor"
)

// BeamOptions says how beams are searched for.
type BeamOptions struct {
	// Width is how many beams are followed, and returned at most.
	Width int `json:"num_beams"`
	// MaxTokens is how many tokens a beam has at most.
	MaxTokens int `json:"max_tokens"`
	// LengthPenalty is the power of the length that the sum of logarithms is divided by: 1 for the
	// mean, 0 for the sum.
	LengthPenalty float64 `json:"length_penalty,omitempty"`
	// EarlyStopping says when the search ends though beams could go on.
	EarlyStopping EarlyStopping `json:"early_stopping,omitempty"`
	Rules
	// StopIDs are tokens that end a beam, beside those of the generator.
	StopIDs []int32 `json:"stop_token_ids,omitempty"`
}

// EarlyStopping says when a search ends of which as many beams have ended as its width.
type EarlyStopping int

// What ends a search, in the words of generation_config.json.
const (
	StopWhenSure   EarlyStopping = iota // "never": no beam that goes on can become better
	StopWhenLikely                      // false: none is better as long as it is now
	StopWhenFull                        // true: at once
)

var earlyStopping = []string{`"never"`, "false", "true"}

// MarshalJSON returns "never", false or true.
func (e EarlyStopping) MarshalJSON() ([]byte, error) {
	if e < 0 || int(e) >= len(earlyStopping) {
		return nil, fmt.Errorf("%w: early_stopping %d", ErrOption, int(e))
	}
	return []byte(earlyStopping[e]), nil
}

// UnmarshalJSON reads "never", false or true.
func (e *EarlyStopping) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	i := slices.Index(earlyStopping, string(text))
	if i < 0 {
		return fmt.Errorf("%w: early_stopping %s, want \"never\", false or true", ErrOption, text)
	}
	*e = EarlyStopping(i)
	return nil
}

// Beam is a text that was found.
type Beam struct {
	IDs     []int32 // behind the prompt, the one that ends it included
	Text    string
	LogProb float64 // of all tokens together
	Score   float64 // which beams are ordered by
}

// beams is a search.
type beams[S Sequence] struct {
	g      *Generator[S]
	o      BeamOptions
	prompt []int32
	ends   map[int32]bool
	seqs   []*Session[S]
	live   []Beam
	done   []Beam
}

// Beam returns the most likely texts behind a prompt that a search of limited width finds, the best
// first: the same as the reference library's generate with the same options. A beam ends with a
// token that ends texts, or with MaxTokens.
func (g *Generator[S]) Beam(ctx context.Context, prompt []int32, o BeamOptions) ([]Beam, error) {
	if o.Width < 1 || o.MaxTokens < 1 || len(prompt) == 0 || math.IsNaN(o.LengthPenalty) {
		return nil, fmt.Errorf("beam search: %w: num_beams %d, max_tokens %d, length_penalty %v, %d tokens of a prompt",
			ErrOption, o.Width, o.MaxTokens, o.LengthPenalty, len(prompt))
	}
	if err := o.Rules.check(); err != nil {
		return nil, fmt.Errorf("beam search: %w", err)
	}
	if g.Context > 0 {
		if len(prompt) >= g.Context {
			return nil, fmt.Errorf("beam search: %w: %d tokens of %d", ErrContext, len(prompt), g.Context)
		}
		o.MaxTokens = min(o.MaxTokens, g.Context-len(prompt))
	}
	b := &beams[S]{g: g, o: o, prompt: prompt, ends: map[int32]bool{}, live: make([]Beam, 1)}
	for _, id := range append(slices.Clone(g.EOS), o.StopIDs...) {
		b.ends[id] = true
	}
	for range o.Width {
		b.seqs = append(b.seqs, g.NewSession())
	}
	defer func() {
		for _, s := range b.seqs {
			s.Close()
		}
	}()
	for n := 1; n <= o.MaxTokens && len(b.live) > 0 && !b.decided(n); n++ {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("beam search: %w", err)
		}
		if err := b.step(); err != nil {
			return nil, fmt.Errorf("beam search: %w", err)
		}
	}
	return b.result()
}

// score is what beams are ordered by.
func (b *beams[S]) score(logProb float64, n int) float64 {
	return logProb / math.Pow(float64(n), b.o.LengthPenalty)
}

// decided says whether the search ends before token n of its beams.
func (b *beams[S]) decided(n int) bool {
	if len(b.done) < b.o.Width {
		return false
	}
	length := n - 1
	switch {
	case b.o.EarlyStopping == StopWhenFull:
		return true
	case b.o.EarlyStopping == StopWhenSure && b.o.LengthPenalty > 0:
		length = b.o.MaxTokens // a sum below 0 is divided by more where the beam is longer
	}
	return b.score(b.live[0].LogProb, length) <= b.done[b.o.Width-1].Score
}

// step extends all beams by one token. Of the candidates that end, those count that are among the
// first.
func (b *beams[S]) step() error {
	logits, err := b.feed()
	if err != nil {
		return err
	}
	next, err := b.candidates(logits)
	if err != nil {
		return err
	}
	b.live = nil
	for rank, c := range next {
		n := len(c.IDs)
		switch c.Score = b.score(c.LogProb, n); {
		case b.ends[c.IDs[n-1]] || n == b.o.MaxTokens:
			if rank < b.o.Width {
				b.done = append(b.done, c)
			}
		case len(b.live) < b.o.Width:
			b.live = append(b.live, c)
		}
	}
	slices.SortStableFunc(b.done, byScore)
	b.done = b.done[:min(len(b.done), b.o.Width)]
	return nil
}

func byScore(x, y Beam) int { return cmp.Compare(y.Score, x.Score) }

// candidates are the most likely extensions, so many that enough go on even if all beams could end.
func (b *beams[S]) candidates(logits *tensor.Tensor) ([]Beam, error) {
	k := b.o.Width * (1 + len(b.ends))
	list, most := make([]limits, len(b.live)), 0
	for i, beam := range b.live {
		all := slices.Concat(b.prompt, beam.IDs)
		list[i] = b.o.next(all, len(beam.IDs), b.o.MaxTokens, b.ends)
		most = max(most, len(list[i].banned))
	}
	k = min(k+most, logits.Size(1))
	probs, ids := logits.Cast(tensor.F32).LogSoftmax(1).TopK(k, 1, false)
	p, err := tensor.ToSlice[float32](probs)
	if err != nil {
		return nil, err
	}
	at, err := tensor.ToSlice[uint32](ids)
	if err != nil {
		return nil, err
	}
	var next []Beam
	add := func(from Beam, id int32, logProb float64) {
		ids := append(slices.Clone(from.IDs), id)
		next = append(next, Beam{IDs: ids, LogProb: from.LogProb + logProb})
	}
	for i, from := range b.live {
		if id := list[i].forced; id != nil { // what has to be is certain
			add(from, *id, 0)
			continue
		}
		for j, x := range p[i*k : (i+1)*k] {
			if x != x {
				return nil, errLogits("a logit is NaN")
			}
			if id := int32(at[i*k+j]); list[i].allowed(id) {
				add(from, id, float64(x))
			}
		}
	}
	slices.SortStableFunc(next, func(x, y Beam) int { return cmp.Compare(y.LogProb, x.LogProb) })
	return next, nil
}

// feed gives each beam a sequence, that of the longest common beginning which is free, and feeds it
// what it has not seen.
func (b *beams[S]) feed() (*tensor.Tensor, error) {
	free := slices.Clone(b.seqs)
	var seqs []S
	var ids [][]int32
	for _, beam := range b.live {
		whole := append(slices.Clone(b.prompt), beam.IDs...)
		best, n := 0, -1
		for k, s := range free {
			if m := common(s.ids, whole); m > n {
				best, n = k, m
			}
		}
		s := free[best]
		free = slices.Delete(free, best, best+1)
		if err := s.rewind(min(n, len(whole)-1)); err != nil {
			return nil, err
		}
		rest := whole[len(s.ids):]
		s.ids = append(s.ids, rest...)
		seqs, ids = append(seqs, s.seq), append(ids, rest)
	}
	logits := b.g.Model.Step(seqs, ids)
	return logits, logits.Err()
}

// common is how many tokens two sequences begin with alike.
func common(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// result is the best beams with their texts.
func (b *beams[S]) result() ([]Beam, error) {
	out := b.done
	if len(out) == 0 {
		return nil, fmt.Errorf("beam search: %w: the rules leave no token", ErrOption)
	}
	for i := range out {
		if b.g.Tokenizer == nil {
			continue
		}
		var err error
		if out[i].Text, err = b.g.Tokenizer.Decode(out[i].IDs, true); err != nil {
			return nil, fmt.Errorf("beam search: %w", err)
		}
	}
	return out, nil
}
