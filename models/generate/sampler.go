package generate

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/models/generate/kernels"
)

// Constraint says which tokens may come next. It belongs to one sequence.
type Constraint interface {
	// Allowed says whether the token may be the next.
	Allowed(id int32) bool
	// Accept tells that the token was chosen.
	Accept(id int32) error
}

// Sampler chooses the tokens of one sequence. It keeps what was seen of it, which penalties and
// the random numbers go by, and belongs to one goroutine.
type Sampler struct {
	o        Sampling
	seed     uint64
	breaks   func(id int32) bool // whether a repetition ends at the token
	limit    Constraint
	history  []int32       // the prompt and what was generated
	position int           // of the next token in the sequence
	seen     map[int32]int // how often tokens are among the last RepeatLastN
	counts   map[int32]int // how often tokens were generated
	dry      map[int32]int // for tokens that would continue a repetition, how long it is
	changed  []int32       // tokens whose logits change, in order; nil if it must be made anew
	bound    float64       // of mirostat, in bits
	last     surprise
}

// surprise is the surprisal of the chosen token, −log₂ of its probability, which mirostat adapts to.
type surprise struct {
	id   int32
	bits float64
	ok   bool
}

// NewSampler returns a sampler for a sequence of which nothing is known yet.
func NewSampler(o Sampling) (*Sampler, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Sampler{o: o.withDefaults(), seen: map[int32]int{}, counts: map[int32]int{}}
	s.bound = 2 * s.o.MirostatTau
	if o.Seed != nil {
		s.seed = *o.Seed
	} else {
		s.seed = randomSeed()
	}
	return s, nil
}

// Seed is the seed of the draws.
func (s *Sampler) Seed() uint64 { return s.seed }

// Constrain has the sampler choose tokens that c allows only; nil allows all.
func (s *Sampler) Constrain(c Constraint) { s.limit = c }

// Breakers says at which tokens repetitions end, for [Sampling.DRYMultiplier]. A [Generator] sets
// it by the texts of tokens; without it there are none.
func (s *Sampler) Breakers(breaks func(id int32) bool) { s.breaks = breaks }

// Prompt tells the sampler of tokens in front of what is generated.
func (s *Sampler) Prompt(ids []int32) {
	for _, id := range ids {
		s.see(id)
	}
}

// Accept tells the sampler that a token was generated. It is an error if a constraint does not
// allow it.
func (s *Sampler) Accept(id int32) error {
	if s.limit != nil {
		if err := s.limit.Accept(id); err != nil {
			return err
		}
	}
	if s.last.ok && s.last.id == id {
		s.bound -= s.o.MirostatEta * (s.last.bits - s.o.MirostatTau)
	}
	s.last.ok = false
	if s.o.FrequencyPenalty != 0 || s.o.PresencePenalty != 0 {
		s.counts[id]++
	}
	s.see(id)
	return nil
}

func (s *Sampler) see(id int32) {
	s.position++
	s.changed = nil
	if s.o.RepetitionPenalty == 1 && s.o.DRYMultiplier == 0 {
		return
	}
	s.history = append(s.history, id)
	s.seen[id]++
	if n := s.o.RepeatLastN; n > 0 && len(s.history) > n {
		old := s.history[len(s.history)-1-n]
		if s.seen[old]--; s.seen[old] == 0 {
			delete(s.seen, old)
		}
	}
}

// key is the key of the random numbers of the next token.
func (s *Sampler) key() int64 { return kernels.StepKey(s.seed, uint64(s.position)) }

// plain says whether a choice depends on nothing but logits and position.
func (s *Sampler) plain() bool {
	o := &s.o
	return s.limit == nil && o.Mirostat == 0 && len(o.LogitBias) == 0 && o.RepetitionPenalty == 1 &&
		o.DRYMultiplier == 0 && o.FrequencyPenalty == 0 && o.PresencePenalty == 0
}

// ahead is a plain sampler for the token n positions further on.
func (s *Sampler) ahead(n int) *Sampler {
	c := *s
	c.position += n
	return &c
}

// errLogits is for logits that no token can be chosen by.
func errLogits(format string, args ...any) error {
	return fmt.Errorf("choose a token: "+format, args...)
}

// finite reports the error of a largest logit that is none.
func finite(z float32) error {
	switch x := float64(z); {
	case math.IsNaN(x):
		return errLogits("a logit is NaN")
	case math.IsInf(x, -1):
		return errLogits("every token is forbidden")
	case math.IsInf(x, 1):
		return errLogits("a logit is infinite")
	}
	return nil
}
