package generate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/internal/bytetokens"
	"github.com/gokiln/kiln/tensor"
)

func newToy(t *testing.T, vocab int) *toy {
	t.Helper()
	dev, err := tensor.Open("cpu")
	require.NoError(t, err)
	return &toy{dev: dev, vocab: vocab, seed: 7}
}

// ids runs a generation in a session of its own.
func ids(t *testing.T, g *Generator[*toySequence], prompt []int32, o Options) ([]int32, Usage) {
	t.Helper()
	s := g.NewSession()
	defer s.Close()
	run, err := s.Generate(context.Background(), prompt, o)
	require.NoError(t, err)
	var out []int32
	for tok, err := range run.Tokens() {
		require.NoError(t, err)
		out = append(out, tok.ID)
	}
	return out, run.Usage()
}

// says has a generator whose model says a text, then eos.
func says(t *testing.T, text string) *Generator[*toySequence] {
	m := newToy(t, 257)
	for _, b := range []byte(text) {
		m.script = append(m.script, int32(b))
	}
	m.script = append(m.script, eos)
	return &Generator[*toySequence]{Model: m, Tokenizer: bytetokens.New(t), EOS: []int32{eos}}
}

// The loop gives what choosing of the logits one by one does, however the prompt is fed.
func TestGenerate(t *testing.T) {
	m := newToy(t, 30)
	prompt := []int32{4, 9, 2, 8, 1}
	for _, chunk := range []int{0, 1, 2, 5} {
		for _, o := range []Sampling{{}, {Temperature: 1}, {Temperature: 1, RepetitionPenalty: 1.5}} {
			g := &Generator[*toySequence]{Model: m, Chunk: chunk}
			got, usage := ids(t, g, prompt, Options{Sampling: seeded(o, 3), MaxTokens: 20})
			s := newSampler(t, seeded(o, 3))
			s.Prompt(prompt)
			all := slices.Clone(prompt)
			for range 20 {
				c, err := s.Pick(m.logits(all))
				require.NoError(t, err)
				require.NoError(t, s.Accept(c.ID))
				all = append(all, c.ID)
			}
			require.Equal(t, all[len(prompt):], got)
			require.Equal(t, ReasonLength, usage.Reason)
			require.Equal(t, 20, usage.CompletionTokens)
			require.Positive(t, usage.DecodeRate())
			require.Positive(t, usage.PrefillRate())
		}
	}
}

// Text comes in whole characters, and ends at eos; the token that ends it comes with it.
func TestText(t *testing.T) {
	const text = "héllo, 🌍 wörld"
	g := says(t, text)
	s := g.NewSession()
	run, err := s.Generate(context.Background(), []int32{1}, Options{})
	require.NoError(t, err)
	var parts []string
	var last Token
	for tok, err := range run.Tokens() {
		require.NoError(t, err)
		parts, last = append(parts, tok.Text), tok
	}
	require.Equal(t, text, strings.Join(parts, ""))
	require.Len(t, parts, len(text)+1)
	require.Equal(t, []string{"h", "", "é"}, parts[:3])
	require.Equal(t, int32(eos), last.ID)
	require.Equal(t, ReasonStop, run.Usage().Reason)
	for _, err := range run.Tokens() {
		require.ErrorContains(t, err, "read already")
	}
	_, usage := ids(t, g, []int32{1}, Options{IgnoreEOS: true, MaxTokens: 40})
	require.Equal(t, 40, usage.CompletionTokens)
}

// A character that is cut off at the end becomes a replacement character.
func TestCutCharacter(t *testing.T) {
	run, err := says(t, "aé").NewSession().Generate(context.Background(), []int32{1}, Options{MaxTokens: 2})
	require.NoError(t, err)
	text, err := run.Text()
	require.NoError(t, err)
	require.Equal(t, "a\ufffd", text)
}

