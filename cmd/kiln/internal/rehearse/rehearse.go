package rehearse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gokiln/kiln/internal/lmbench"
	"github.com/gokiln/kiln/models"
	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/tensor"
)

// Work is the most that a model is used for.
type Work struct {
	Sequences int // that grow together
	Chunk     int // tokens of prompts in a step
}

// Model rehearses a model: one that makes text alone, as kiln run has it, and in pages, as kiln serve
// does, and any other as an encoder.
func Model(path string, o models.Options, w Work) error {
	_, sentences := os.Stat(filepath.Join(path, "modules.json")) // of sentence-transformers
	err := models.ErrConfig
	if sentences != nil {
		err = text(path, o, w)
	}
	if errors.Is(err, models.ErrConfig) {
		e, its := models.OpenEncoder(path, o)
		switch {
		case its == nil:
			err = encoder(e)
		case sentences == nil:
			err = its
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.Device.Name(), err)
	}
	return nil
}

// text rehearses a model that makes text.
func text(path string, o models.Options, w Work) error {
	for _, o.Paged = range []bool{false, true} {
		lm, err := models.Open(path, o)
		if err != nil {
			return err
		}
		r := &rehearsal{Work: w, lm: lm, context: longest}
		if most := lm.Config.MaxPositions; most > 0 {
			r.context = min(r.context, most)
		}
		switch {
		case lm.Encodes():
			return r.translate()
		case o.Paged:
			r.together()
		default:
			r.alone()
		}
		if r.err != nil {
			return r.err
		}
	}
	return nil
}

// longest is up to which length sequences are fed.
const longest = 1 << 15

// rehearsal is that of a model on a device.
type rehearsal struct {
	Work
	lm      *models.LM
	context int   // tokens of a sequence
	err     error // the first one
}

// counts are numbers up to n: all small ones, and others about powers of two.
func counts(n int) (list []int) {
	for i := 1; i <= 17; i++ {
		list = append(list, i)
	}
	for x := 32; x < 2*n; x *= 2 {
		list = append(list, x-1, x, x+1, x*5/4, x*3/2)
	}
	list = append(list, n)
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(x int) bool { return x > n })
}

// alone is one sequence after the other, each with memory of its own, and several as a benchmark has
// them.
func (r *rehearsal) alone() {
	for _, size := range counts(r.Chunk) {
		r.prompts(1, size)
	}
	r.long()
	r.drafts()
	r.samplers(1)
	for _, n := range []int{1, 2, 3, 4, 8, 16} {
		r.decode(n)
	}
	_, err := lmbench.CopyRate(r.lm.Device)
	r.fails(err)
}

// together is sequences in pages.
func (r *rehearsal) together() {
	for _, n := range counts(r.Sequences) {
		sizes := []int{2 * n, 8 * n, r.Chunk}
		if n <= 2 {
			sizes = counts(r.Chunk)
		}
		for _, size := range sizes {
			r.prompts(n, size)
		}
		r.decode(n)
	}
	r.long()
	for n := 1; n <= min(2, r.Sequences); n++ {
		r.samplers(n)
	}
}

func (r *rehearsal) fails(err error) {
	if r.err == nil {
		r.err = err
	}
}

// with calls f with new sequences.
func (r *rehearsal) with(n int, f func(list []*models.Sequence)) {
	var list []*models.Sequence
	for range n {
		list = append(list, r.lm.NewSequence())
	}
	f(list)
	for _, s := range list {
		s.Close()
	}
}

// same returns so many ids for each of n sequences.
func same(n, ids int) [][]int32 { return slices.Repeat([][]int32{make([]int32, ids)}, n) }

// step feeds ids.
func (r *rehearsal) step(list []*models.Sequence, ids [][]int32) {
	if r.err == nil {
		r.fails(r.lm.Step(list, ids).Err())
	}
}

// prompts feeds parts of prompts that are size tokens in all to n sequences, and then one beside tokens
// of the others, as far as they fit the context.
func (r *rehearsal) prompts(n, size int) {
	if size < n || 2*size > r.context {
		return
	}
	ids := same(n, size/n)
	ids[0] = make([]int32, size-(n-1)*(size/n))
	r.with(n, func(list []*models.Sequence) {
		r.step(list, ids)
		if n == 1 || r.err != nil {
			return
		}
		ids := same(n, 1)
		ids[n-1] = make([]int32, max(2, size-n+1))
		r.sample(r.lm.Step(list, ids).Narrow(0, 0, n-1), options[0])
	})
}

