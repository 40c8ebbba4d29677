package generate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gokiln/kiln/tokenizers"
)

// answer is a text that grows by chosen tokens until one of them ends it.
type answer struct {
	o       Options
	sampler *Sampler
	ids     []int32 // the prompt and what was generated
	ends    map[int32]bool
	text    *pieces // nil if there is no tokenizer
	limit   int     // of ids; 0 for any number
	usage   Usage
	start   time.Time
	first   time.Time // when the first token was chosen
}

// answer checks a prompt and options.
func (g *Generator[S]) answer(prompt []int32, o Options) (*answer, error) {
	sampler, err := NewSampler(o.Sampling)
	if err != nil {
		return nil, err
	}
	switch {
	case len(prompt) == 0:
		return nil, errors.New("generate: the prompt has no tokens")
	case g.Context > 0 && len(prompt) >= g.Context:
		return nil, fmt.Errorf("generate: %w: %d tokens, and the model can look at %d with the answer",
			ErrContext, len(prompt), g.Context)
	case o.MaxTokens < 0 || o.DraftTokens < 0:
		return nil, fmt.Errorf("generate: %w: max_tokens %d, draft tokens %d", ErrOption, o.MaxTokens, o.DraftTokens)
	case len(o.Stop) > 0 && g.Tokenizer == nil:
		return nil, fmt.Errorf("generate: %w: stop strings need a tokenizer", ErrOption)
	}
	for _, stop := range o.Stop {
		if stop == "" {
			return nil, fmt.Errorf("generate: %w: a stop string is empty", ErrOption)
		}
	}
	if err := o.Rules.check(); err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	sampler.Prompt(prompt)
	a := &answer{o: o, sampler: sampler, ids: append([]int32(nil), prompt...), limit: g.Context}
	a.usage.PromptTokens = len(prompt)
	a.ends = map[int32]bool{}
	for _, id := range o.StopIDs {
		a.ends[id] = true
	}
	if !o.IgnoreEOS {
		for _, id := range g.EOS {
			a.ends[id] = true
		}
	}
	most := o.MaxTokens
	if room := g.Context - len(prompt); g.Context > 0 && (most == 0 || room < most) {
		most = room
	}
	sampler.Constrain(o.Rules.constrain(prompt, most, a.ends, o.Constraint))
	if g.Tokenizer != nil {
		a.text = &pieces{stream: g.Tokenizer.Stream(!o.SpecialTokens), stops: o.Stop}
		sampler.Breakers(breakers(g.Tokenizer, sampler.o.DRYBreakers))
	}
	return a, nil
}

// breakers says which tokens have one of some texts in theirs.
func breakers(t *tokenizers.Tokenizer, list []string) func(id int32) bool {
	known := map[int32]bool{}
	return func(id int32) bool {
		is, ok := known[id]
		if ok {
			return is
		}
		text, err := t.Decode([]int32{id}, false)
		for _, b := range list {
			is = is || err == nil && strings.Contains(text, b)
		}
		known[id] = is
		return is
	}
}

// take adds a token to the text. done says that it ends it.
func (a *answer) take(c Choice) (out Token, done bool, err error) {
	if err := a.sampler.Accept(c.ID); err != nil {
		return Token{}, false, err
	}
	if now := time.Now(); a.usage.CompletionTokens == 0 {
		a.first, a.usage.Prefill = now, now.Sub(a.start)
	} else {
		a.usage.Decode = now.Sub(a.first)
	}
	a.usage.CompletionTokens++
	a.ids = append(a.ids, c.ID)
	out, reason := Token{Choice: c}, ""
	switch {
	case a.ends[c.ID]:
		reason = ReasonStop
	case a.text != nil:
		stopped, err := false, error(nil)
		if out.Text, stopped, err = a.text.next(c.ID); err != nil {
			return Token{}, false, err
		}
		if stopped {
			reason = ReasonStop
		}
	}
	if reason == "" && (a.usage.CompletionTokens == a.o.MaxTokens || len(a.ids) == a.limit) {
		reason = ReasonLength
	}
	if reason != "" {
		out.Text += a.rest()
		out.Reason, a.usage.Reason = reason, reason
	}
	return out, reason != "", nil
}

// rest is the text that is still buffered.
func (a *answer) rest() string {
	if a.text == nil {
		return ""
	}
	return a.text.flush()
}