func TestStop(t *testing.T) {
	for _, c := range []struct {
		text, want string
		stops      []string
	}{
		{"one two three", "one ", []string{"two"}},
		{"one two three", "one two three", []string{"four", "threee"}},
		{"aaab", "a", []string{"aab"}},
		{"xabcy", "xa", []string{"abcd", "b"}},
		{"xabcy", "x", []string{"abc", "c"}},
		{"héé!", "h", []string{"éé"}},
		{"end", "", []string{"end"}},
	} {
		run, err := says(t, c.text).NewSession().Generate(context.Background(), []int32{1}, Options{Stop: c.stops})
		require.NoError(t, err)
		got, err := run.Text()
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%q %q", c.text, c.stops)
		require.Equal(t, ReasonStop, run.Usage().Reason)
	}
}

// What comes out is the text in front of the stop string that is complete first, however the text
// is cut, and nothing is buffered that no stop string begins with.
func TestStopPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "ab"[r.IntN(2)]
		}
		return string(b)
	}
	tok := bytetokens.New(t)
	for range 3000 {
		text, stops := word(r.IntN(12)), []string{word(1 + r.IntN(5)), word(1 + r.IntN(5))}
		want := text
		for end := range len(text) + 1 {
			cut := len(text) + 1
			for _, s := range stops {
				if strings.HasSuffix(text[:end], s) {
					cut = min(cut, end-len(s))
				}
			}
			if cut <= len(text) {
				want = text[:cut]
				break
			}
		}
		p, got := &pieces{stream: tok.Stream(true), stops: stops}, ""
		for rest, stopped := text, false; rest != "" && !stopped; {
			n := 1 + r.IntN(len(rest))
			var part string
			part, stopped = p.add(rest[:n])
			got, rest = got+part, rest[n:]
			for _, s := range stops {
				require.False(t, p.held != "" && !strings.HasPrefix(s, p.held) && p.open() == 0)
			}
		}
		require.Equal(t, want, got+p.flush(), "%q %q", text, stops)
	}
}

// What was fed is used again by the next prompt that begins with it, and not where it differs.
func TestSession(t *testing.T) {
	for _, state := range []bool{false, true} {
		m := newToy(t, 30)
		m.state = state
		g := &Generator[*toySequence]{Model: m}
		s := g.NewSession()
		turn := func(prompt []int32, n int) []int32 {
			run, err := s.Generate(context.Background(), prompt, Options{MaxTokens: n})
			require.NoError(t, err)
			var out []int32
			for tok, err := range run.Tokens() {
				require.NoError(t, err)
				out = append(out, tok.ID)
			}
			want, _ := ids(t, g, prompt, Options{MaxTokens: n})
			require.Equal(t, want, out)
			return out
		}
		prompt := []int32{1, 2, 3}
		prompt = append(append(prompt, turn(prompt, 5)...), 6, 7)
		m.fed = 0
		turn(prompt, 1)
		require.Equal(t, 3+len(prompt), m.fed, "the last token of the answer, two new ones; all again in ids")
		turn([]int32{1, 2, 9, 9}, 3)
		turn([]int32{1, 2, 9, 9}, 3)
		turn([]int32{5}, 3)
	}
}

