package generate

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/generate/kernels"
)

func seeded(o Sampling, seed uint64) Sampling {
	o.Seed = &seed
	return o
}

func newSampler(t *testing.T, o Sampling) *Sampler {
	t.Helper()
	s, err := NewSampler(o)
	require.NoError(t, err)
	return s
}

// kept is the tokens that one is drawn of and their probabilities.
func kept(t *testing.T, s *Sampler, logits []float32) map[int32]float64 {
	t.Helper()
	c := &chooser{s: s, from: &hostRow{z: logits}}
	c.rank(c.from.top(len(logits)))
	list, ok := c.filter()
	require.True(t, ok)
	c.weigh(list)
	sum, out := 0.0, map[int32]float64{}
	for _, w := range c.weight[:len(list)] {
		sum += w
	}
	for i, e := range list {
		out[e.id] = c.weight[i] / sum
	}
	return out
}

// What is kept, and how likely each is, are transformers'.
func TestGolden(t *testing.T) {
	data, err := os.ReadFile("testdata/golden.json")
	require.NoError(t, err)
	var golden struct {
		Rows    [][]float32
		History []int32
		Cases   []struct {
			Options Sampling
			Row     int
			Kept    map[int32]float64
		}
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	require.NotEmpty(t, golden.Cases)
	for i, c := range golden.Cases {
		s := newSampler(t, c.Options)
		s.Prompt(golden.History)
		got := kept(t, s, golden.Rows[c.Row])
		require.Len(t, got, len(c.Kept), "case %d: %+v", i, c.Options)
		for id, p := range c.Kept {
			require.InDelta(t, p, got[id], 1e-6, "case %d, token %d", i, id)
		}
	}
}

// Draws have the probabilities of what is kept: Pearson's chi-square over 20000 positions.
func TestDistribution(t *testing.T) {
	logits := []float32{1.2, -0.3, 2.0, 0.1, -1.5, 0.7, 1.9, -2.2, 0, 0.4}
	for name, o := range map[string]Sampling{
		"temperature": {Temperature: 1},
		"hot":         {Temperature: 2.5},
		"top k":       {Temperature: 0.8, TopK: 4},
		"top p":       {Temperature: 1, TopP: 0.9},
		"min p":       {Temperature: 1, MinP: 0.2},
		"typical":     {Temperature: 1, TypicalP: 0.7},
		"penalties":   {Temperature: 1, PresencePenalty: 1, LogitBias: map[int32]float64{7: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSampler(t, seeded(o, 42))
			want := kept(t, s, logits)
			const n = 20000
			got := make([]int, len(logits))
			for range n {
				c, err := s.Pick(logits)
				require.NoError(t, err)
				got[c.ID]++
				s.position++
			}
			chi := 0.0
			for id, count := range got {
				if e := n * want[int32(id)]; e > 0 {
					chi += (float64(count) - e) * (float64(count) - e) / e
				} else {
					require.Zero(t, count, "token %d was dropped", id)
				}
			}
			require.Less(t, chi, bounds999[len(want)-1], "degrees of freedom: %d", len(want)-1)
		})
	}
}

// bounds999 is what chi-square with so many degrees of freedom exceeds once in 1000 times.
var bounds999 = []float64{1e-9, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32, 26.12, 27.88}

// The noise is that of the Gumbel distribution, and its bounds hold.
func TestGumbel(t *testing.T) {
	const n = 100000
	sum, sqr := 0.0, 0.0
	for id := range uint32(n) {
		g := float64(kernels.Gumbel(77, id))
		require.True(t, kernels.MinGumbel < g && g < kernels.MaxGumbel)
		sum, sqr = sum+g, sqr+g*g
	}
	mean := sum / n
	require.InDelta(t, 0.57722, mean, 0.02)
	require.InDelta(t, math.Pi*math.Pi/6, sqr/n-mean*mean, 0.05)
	require.Equal(t, kernels.Gumbel(77, 9), kernels.Gumbel(77, 9))
	require.NotEqual(t, kernels.Gumbel(77, 9), kernels.Gumbel(78, 9))
}

// The same seed gives the same tokens, another one others, and positions differ.
func TestSeeds(t *testing.T) {
	logits := make([]float32, 50)
	draw := func(seed uint64) (out []int32) {
		s := newSampler(t, seeded(Sampling{Temperature: 1}, seed))
		for range 20 {
			c, err := s.Pick(logits)
			require.NoError(t, err)
			require.NoError(t, s.Accept(c.ID))
			out = append(out, c.ID)
		}
		return out
	}
	require.Equal(t, draw(1), draw(1))
	require.NotEqual(t, draw(1), draw(2))
	require.Greater(t, len(slices.Compact(slices.Sorted(slices.Values(draw(1))))), 10)
	a, b := newSampler(t, Sampling{}), newSampler(t, Sampling{})
	require.NotEqual(t, a.Seed(), b.Seed(), "random seeds")
}

// A list that is too short to decide grows, and gives what the whole row does.
func TestGrows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	logits := make([]float32, 5000)
	for i := range logits {
		logits[i] = float32(r.NormFloat64())
	}
	for name, o := range everyKind() {
		s := newSampler(t, seeded(o, 5))
		s.Prompt([]int32{1, 2, 3, 1, 2, 3, 1, 2})
		for range 20 {
			got, err := s.Pick(logits)
			require.NoError(t, err)
			c := &chooser{s: s, from: &hostRow{z: logits, scale: 0}}
			if !o.greedy() {
				c.key = s.key()
			}
			if s.o.filters() {
				c.rank(c.from.top(len(logits)))
			} else {
				if !o.greedy() {
					c.scale = s.o.scale()
				}
				c.from = &hostRow{z: logits, scale: c.scale, key: c.key}
				c.rank(c.from.top(len(logits)))
			}
			id, ok, err := c.pick()
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, id, got.ID, name)
			require.NoError(t, s.Accept(id))
		}
	}
}

