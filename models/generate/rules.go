package generate

import (
	"fmt"
	"slices"
)

// Rules say which tokens may come next by those that are there. They are the options of these names
// in generation_config.json, which models that translate and summarise are published with.
type Rules struct {
	// ForcedBOS is the token that is generated first, nil for any: a language, for one.
	ForcedBOS *int32 `json:"forced_bos_token_id,omitempty"`
	// ForcedEOS is the last one of MaxTokens, nil for any.
	ForcedEOS *int32 `json:"forced_eos_token_id,omitempty"`
	// BadWords are sequences of tokens that do not appear. One that is a token which ends texts does
	// not count.
	BadWords [][]int32 `json:"bad_words_ids,omitempty"`
	// NoRepeatNGram is the length of sequences that do not appear a second time, the prompt
	// included; 0 for none.
	NoRepeatNGram int `json:"no_repeat_ngram_size,omitempty"`
	// MinTokens is how many tokens are generated before one that ends the text.
	MinTokens int `json:"min_tokens,omitempty"`
}

// check reports a rule without a meaning.
func (r *Rules) check() error {
	switch {
	case r.NoRepeatNGram < 0 || r.MinTokens < 0:
		return fmt.Errorf("%w: no_repeat_ngram_size %d, min_tokens %d",
			ErrOption, r.NoRepeatNGram, r.MinTokens)
	case slices.ContainsFunc(r.BadWords, func(w []int32) bool { return len(w) == 0 }):
		return fmt.Errorf("%w: one of bad_words_ids is empty", ErrOption)
	}
	return nil
}

// some reports whether there is a rule.
func (r *Rules) some() bool {
	return r.ForcedBOS != nil || r.ForcedEOS != nil || len(r.BadWords) > 0 ||
		r.NoRepeatNGram > 0 || r.MinTokens > 0
}

// limits are what may come next: one token, or all but some.
type limits struct {
	forced *int32
	banned map[int32]bool
}

func (l *limits) allowed(id int32) bool {
	if l.forced != nil {
		return id == *l.forced
	}
	return !l.banned[id]
}

// next says what may come behind ids, of which the last n of at most most were generated; most of 0
// is no bound.
func (r *Rules) next(ids []int32, n, most int, ends map[int32]bool) limits {
	switch {
	case n == 0 && r.ForcedBOS != nil:
		return limits{forced: r.ForcedBOS}
	case n == most-1 && r.ForcedEOS != nil:
		return limits{forced: r.ForcedEOS}
	}
	banned := map[int32]bool{}
	if n < r.MinTokens {
		for id := range ends {
			banned[id] = true
		}
	}
	for _, w := range r.BadWords {
		last := len(w) - 1
		if (last > 0 || !ends[w[0]]) && len(ids) >= last && slices.Equal(ids[len(ids)-last:], w[:last]) {
			banned[w[last]] = true
		}
	}
	if before := r.NoRepeatNGram - 1; before >= 0 && len(ids) >= before {
		tail := ids[len(ids)-before:]
		for i := range len(ids) - before {
			if slices.Equal(ids[i:i+before], tail) {
				banned[ids[i+before]] = true
			}
		}
	}
	return limits{banned: banned}
}

// ruled is the constraint of rules, and of another one that may be nil.
type ruled struct {
	Rules
	ids     []int32
	n, most int
	ends    map[int32]bool
	then    Constraint
	now     limits
}

// constrain returns the constraint of rules and of another one, which may be nil.
func (r *Rules) constrain(
	prompt []int32, most int, ends map[int32]bool, then Constraint,
) Constraint {
	if !r.some() {
		return then
	}
	c := &ruled{Rules: *r, ids: slices.Clone(prompt), most: most, ends: ends, then: then}
	c.now = r.next(c.ids, 0, most, ends)
	return c
}

// Allowed says whether the token may be the next.
func (c *ruled) Allowed(id int32) bool {
	return c.now.allowed(id) && (c.then == nil || c.then.Allowed(id))
}

// Accept tells that the token was chosen.
func (c *ruled) Accept(id int32) error {
	if !c.now.allowed(id) {
		return fmt.Errorf("%w: the rules do not allow token %d", ErrOption, id)
	}
	if c.then != nil {
		if err := c.then.Accept(id); err != nil {
			return err
		}
	}
	c.ids, c.n = append(c.ids, id), c.n+1
	c.now = c.next(c.ids, c.n, c.most, c.ends)
	return nil
}
