package generate

import (
	"context"
	"slices"
)

// Drafter guesses tokens, which a model then checks several of at once (Leviathan, Kalman and
// Matias, "Fast inference from transformers via speculative decoding", 2023). As the noise of a
// draw is a function of the position alone, what a model draws is the same with and without guesses, at
// any temperature.
type Drafter interface {
	// Draft returns up to n tokens that are likely to follow ids.
	Draft(ctx context.Context, ids []int32, n int) ([]int32, error)
}

// PromptLookup guesses that a text goes on as it did the last time that its last tokens occurred,
// which is right where a prompt is repeated, such as code that is edited (Saxena, "Prompt lookup
// decoding", 2023).
type PromptLookup struct {
	Longest int // how many last tokens are looked for at most, then fewer; 0 for 3
}

// Draft implements [Drafter].
func (p PromptLookup) Draft(_ context.Context, ids []int32, n int) ([]int32, error) {
	longest := p.Longest
	if longest <= 0 {
		longest = 3
	}
	for k := min(longest, len(ids)-1); k > 0; k-- {
		end := ids[len(ids)-k:]
		for at := len(ids) - k - 1; at >= 0; at-- {
			if slices.Equal(ids[at:at+k], end) {
				return slices.Clone(ids[at+k : min(at+k+n, len(ids))]), nil
			}
		}
	}
	return nil, nil
}

// DraftModel guesses the most likely tokens of a smaller model with the same vocabulary. It keeps
// a sequence of it, and belongs to one goroutine.
type DraftModel[S Sequence] struct{ session *Session[S] }

// NewDraftModel returns a drafter by a model.
func NewDraftModel[S Sequence](g *Generator[S]) *DraftModel[S] {
	return &DraftModel[S]{g.NewSession()}
}

// Close frees what the model keeps of the sequence.
func (d *DraftModel[S]) Close() { d.session.Close() }

// Draft implements [Drafter]. Ids that are as long as what the model can look at get none.
func (d *DraftModel[S]) Draft(ctx context.Context, ids []int32, n int) ([]int32, error) {
	if limit := d.session.g.Context; limit > 0 && len(ids) >= limit {
		return nil, nil
	}
	run, err := d.session.Generate(ctx, ids, Options{MaxTokens: n, IgnoreEOS: true})
	if err != nil {
		return nil, err
	}
	run.text = nil
	var out []int32
	for tok, err := range run.Tokens() {
		if err != nil {
			return nil, err
		}
		out = append(out, tok.ID)
	}
	return out, nil
}
