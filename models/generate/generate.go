package generate

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tokenizers"
)

// ErrContext is the kind of the error of a prompt that is longer than what a model can look at.
var ErrContext = errors.New("the prompt is too long")

// Sequence is what a model keeps of the tokens that it was fed.
type Sequence interface {
	Len() int             // tokens fed
	Truncate(n int) error // forget those behind the first n; an error where a state cannot
	Close()
}

// Model is a language model, such as models.LM. Step feeds ids[i] to list[i] and returns logits of
// the token behind the last of each, (len(list), vocabulary); StepAll those behind each of ids,
// (len(ids), vocabulary).
type Model[S Sequence] interface {
	NewSequence() S
	Step(list []S, ids [][]int32) *tensor.Tensor
	StepAll(s S, ids []int32) *tensor.Tensor
}

// Options says what is generated, and when that ends.
type Options struct {
	Sampling
	Rules

	// MaxTokens is how many tokens are generated at most; 0 for as many as the model can look at.
	MaxTokens int `json:"max_tokens,omitempty"`
	// Stop is texts that end the generation where they would appear. They are not returned, nor is
	// text that may still become one of them, until it cannot.
	Stop []string `json:"stop,omitempty"`
	// StopIDs are tokens that end the generation, beside those of the generator.
	StopIDs []int32 `json:"stop_token_ids,omitempty"`
	// IgnoreEOS generates on behind the tokens that end texts.
	IgnoreEOS bool `json:"ignore_eos,omitempty"`
	// SpecialTokens has the text contain those; without it they are left out.
	SpecialTokens bool `json:"special_tokens,omitempty"`

	// Draft guesses the next tokens, of which the model then checks DraftTokens at once, 0 for 4.
	// The tokens that come out are the same as without it.
	Draft       Drafter `json:"-"`
	DraftTokens int     `json:"-"`
	// Constraint is what the tokens have to follow.
	Constraint Constraint `json:"-"`
}

// Token is a token that was generated, and the text that is certain with it: often its own, none
// while characters or stop strings are incomplete, and then that of several.
type Token struct {
	Choice
	Text   string
	Reason string // why the generation ends with it; "" if it goes on
}

// Why a generation ended.
const (
	ReasonStop   = "stop"   // a token or a text that ends it
	ReasonLength = "length" // as many tokens as were asked for, or as the model can look at
)

// Usage is what a generation took.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CachedTokens     int `json:"cached_tokens"` // of the prompt, which the model had been fed before
	CompletionTokens int `json:"completion_tokens"`
	DraftTokens      int `json:"draft_tokens,omitempty"`    // which a drafter guessed
	AcceptedTokens   int `json:"accepted_tokens,omitempty"` // of them, which were right

	Prefill time.Duration `json:"-"` // until the first token was chosen
	Decode  time.Duration `json:"-"` // from there on
	Reason  string        `json:"-"` // why it ended; "" while it goes on, and after an error
}

// PrefillRate is how many tokens of the prompt were computed in a second.
func (u Usage) PrefillRate() float64 { return rate(u.PromptTokens-u.CachedTokens, u.Prefill) }

// DecodeRate is how many tokens were generated in a second behind the first.
func (u Usage) DecodeRate() float64 { return rate(u.CompletionTokens-1, u.Decode) }