// everyKind is options of each kind, alone and together.
func everyKind() map[string]Sampling {
	bias := map[int32]float64{3: 2, 8: math.Inf(-1), 4999: 5}
	several := map[int32]float64{}
	for id := range int32(20) {
		several[100+id] = 7 // together about as likely as all others
	}
	return map[string]Sampling{
		"greedy":           {},
		"greedy penalties": {RepetitionPenalty: 1.4, FrequencyPenalty: 0.5, PresencePenalty: 0.2, LogitBias: bias},
		"dry":              {DRYMultiplier: 3, DRYBase: 2},
		"temperature":      {Temperature: 0.9},
		"noise penalties":  {Temperature: 1.5, RepetitionPenalty: 1.2, LogitBias: bias},
		"top k":            {Temperature: 1, TopK: 40},
		"top k penalties":  {Temperature: 1, TopK: 40, FrequencyPenalty: 2, LogitBias: bias},
		"top p":            {Temperature: 0.7, TopP: 0.9},
		"top p cold":       {Temperature: 0.1, TopP: 0.5},
		"top p penalties":  {Temperature: 0.3, TopP: 0.5, LogitBias: bias, RepetitionPenalty: 1.1},
		"top p several":    {Temperature: 1, TopP: 0.6, LogitBias: several},
		"min p":            {Temperature: 1, MinP: 0.3},
		"typical":          {Temperature: 1, TypicalP: 0.3},
		"k and typical":    {Temperature: 1, TopK: 50, TypicalP: 0.5, MinP: 0.01, TopP: 0.99},
		"mirostat":         {Temperature: 1, Mirostat: 2, MirostatTau: 3},
		"log probs":        {Temperature: 1, LogProbs: true, TopLogProbs: 5},
	}
}

// DRY is what its definition says, which compares every earlier place with the end.
func TestDRY(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		h := make([]int32, r.IntN(40))
		for i := range h {
			h[i] = r.Int32N(3)
		}
		s := newSampler(t, Sampling{DRYMultiplier: 1.5, DRYBase: 2, DRYAllowedLength: 2})
		breaker := r.Int32N(12)
		s.Breakers(func(id int32) bool { return id == breaker })
		s.Prompt(h)
		want := map[int32]int{}
		for i := range max(len(h)-1, 0) {
			n := 0
			for n <= i && h[i-n] == h[len(h)-1-n] && h[i-n] != breaker {
				n++
			}
			if n >= 2 {
				want[h[i+1]] = max(want[h[i+1]], n)
			}
		}
		for id := range int32(3) {
			z := float32(1)
			if n := want[id]; n > 0 {
				z -= 1.5 * float32(math.Exp2(float64(n-2)))
			}
			s.adjusted()
			require.Equal(t, z, s.adjust(id, 1), "%v, token %d", h, id)
		}
	}
}