// A reader that stops early, and a context that ends, leave the session usable.
func TestCancel(t *testing.T) {
	g := says(t, "abcdef<stop>ghi")
	s := g.NewSession()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run, err := s.Generate(ctx, []int32{1}, Options{Stop: []string{"<stop>"}})
	require.NoError(t, err)
	text := ""
	var last error
	for tok, err := range run.Tokens() {
		text += tok.Text
		if last = err; err != nil {
			require.Equal(t, int32(-1), tok.ID)
		}
		if tok.ID == '<' {
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	require.Equal(t, "abcdef<", text, "with what was buffered")
	require.Empty(t, run.Usage().Reason)

	run, err = s.Generate(context.Background(), []int32{1}, Options{})
	require.NoError(t, err)
	for tok := range run.Tokens() {
		if tok.ID == 'c' {
			break
		}
	}
	require.Equal(t, 3, run.Usage().CompletionTokens)
	run, err = s.Generate(context.Background(), []int32{1}, Options{Stop: []string{"<stop>"}})
	require.NoError(t, err)
	text, err = run.Text()
	require.NoError(t, err)
	require.Equal(t, "abcdef", text)
}

// An error of the model ends the generation; the session begins anew behind it.
func TestModelFails(t *testing.T) {
	m := newToy(t, 30)
	m.fails = 4
	g := &Generator[*toySequence]{Model: m}
	s := g.NewSession()
	prompt := []int32{1, 2}
	run, err := s.Generate(context.Background(), prompt, Options{MaxTokens: 9})
	require.NoError(t, err)
	_, err = run.Text()
	require.ErrorContains(t, err, "planted")
	run, err = s.Generate(context.Background(), prompt, Options{MaxTokens: 9})
	require.NoError(t, err)
	var out []int32
	for tok := range run.Tokens() {
		out = append(out, tok.ID)
	}
	want, _ := ids(t, g, prompt, Options{MaxTokens: 9})
	require.Equal(t, want, out)
}

// Guesses change how tokens are computed, and none of them: greedy, drawn, penalised, constrained,
// of models that forget tokens and of such that do not.
func TestSpeculation(t *testing.T) {
	prompt := []int32{4, 9, 2, 8, 1, 4, 9}
	for name, o := range everyKind() {
		o.LogitBias = nil
		fed := map[string]int{}
		for _, state := range []bool{false, true} {
			m, other := newToy(t, 12), newToy(t, 12)
			m.state, other.state, other.seed = state, state, 8
			g := &Generator[*toySequence]{Model: m, Context: 45}
			options := Options{Sampling: seeded(o, 3), StopIDs: []int32{0}}
			if name == "top p" {
				options.Constraint = &odd{}
			}
			want, _ := ids(t, g, prompt, options)
			for kind, draft := range map[string]Drafter{
				"lookup": PromptLookup{},
				"same":   NewDraftModel(g),
				"other":  NewDraftModel(&Generator[*toySequence]{Model: other}),
			} {
				for _, n := range []int{0, 1, 7} {
					options.Draft, options.DraftTokens = draft, n
					before, of := m.fed, fmt.Sprint(kind, n)
					got, usage := ids(t, g, prompt, options)
					if !state {
						fed[of] = m.fed - before
					}
					if kind != "same" { // which is fed with guesses, too
						require.LessOrEqual(t, m.fed-before, 2*fed[of], "what was right is fed once more")
					}
					require.Equal(t, want, got, "%s, %s, %d", name, kind, n)
					if name == "greedy" && kind == "same" {
						require.GreaterOrEqual(t, usage.AcceptedTokens+1, usage.DraftTokens)
					}
					require.LessOrEqual(t, usage.AcceptedTokens, usage.DraftTokens)
				}
			}
		}
	}
}

func TestPromptLookup(t *testing.T) {
	guess := func(n int, ids ...int32) []int32 {
		out, err := PromptLookup{}.Draft(context.Background(), ids, n)
		require.NoError(t, err)
		return out
	}
	require.Equal(t, []int32{4, 5}, guess(2, 1, 2, 3, 4, 5, 6, 1, 2, 3))
	require.Equal(t, []int32{9, 3}, guess(2, 3, 8, 3, 9, 3), "the last time")
	require.Equal(t, []int32{7}, guess(5, 7, 7, 7))
	require.Empty(t, guess(2, 1, 2, 3))
	require.Empty(t, guess(2, 1))
}

func TestGenerateRefused(t *testing.T) {
	g := &Generator[*toySequence]{Model: newToy(t, 30), Context: 4}
	s := g.NewSession()
	for want, c := range map[string]struct {
		prompt []int32
		o      Options
	}{
		"no tokens":        {nil, Options{}},
		"too long":         {[]int32{1, 2, 3, 4}, Options{}},
		"max_tokens -1":    {[]int32{1}, Options{MaxTokens: -1}},
		"need a tokenizer": {[]int32{1}, Options{Stop: []string{"x"}}},
		"temperature":      {[]int32{1}, Options{Sampling: Sampling{Temperature: -1}}},
	} {
		_, err := s.Generate(context.Background(), c.prompt, c.o)
		require.ErrorContains(t, err, want)
	}
	_, err := says(t, "x").NewSession().Generate(context.Background(), []int32{1}, Options{Stop: []string{""}})
	require.ErrorIs(t, err, ErrOption)
}

// best is the best texts of n tokens, or fewer that end, by trying all.
func best(m *toy, prompt []int32, n int, end int32, score func(p float64, n int) float64) (out []Beam) {
	var extend func(ids []int32, p float64)
	extend = func(ids []int32, p float64) {
		if len(ids) == n || len(ids) > 0 && ids[len(ids)-1] == end {
			out = append(out, Beam{IDs: ids, LogProb: p, Score: score(p, len(ids))})
			return
		}
		logits := m.logits(append(slices.Clone(prompt), ids...))
		sum := 0.0
		for _, z := range logits {
			sum += math.Exp(float64(z))
		}
		for id, z := range logits {
			extend(append(slices.Clone(ids), int32(id)), p+float64(z)-math.Log(sum))
		}
	}
	extend(nil, 0)
	slices.SortStableFunc(out, byScore)
	return out
}

// A search that is wide enough finds the best of all texts; of width 1 it is greedy.
func TestBeam(t *testing.T) {
	for _, penalty := range []float64{0, 1, -0.5} {
		m := newToy(t, 5)
		g := &Generator[*toySequence]{Model: m, EOS: []int32{2}}
		prompt := []int32{1, 3}
		got, err := g.Beam(context.Background(), prompt, BeamOptions{Width: 125, MaxTokens: 4, LengthPenalty: penalty})
		require.NoError(t, err)
		want := best(m, prompt, 4, 2, func(p float64, n int) float64 { return p / math.Pow(float64(n), penalty) })
		for i := range 20 {
			require.Equal(t, want[i].IDs, got[i].IDs, "beam %d, penalty %v", i, penalty)
			require.InDelta(t, want[i].Score, got[i].Score, 1e-5)
		}
	}
	m := newToy(t, 40)
	for _, m.state = range []bool{false, true} {
		g := &Generator[*toySequence]{Model: m, Context: 12}
		got, err := g.Beam(context.Background(), []int32{3}, BeamOptions{Width: 1, MaxTokens: 8})
		require.NoError(t, err)
		greedy, _ := ids(t, g, []int32{3}, Options{MaxTokens: 8})
		require.Equal(t, greedy, got[0].IDs)
		wide, err := g.Beam(context.Background(), []int32{3}, BeamOptions{Width: 4, MaxTokens: 80})
		require.NoError(t, err)
		require.Len(t, wide, 4)
		require.Len(t, wide[0].IDs, 11)
		p := 0.0
		for i := range wide[0].IDs {
			s := newSampler(t, Sampling{TopLogProbs: 40})
			c, err := s.Pick(m.logits(append([]int32{3}, wide[0].IDs[:i]...)))
			require.NoError(t, err)
			p += c.Top[slices.IndexFunc(c.Top, func(x TokenProb) bool { return x.ID == wide[0].IDs[i] })].LogProb
		}
		require.InDelta(t, p, wide[0].LogProb, 1e-4)
	}
	for seed := range uint64(10) { // a token that ends texts counts if it is among the best
		m = newToy(t, 3)
		m.seed = seed
		g := &Generator[*toySequence]{Model: m, EOS: []int32{2}}
		got, err := g.Beam(context.Background(), []int32{0}, BeamOptions{Width: 1, MaxTokens: 8})
		require.NoError(t, err)
		greedy, _ := ids(t, g, []int32{0}, Options{MaxTokens: 8})
		require.Equal(t, greedy, got[0].IDs)
	}
	_, err := (&Generator[*toySequence]{Model: m}).Beam(context.Background(), nil, BeamOptions{Width: 1, MaxTokens: 1})
	require.ErrorIs(t, err, ErrOption)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = (&Generator[*toySequence]{Model: m}).Beam(ctx, []int32{1}, BeamOptions{Width: 1, MaxTokens: 1})
	require.ErrorIs(t, err, context.Canceled)
}