func rate(n int, d time.Duration) float64 {
	if n <= 0 || d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// Generator generates with a model. Its fields do not change once it is used; sessions of several
// goroutines share it if the model allows that.
type Generator[S Sequence] struct {
	Model     Model[S]
	Tokenizer *tokenizers.Tokenizer // nil for ids alone
	EOS       []int32               // tokens that end texts
	Context   int                   // how many tokens the model can look at; 0 for any number
	Chunk     int                   // how many tokens of a prompt are fed at once; 0 for 512
}

// chunk is how many tokens of a prompt are fed at once.
func (g *Generator[S]) chunk() int {
	if g.Chunk > 0 {
		return g.Chunk
	}
	return 512
}

// Session is one sequence of a model. What it was fed is used again for a prompt that begins with
// the same tokens, as each turn of a conversation does. It belongs to one goroutine.
type Session[S Sequence] struct {
	g   *Generator[S]
	seq S
	ids []int32 // that were fed

	before int // how many before the last step
}

// NewSession returns a session that was fed nothing.
func (g *Generator[S]) NewSession() *Session[S] {
	return &Session[S]{g: g, seq: g.Model.NewSequence()}
}

// Close frees what the model keeps of the sequence.
func (s *Session[S]) Close() { s.seq.Close() }

// Generate prepares a generation behind a prompt. It runs while [Run.Tokens] is read.
func (s *Session[S]) Generate(ctx context.Context, prompt []int32, o Options) (*Run[S], error) {
	a, err := s.g.answer(prompt, o)
	if err != nil {
		return nil, err
	}
	return &Run[S]{answer: a, ctx: ctx, s: s}, nil
}

// Run is one generation.
type Run[S Sequence] struct {
	*answer
	ctx   context.Context
	s     *Session[S]
	began bool
}

// Usage is what the generation took so far.
func (r *Run[S]) Usage() Usage { return r.usage }

// Seed is the seed of the draws, of which [Options] gives the same tokens again.
func (r *Run[S]) Seed() uint64 { return r.sampler.Seed() }

// Text runs the generation to its end and returns the text.
func (r *Run[S]) Text() (string, error) {
	var b strings.Builder
	for tok, err := range r.Tokens() {
		b.WriteString(tok.Text)
		if err != nil {
			return b.String(), err
		}
	}
	return b.String(), nil
}

// Tokens generates one token after the other, the one that ends it included. An error ends it, that
// of a context among them; beside it stands buffered text, and the id -1. It can be read
// once. Reading may stop early; the session can be used again after that.
func (r *Run[S]) Tokens() iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		if r.began {
			yield(Token{Choice: Choice{ID: -1}}, errors.New("generate: the tokens were read already"))
			return
		}
		r.began = true
		r.start = time.Now()
		if err := r.run(func(t Token) bool { return yield(t, nil) }); err != nil {
			yield(Token{Choice: Choice{ID: -1}, Text: r.rest()}, fmt.Errorf("generate: %w", err))
		}
	}
}

// run is the loop: feed what the model has not seen, choose, feed that.
func (r *Run[S]) run(yield func(Token) bool) error {
	if err := r.reuse(); err != nil {
		return err
	}
	for {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		draft, err := r.draft()
		if err != nil {
			return err
		}
		rows, chosen, err := r.feed(draft)
		if err != nil {
			return err
		}
		done, err := r.choose(rows, chosen, draft, yield)
		if done || err != nil {
			return err
		}
	}
}

// reuse keeps what the session was fed of the prompt, all but its last token.
func (r *Run[S]) reuse() error {
	if err := r.s.rewind(common(r.s.ids, r.ids[:len(r.ids)-1])); err != nil {
		return err
	}
	r.usage.CachedTokens = len(r.s.ids)
	return nil
}

// rewind has the sequence forget the tokens behind the first n. Where it cannot, it forgets what came
// with the last step, as states of recurrent layers can, or all.
func (s *Session[S]) rewind(n int) error {
	if n == len(s.ids) && n == s.seq.Len() {
		return nil
	}
	for _, at := range []int{n, min(n, s.before)} {
		if s.seq.Len() >= at && s.seq.Truncate(at) == nil {
			s.ids = s.ids[:at]
			return nil
		}
	}
	s.seq.Close()
	s.seq, s.ids = s.g.Model.NewSequence(), s.ids[:0]
	return nil
}