// Penalties count what they say, within the window they say.
func TestPenalties(t *testing.T) {
	s := newSampler(t, Sampling{FrequencyPenalty: 0.5, PresencePenalty: 0.25})
	s.Prompt([]int32{1, 1, 1})
	for _, id := range []int32{2, 2, 3} {
		require.NoError(t, s.Accept(id))
	}
	require.Equal(t, []int32{2, 3}, s.adjusted())
	require.Equal(t, float32(1-1.25), s.adjust(2, 1))
	require.Equal(t, float32(1-0.75), s.adjust(3, 1))
	s = newSampler(t, Sampling{RepetitionPenalty: 2, RepeatLastN: 2})
	s.Prompt([]int32{1, 4, 4})
	require.Equal(t, []int32{4}, s.adjusted())
	require.Equal(t, []float32{0.5, -2}, []float32{s.adjust(4, 1), s.adjust(4, -1)})
	require.NoError(t, s.Accept(5))
	require.NoError(t, s.Accept(6))
	require.Equal(t, []int32{5, 6}, s.adjusted())
}

// Mirostat brings the surprise of what is drawn to its target.
func TestMirostat(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s := newSampler(t, seeded(Sampling{Temperature: 1, Mirostat: 2, MirostatTau: 4}, 8))
	logits := make([]float32, 3000)
	sum, n := 0.0, 0
	for step := range 600 {
		for i := range logits {
			logits[i] = -1.2 * float32(math.Log(float64(i+1))+0.1*r.NormFloat64())
		}
		c, err := s.Pick(logits)
		require.NoError(t, err)
		if step >= 100 {
			sum, n = sum+s.last.bits, n+1
		}
		require.NoError(t, s.Accept(c.ID))
	}
	require.InDelta(t, 4, sum/float64(n), 0.15)
}

func TestLogProbs(t *testing.T) {
	s := newSampler(t, Sampling{LogProbs: true, TopLogProbs: 2, LogitBias: map[int32]float64{0: 100}})
	c, err := s.Pick([]float32{0, 1, 2})
	require.NoError(t, err)
	sum := math.Log(1 + math.E + math.E*math.E)
	require.Equal(t, int32(0), c.ID)
	require.InDelta(t, -sum, c.LogProb, 1e-6, "of the model's logits, without the bias")
	require.Equal(t, int32(2), c.Top[0].ID)
	require.InDelta(t, 1-sum, c.Top[1].LogProb, 1e-6)
	require.Len(t, c.Top, 2)
}

// Options that have no meaning are errors that name them; logits without a choice are errors.
func TestRefused(t *testing.T) {
	for name, o := range map[string]Sampling{
		"temperature":          {Temperature: -1},
		"temperature ":         {Temperature: math.NaN()},
		"temperature is 1e-08": {Temperature: 1e-8},
		"top_k":                {TopK: -2},
		"top_p":                {TopP: 1.5},
		"min_p":                {MinP: -0.1},
		"typical_p":            {TypicalP: 2},
		"mirostat is 1":        {Mirostat: 1},
		"mirostat_tau":         {MirostatTau: -1},
		"repetition_penalty":   {RepetitionPenalty: -1},
		"frequency_penalty":    {FrequencyPenalty: math.Inf(1)},
		"dry_base":             {DRYBase: 0.5},
		"top_logprobs":         {TopLogProbs: 5000},
		"token -3":             {LogitBias: map[int32]float64{-3: 1}},
		"token 3 is NaN":       {LogitBias: map[int32]float64{3: math.NaN()}},
	} {
		_, err := NewSampler(o)
		require.ErrorIs(t, err, ErrOption, name)
		require.ErrorContains(t, err, name)
	}
	s := newSampler(t, Sampling{Temperature: 1, TopK: 2})
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for want, logits := range map[string][]float32{
		"NaN": {1, nan, 2}, "infinite": {1, inf}, "forbidden": {-inf, -inf}, "no logits": nil,
	} {
		_, err := s.Pick(logits)
		require.ErrorContains(t, err, want)
	}
}

// odd allows odd tokens.
type odd struct{ accepted []int32 }

func (o *odd) Allowed(id int32) bool { return id%2 == 1 }
func (o *odd) Accept(id int32) error { o.accepted = append(o.accepted, id); return nil }

func TestConstrain(t *testing.T) {
	logits := make([]float32, 5000)
	for i := range logits {
		logits[i] = float32(i % 7)
	}
	for name, o := range everyKind() {
		s, limit := newSampler(t, seeded(o, 3)), &odd{}
		s.Constrain(limit)
		for range 10 {
			c, err := s.Pick(logits)
			require.NoError(t, err, name)
			require.NoError(t, s.Accept(c.ID))
		}
		require.Len(t, limit.accepted, 10)
		for _, id := range limit.accepted {
			require.Equal(t, int32(1), id%2, name)
		}
	}
}
