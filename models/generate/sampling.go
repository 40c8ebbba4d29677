package generate

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrOption is the kind of errors about the value of an option.
var ErrOption = errors.New("bad option")

// Sampling says how the next token is chosen. The zero value takes the most likely one. What an
// option is off at is 0, and where the field uses another number for that, that one as well.
//
// The steps, in this order, each on what the ones before have left:
//
//  1. tokens that a constraint does not allow are dropped
//  2. logit_bias is added
//  3. repetition_penalty divides positive logits of tokens that were seen, and multiplies others
//  4. dry_multiplier takes from tokens that would continue a repetition
//  5. frequency_penalty and presence_penalty take from tokens that were generated
//  6. temperature divides; at 0 the largest logit is taken, of equal ones that of the lowest id
//  7. top_k, top_p, min_p, typical_p drop tokens, or mirostat in their place
//  8. one of the rest is drawn
//
// Probabilities of a step are those of the softmax over what is left then, as the logits processors
// of Hugging Face's transformers have it. Tokens of equal logits are ordered by their ids.
type Sampling struct {
	// Temperature is what logits are divided by. It is not negative; 0 is greedy.
	Temperature float64 `json:"temperature,omitempty"`
	// TopK is how many of the most likely tokens are kept; 0 or -1 for all.
	TopK int `json:"top_k,omitempty"`
	// TopP keeps the smallest set of most likely tokens whose probabilities reach it; 0 or 1 for all.
	TopP float64 `json:"top_p,omitempty"`
	// MinP keeps tokens that are at least this times as likely as the most likely one.
	MinP float64 `json:"min_p,omitempty"`
	// TypicalP keeps the smallest set of tokens whose probabilities reach it, those first whose
	// surprise is nearest to the entropy (Meister et al., "Locally typical sampling", 2022); 0 or 1
	// for all.
	TypicalP float64 `json:"typical_p,omitempty"`
	// Mirostat is 2 for the second algorithm of Basu et al., "Mirostat", 2021, and 0 for none. It
	// keeps tokens whose surprise is at most a bound, which follows the target MirostatTau, in bits,
	// at the rate MirostatEta; 0 are 5 and 0.1.
	Mirostat    int     `json:"mirostat,omitempty"`
	MirostatTau float64 `json:"mirostat_tau,omitempty"`
	MirostatEta float64 `json:"mirostat_eta,omitempty"`

	// RepetitionPenalty is for tokens among the last RepeatLastN, prompt included; 0 or 1 for none
	// (Keskar et al., "CTRL", 2019). RepeatLastN of 0 is all.
	RepetitionPenalty float64 `json:"repetition_penalty,omitempty"`
	RepeatLastN       int     `json:"repeat_last_n,omitempty"`
	// FrequencyPenalty is taken from the logit of a token for each time that it was generated,
	// PresencePenalty once. The prompt does not count.
	FrequencyPenalty float64 `json:"frequency_penalty,omitempty"`
	PresencePenalty  float64 `json:"presence_penalty,omitempty"`
	// DRYMultiplier times DRYBase^(n - DRYAllowedLength) is taken from a token that would make the
	// last n tokens, which occurred before, go on as they did then, if n is at least
	// DRYAllowedLength ("don't repeat yourself"). 0 of these two are 1.75 and 2. It looks at the
	// last DRYLastN tokens, 0 for all, and no further back than the last token that has one of
	// DRYBreakers in its text; nil are a line feed, a colon, a quote and an asterisk.
	DRYMultiplier    float64  `json:"dry_multiplier,omitempty"`
	DRYBase          float64  `json:"dry_base,omitempty"`
	DRYAllowedLength int      `json:"dry_allowed_length,omitempty"`
	DRYLastN         int      `json:"dry_penalty_last_n,omitempty"`
	DRYBreakers      []string `json:"dry_sequence_breakers,omitempty"`

	// LogitBias is added to the logits of tokens; minus infinity forbids one.
	LogitBias map[int32]float64 `json:"logit_bias,omitempty"`

	// Seed makes the draws reproducible: the same seed, prompt and logits give the same tokens on
	// every device. Nil is a random one.
	Seed *uint64 `json:"seed,omitempty"`

	// LogProbs asks for the logarithm of the probability of each token, and TopLogProbs for those of
	// that many most likely ones beside it: of the softmax of the logits as the model gives them.
	LogProbs    bool `json:"logprobs,omitempty"`
	TopLogProbs int  `json:"top_logprobs,omitempty"`
}