// feed gives the model all that it has not seen, and the draft. It returns logits behind the last
// token and behind each of the draft.
func (r *Run[S]) feed(draft []int32) (rows *tensor.Tensor, chosen []Choice, err error) {
	chunk := r.s.g.chunk()
	for {
		part := r.ids[len(r.s.ids):]
		if len(part) <= chunk {
			break
		}
		if _, err := r.s.step(part[:chunk], false); err != nil {
			return nil, nil, err
		}
		if err := r.ctx.Err(); err != nil {
			return nil, nil, err
		}
	}
	part := append([]int32(nil), r.ids[len(r.s.ids):]...)
	if len(draft) == 0 {
		return r.s.next(part, r.sampler)
	}
	if rows, err = r.s.step(append(part, draft...), true); err != nil {
		return nil, nil, err
	}
	return rows.Narrow(0, len(part)-1, 1+len(draft)), nil, nil
}

// next feeds ids and chooses the token behind them, as a part of the step where the model can.
func (s *Session[S]) next(ids []int32, by *Sampler) (rows *tensor.Tensor, chosen []Choice, err error) {
	chosen, rows, err = stepAndSample(s.g.Model, []S{s.seq}, [][]int32{ids}, []*Sampler{by})
	if err := s.fed(ids, rows); err != nil {
		return nil, nil, err
	}
	return rows, chosen, err
}

// step feeds ids. After an error the state of the sequence is undefined, so a new one replaces it.
func (s *Session[S]) step(ids []int32, all bool) (*tensor.Tensor, error) {
	var logits *tensor.Tensor
	if all {
		logits = s.g.Model.StepAll(s.seq, ids)
	} else {
		logits = s.g.Model.Step([]S{s.seq}, [][]int32{ids})
	}
	return logits, s.fed(ids, logits)
}

// fed notes ids that were fed, unless the logits have an error.
func (s *Session[S]) fed(ids []int32, logits *tensor.Tensor) error {
	if err := logits.Err(); err != nil {
		s.seq.Close()
		s.seq, s.ids = s.g.Model.NewSequence(), nil
		return err
	}
	s.before = len(s.ids)
	s.ids = append(s.ids, ids...)
	return nil
}

// choose takes tokens as long as the draft agrees with them, those that are chosen first. done says
// that the generation ended.
func (r *Run[S]) choose(
	rows *tensor.Tensor, all []Choice, draft []int32, yield func(Token) bool,
) (done bool, err error) {
	if all == nil && r.sampler.plain() {
		list := make([]*Sampler, 1+len(draft))
		for i := range list {
			list[i] = r.sampler.ahead(i)
		}
		if all, err = Sample(rows, list); err != nil {
			return false, err
		}
	}
	for i := range 1 + len(draft) {
		if all == nil || i >= len(all) {
			one, err := Sample(rows.Narrow(0, i, 1), []*Sampler{r.sampler})
			if err != nil {
				return false, err
			}
			all = append(all, one[0])
		}
		out, done, err := r.take(all[i])
		done = err == nil && !yield(out) || done
		agrees := i < len(draft) && draft[i] == all[i].ID
		if agrees {
			r.usage.AcceptedTokens++
		}
		if done || err != nil || !agrees {
			if i < len(draft) { // the sequence knows tokens that are not of the text
				return done, errors.Join(err, r.s.rewind(min(len(r.ids)-1, len(r.s.ids))))
			}
			return done, err
		}
	}
	return false, nil
}

// draft asks the drafter for tokens, no more than may be generated.
func (r *Run[S]) draft() ([]int32, error) {
	if r.o.Draft == nil || len(r.s.ids) != len(r.ids)-1 {
		return nil, nil
	}
	n := r.o.DraftTokens
	if n == 0 {
		n = 4
	}
	if r.o.MaxTokens > 0 {
		n = min(n, r.o.MaxTokens-r.usage.CompletionTokens-1)
	}
	if limit := r.limit; limit > 0 {
		n = min(n, limit-len(r.ids)-1)
	}
	if n <= 0 {
		return nil, nil
	}
	draft, err := r.o.Draft.Draft(r.ctx, r.ids, n)
	if err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	draft = draft[:min(n, len(draft))]
	r.usage.DraftTokens += len(draft)
	return draft, nil
}
