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
	// StopIDs are tokens that end a beam, beside those of the generator.
	StopIDs []int32 `json:"stop_token_ids,omitempty"`
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
// first. A beam ends with a token that ends texts, or with MaxTokens. The search ends when no beam
// that goes on can become better than those that have ended.
func (g *Generator[S]) Beam(ctx context.Context, prompt []int32, o BeamOptions) ([]Beam, error) {
	if o.Width < 1 || o.MaxTokens < 1 || len(prompt) == 0 || math.IsNaN(o.LengthPenalty) {
		return nil, fmt.Errorf("beam search: %w: num_beams %d, max_tokens %d, length_penalty %v, %d tokens of a prompt",
			ErrOption, o.Width, o.MaxTokens, o.LengthPenalty, len(prompt))
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

// decided says whether no beam that has n tokens at least can be among the best any more.
func (b *beams[S]) decided(n int) bool {
	if len(b.done) < b.o.Width {
		return false
	}
	length := n // a sum below 0 is divided by more where the beam is longer
	if b.o.LengthPenalty > 0 {
		length = b.o.MaxTokens
	}
	return b.score(b.live[0].LogProb, length) <= b.done[b.o.Width-1].Score
}

// step extends all beams by one token.
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
		switch c.Score = b.score(c.LogProb, len(c.IDs)); {
		case b.ends[c.IDs[len(c.IDs)-1]]:
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
	k := min(b.o.Width*(1+len(b.ends)), logits.Size(1))
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
	for i, x := range p {
		from := b.live[i/k]
		if x != x {
			return nil, errLogits("a logit is NaN")
		}
		ids := append(slices.Clone(from.IDs), int32(at[i]))
		next = append(next, Beam{IDs: ids, LogProb: from.LogProb + float64(x)})
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

// result is the best beams with their texts; those that did not end count as they are.
func (b *beams[S]) result() ([]Beam, error) {
	out := append(b.done, b.live...)
	slices.SortStableFunc(out, byScore)
	out = out[:min(len(out), b.o.Width)]
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