// maxTopLogProbs bounds [Sampling.TopLogProbs].
const maxTopLogProbs = 1024

// check reports an option whose value has no meaning.
func (o *Sampling) check() error {
	for _, c := range []struct {
		name      string
		x         float64
		low, high float64
	}{
		{"temperature", o.Temperature, 0, 1e6},
		{"top_k", float64(o.TopK), -1, math.MaxInt32},
		{"top_p", o.TopP, 0, 1},
		{"min_p", o.MinP, 0, 1},
		{"typical_p", o.TypicalP, 0, 1},
		{"mirostat_tau", o.MirostatTau, 0, 1000},
		{"mirostat_eta", o.MirostatEta, 0, 1},
		{"repetition_penalty", o.RepetitionPenalty, 0, 1e6},
		{"repeat_last_n", float64(o.RepeatLastN), 0, math.MaxInt32},
		{"frequency_penalty", o.FrequencyPenalty, -1e6, 1e6},
		{"presence_penalty", o.PresencePenalty, -1e6, 1e6},
		{"dry_multiplier", o.DRYMultiplier, 0, 1e6},
		{"dry_allowed_length", float64(o.DRYAllowedLength), 0, math.MaxInt32},
		{"dry_penalty_last_n", float64(o.DRYLastN), 0, math.MaxInt32},
		{"top_logprobs", float64(o.TopLogProbs), 0, maxTopLogProbs},
	} {
		if !(c.low <= c.x && c.x <= c.high) {
			return fmt.Errorf("%w: %s is %v, want %v to %v", ErrOption, c.name, c.x, c.low, c.high)
		}
	}
	if o.Temperature > 0 && o.Temperature < 1e-6 {
		return fmt.Errorf("%w: temperature is %v: want at least 1e-6, or 0 for greedy", ErrOption, o.Temperature)
	}
	if o.DRYBase != 0 && !(o.DRYBase >= 1 && o.DRYBase <= 1e6) {
		return fmt.Errorf("%w: dry_base is %v, want 1 to 1e6", ErrOption, o.DRYBase)
	}
	if o.Mirostat != 0 && o.Mirostat != 2 {
		return fmt.Errorf("%w: mirostat is %d, want 0 or 2", ErrOption, o.Mirostat)
	}
	for id, bias := range o.LogitBias {
		if id < 0 || math.IsNaN(bias) || bias > math.MaxFloat32 {
			return fmt.Errorf("%w: logit_bias of token %d is %v", ErrOption, id, bias)
		}
	}
	return nil
}

// withDefaults returns the options with the numbers that 0 stands for.
func (o Sampling) withDefaults() Sampling {
	set := func(x *float64, to float64) {
		if *x == 0 {
			*x = to
		}
	}
	set(&o.MirostatTau, 5)
	set(&o.MirostatEta, 0.1)
	set(&o.RepetitionPenalty, 1)
	set(&o.DRYBase, 1.75)
	set(&o.TopP, 1)
	set(&o.TypicalP, 1)
	o.TopK = max(o.TopK, 0)
	if o.DRYAllowedLength == 0 {
		o.DRYAllowedLength = 2
	}
	if o.DRYBreakers == nil {
		o.DRYBreakers = []string{"\n", ":", "\"", "*"}
	}
	return o
}

// greedy says whether the largest logit is taken.
func (o *Sampling) greedy() bool { return o.Temperature == 0 }

// scale is what logits are multiplied with.
func (o *Sampling) scale() float32 {
	if o.greedy() {
		return 1
	}
	return float32(1 / o.Temperature)
}

// filters says whether tokens are dropped before one is drawn.
func (o *Sampling) filters() bool {
	return !o.greedy() && (o.Mirostat != 0 || o.TopK > 0 || o.TopP < 1 || o.MinP > 0 || o.TypicalP < 1)
}

// randomSeed is the seed where none is given.
func randomSeed() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