// decode takes tokens of n sequences, as generations and as benchmarks do: the first step of its kind,
// the one that is captured, and one that is replayed.
func (r *rehearsal) decode(n int) {
	if r.context < 16 {
		return
	}
	r.with(n, func(list []*models.Sequence) {
		r.step(list, same(n, 2))
		for range 3 {
			r.next(list, options[0])
		}
		for range 3 {
			if r.err == nil {
				_, err := tensor.ToSlice[int64](lmbench.Step(r.lm, list, same(n, 1)))
				r.fails(err)
			}
		}
	})
}

// long feeds a sequence its whole context. At lengths of powers of two it takes tokens, by graphs and
// beside the prompt of another.
func (r *rehearsal) long() {
	r.with(2, func(list []*models.Sequence) {
		one := list[:1]
		for fed, next := 0, 16; r.err == nil; next *= 2 {
			for fed < next && r.err == nil {
				n := min(r.Chunk, next-fed)
				if fed+n+4 > r.context {
					return
				}
				r.step(one, same(1, n))
				fed += n
			}
			for range 3 {
				r.next(one, options[0])
				fed++
			}
			r.step(list, [][]int32{{0}, {0, 0}})
			fed++
		}
	})
}

// drafts has guesses checked, of two tokens by all options: scores are all the same, and most options
// then look at the whole vocabulary, which takes long.
func (r *rehearsal) drafts() {
	for n := 2; n <= 17 && 2*n < r.context; n++ {
		r.with(1, func(list []*models.Sequence) {
			for range 2 {
				if r.err != nil {
					return
				}
				logits := r.lm.StepAll(list[0], make([]int32, n))
				some := options
				if n > 2 {
					some = options[:1]
				}
				for _, o := range some {
					r.sample(logits, o)
				}
			}
		})
	}
}

// options choose by different operations.
var options = []generate.Sampling{
	{},
	{Temperature: 1},
	{Temperature: 0.8, MinP: 0.05},
	{Temperature: 1, TopK: 40, TopP: 0.9},
	{Temperature: 1, TopP: 0.9},
	{Temperature: 1, TypicalP: 0.9},
	{Temperature: 1, Mirostat: 2},
	{RepetitionPenalty: 1.1},
	{Temperature: 0.8, MinP: 0.05, RepetitionPenalty: 1.1},
	{LogProbs: true},
	{LogProbs: true, TopLogProbs: 20},
	{Temperature: 0.8, TopP: 0.9, RepetitionPenalty: 1.1, LogProbs: true, TopLogProbs: 5},
}

// samplers takes tokens of n sequences by all options, as parts of steps and behind them.
func (r *rehearsal) samplers(n int) {
	r.with(n, func(list []*models.Sequence) {
		r.step(list, same(n, 2))
		for _, o := range options {
			for range 3 {
				r.next(list, o)
			}
			if r.err == nil {
				r.sample(r.lm.Step(list, same(n, 1)), o)
			}
		}
	})
}

// chosen returns samplers for n rows, which have seen a token.
func (r *rehearsal) chosen(n int, o generate.Sampling) (list []*generate.Sampler) {
	for range n {
		s, err := generate.NewSampler(o)
		if err == nil {
			err = s.Accept(0)
		}
		r.fails(err)
		list = append(list, s)
	}
	return list
}

// next takes a token of each sequence as a part of the step.
func (r *rehearsal) next(list []*models.Sequence, o generate.Sampling) {
	if samplers := r.chosen(len(list), o); r.err == nil {
		_, err := generate.Next(generate.Model[*models.Sequence](r.lm), list, same(len(list), 1), samplers)
		r.fails(err)
	}
}

// sample chooses of logits that a step has left.
func (r *rehearsal) sample(logits *tensor.Tensor, o generate.Sampling) {
	r.fails(logits.Err())
	if r.err == nil {
		_, err := generate.Sample(logits, r.chosen(logits.Size(0), o))
		r.fails(err)
	}
}
