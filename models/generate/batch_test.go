package generate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/models/internal/bytetokens"
)

// request is a generation of the tests.
type request struct {
	prompt []int32
	o      Options
}

// requests are many of different lengths and options.
func requests(n int) []request {
	r := rand.New(rand.NewPCG(3, 4))
	list := make([]request, n)
	for i := range list {
		q := &list[i]
		for range 1 + r.IntN(30) {
			q.prompt = append(q.prompt, r.Int32N(250))
		}
		q.o.MaxTokens = 1 + r.IntN(40)
		q.o.Sampling = seeded(Sampling{Temperature: []float64{0, 0.7, 1.3}[i%3]}, uint64(i))
		switch i % 5 {
		case 1:
			q.o.TopK, q.o.RepetitionPenalty = 9, 1.3
		case 2:
			q.o.TopP, q.o.LogProbs, q.o.TopLogProbs = 0.9, true, 2
		case 3:
			q.o.MinP, q.o.FrequencyPenalty, q.o.Stop = 0.1, 0.4, []string{"a", "\x01"}
		case 4:
			q.o.LogitBias = map[int32]float64{eos: 4}
		}
	}
	return list
}

// answered is what a generation gave.
type answered struct {
	tokens []Token
	reason string
}

// alone runs a generation in a session.
func alone(t *testing.T, g *Generator[*toySequence], q request) (a answered) {
	s := g.NewSession()
	defer s.Close()
	run, err := s.Generate(context.Background(), q.prompt, q.o)
	require.NoError(t, err)
	for tok, err := range run.Tokens() {
		require.NoError(t, err)
		a.tokens = append(a.tokens, tok)
	}
	a.reason = run.Usage().Reason
	return a
}

// same compares what generations gave. Logarithms of sums are rounded differently on the host.
func same(t *testing.T, want, got answered, about ...any) {
	t.Helper()
	require.Equal(t, want.reason, got.reason, about...)
	require.Len(t, got.tokens, len(want.tokens), about...)
	require.Equal(t, got.reason, got.tokens[len(got.tokens)-1].Reason, about...)
	for i, w := range want.tokens {
		g := got.tokens[i]
		require.Equal(t, w.ID, g.ID, about...)
		require.Equal(t, w.Text, g.Text, about...)
		require.Equal(t, w.Reason, g.Reason, about...)
		require.InDelta(t, w.LogProb, g.LogProb, 1e-5, about...)
		require.Len(t, g.Top, len(w.Top), about...)
		for k, top := range w.Top {
			require.Equal(t, top.ID, g.Top[k].ID, about...)
			require.InDelta(t, top.LogProb, g.Top[k].LogProb, 1e-5, about...)
		}
	}
}

// together runs generations in a batch, each read by a goroutine of its own.
func together(b *Batch[*toySequence], list []request) ([]answered, error) {
	out, errs := make([]answered, len(list)), make([]error, len(list))
	var wait sync.WaitGroup
	for i, q := range list {
		wait.Go(func() {
			s, err := b.Start(context.Background(), q.prompt, q.o)
			if err != nil {
				errs[i] = err
				return
			}
			for tok, err := range s.Tokens() {
				if err != nil {
					errs[i] = err
					return
				}
				out[i].tokens = append(out[i].tokens, tok)
			}
			out[i].reason = s.Usage().Reason
		})
	}
	wait.Wait()
	return out, errors.Join(errs...)
}

// A batch gives what sessions do, with more or less room, also where steps fail.
func TestBatch(t *testing.T) {
	tok, list := bytetokens.New(t), requests(60)
	g := &Generator[*toySequence]{Model: newToy(t, 257), Tokenizer: tok, EOS: []int32{eos}, Context: 64}
	want := make([]answered, len(list))
	for i, q := range list {
		want[i] = alone(t, g, q)
	}
	for name, c := range map[string]struct {
		o      BatchOptions
		chunk  int
		fails  int
		memory int
		state  bool
		check  func(t *testing.T, s BatchStats)
	}{
		"all":   {check: func(t *testing.T, s BatchStats) { require.Zero(t, s.Preempted) }},
		"chunk": {chunk: 7, o: BatchOptions{Sequences: 20}},
		"tight": {o: BatchOptions{Sequences: 30, Tokens: 200, Page: 8},
			check: func(t *testing.T, s BatchStats) { require.Positive(t, s.Preempted) }},
		"kept":   {o: BatchOptions{Sequences: 4, Kept: 3, Tokens: 150}},
		"states": {o: BatchOptions{Sequences: 4, Kept: 3}, state: true},
		"one":    {o: BatchOptions{Sequences: 1}},
		"fails":  {fails: 9, check: func(t *testing.T, s BatchStats) { require.Equal(t, 1, s.Preempted) }},
		"memory": {memory: 300, o: BatchOptions{Sequences: 40},
			check: func(t *testing.T, s BatchStats) { require.Positive(t, s.Preempted) }},
		"memory of states": {memory: 200, state: true, o: BatchOptions{Kept: 3}},
		"kept fail":        {fails: 30, o: BatchOptions{Sequences: 5, Kept: 3}, state: true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newToy(t, 257)
			m.crowd, m.memory, m.state = c.fails, c.memory, c.state
			g := *g
			g.Model, g.Chunk = m, c.chunk
			b := NewBatch(&g, c.o)
			got, err := together(b, list)
			require.NoError(t, err)
			stats := b.Stats()
			require.NoError(t, b.Close(context.Background()))
			require.Zero(t, m.live)
			require.Zero(t, b.Stats().Tokens)
			for i := range list {
				same(t, want[i], got[i], "%d: %+v", i, list[i])
			}
			if c.check != nil {
				c.check(t, stats)
			}
			require.LessOrEqual(t, stats.Kept, c.o.Kept)
			sum := 0
			for _, a := range want {
				sum += len(a.tokens)
			}
			require.Equal(t, sum, stats.CompletionTokens)
		})
	}
}

// A turn of a conversation uses what the one before left.
func TestBatchKept(t *testing.T) {
	m := newToy(t, 257)
	g := &Generator[*toySequence]{Model: m}
	b := NewBatch(g, BatchOptions{Kept: 2})
	defer b.Close(context.Background())
	prompt := []int32{1, 2, 3, 4, 5, 6}
	for _, cached := range []int{0, 5, 9} {
		q := request{prompt, Options{MaxTokens: 4}}
		want := alone(t, g, q)
		fed := m.fed
		s, err := b.Start(context.Background(), q.prompt, q.o)
		require.NoError(t, err)
		for tok, err := range s.Tokens() {
			require.NoError(t, err)
			require.Equal(t, want.tokens[0], tok)
			want.tokens = want.tokens[1:]
			if cached > 0 {
				prompt = append(prompt, tok.ID)
			}
		}
		require.Equal(t, cached, s.Usage().CachedTokens)
		require.Equal(t, len(q.prompt)-cached+3, m.fed-fed)
	}
	require.Equal(t, 6+6+10, b.Stats().PromptTokens)
	require.Equal(t, 14, b.Stats().CachedTokens)
}

// Who leaves frees its memory, whether it grows or waits.
func TestBatchLeave(t *testing.T) {
	m := newToy(t, 257)
	b := NewBatch(&Generator[*toySequence]{Model: m}, BatchOptions{Sequences: 2, Waiting: 2, Kept: 5})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	endless := Options{Sampling: seeded(Sampling{Temperature: 1}, 1)}
	var list []*Stream
	start := func(ctx context.Context) {
		s, err := b.Start(ctx, []int32{1, 2}, endless)
		require.NoError(t, err)
		list = append(list, s)
	}
	first := func(s *Stream) {
		for _, err := range s.Tokens() {
			require.NoError(t, err)
			return
		}
	}
	become := func(running, waiting int) {
		t.Helper()
		require.Eventually(t, func() bool {
			s := b.Stats()
			return s.Running == running && s.Waiting == waiting && (running > 0) == (s.Tokens > 0)
		}, time.Minute, time.Millisecond)
	}
	start(ctx)
	start(context.Background())
	become(2, 0)
	start(ctx)
	start(context.Background())
	become(2, 2)
	_, err := b.Start(ctx, []int32{1}, endless)
	require.ErrorIs(t, err, ErrBusy)
	require.Equal(t, 1, b.Stats().Refused)
	cancel()
	become(2, 0)
	for _, i := range []int{0, 2} {
		_, err := list[i].Text()
		require.ErrorIs(t, err, context.Canceled)
	}
	first(list[1]) // reads a token, and no more
	become(1, 0)
	list[3].Close()
	become(0, 0)
	start(context.Background())
	become(1, 0)
	short, done := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer done()
	require.ErrorIs(t, b.Close(short), context.DeadlineExceeded)
	_, err = list[4].Text()
	require.ErrorIs(t, err, ErrClosed)
	_, err = b.Start(context.Background(), []int32{1}, endless)
	require.ErrorIs(t, err, ErrClosed)
	require.Zero(t, m.live)
}

// Close waits for generations that have begun.
func TestBatchDrain(t *testing.T) {
	b := NewBatch(&Generator[*toySequence]{Model: newToy(t, 257)}, BatchOptions{Sequences: 1})
	var list []*Stream
	for range 3 {
		s, err := b.Start(context.Background(), []int32{1, 2}, Options{MaxTokens: 50})
		require.NoError(t, err)
		list = append(list, s)
	}
	require.NoError(t, b.Close(context.Background()))
	for _, s := range list {
		_, err := s.Text()
		require.NoError(t, err)
		require.Equal(t, 50, s.Usage().CompletionTokens)
	}
}

// never allows no token, from a position on.
type never struct{ left int }

func (n *never) Allowed(int32) bool { return n.left > 0 }

func (n *never) Accept(id int32) error {
	if n.left--; n.left == 3 {
		return fmt.Errorf("token %d is refused", id)
	}
	return nil
}

// Mistakes are of the generation that makes them.
func TestBatchMistakes(t *testing.T) {
	m := newToy(t, 257)
	b := NewBatch(&Generator[*toySequence]{Model: m, Context: 50}, BatchOptions{Tokens: 31, Page: 4})
	defer b.Close(context.Background())
	for name, q := range map[string]request{
		"empty":   {nil, Options{}},
		"option":  {[]int32{1}, Options{Sampling: Sampling{TopP: 2}}},
		"context": {make([]int32, 50), Options{}},
		"room":    {make([]int32, 28), Options{}},
	} {
		_, err := b.Start(context.Background(), q.prompt, q.o)
		require.Error(t, err, name)
	}
	good := request{[]int32{1, 2, 3}, Options{MaxTokens: 9}}
	want := alone(t, b.g, good)
	for name, left := range map[string]int{"every token is forbidden": 2, "is refused": 6} {
		s, err := b.Start(context.Background(), []int32{4}, Options{Constraint: &never{left}})
		require.NoError(t, err)
		got, err := together(b, []request{good, good})
		require.NoError(t, err)
		require.Equal(t, []answered{want, want}, got)
		_, err = s.Text()
		require.ErrorContains(t, err, name)
	}
	s, err := b.Start(context.Background(), make([]int32, 27), Options{})
	require.NoError(t, err)
	_, err = s.Text()
	require.NoError(t, err)
	require.Equal(t, ReasonLength, s.Usage().Reason)
	require.Equal(t, 1, s.Usage().CompletionTokens)

	m.fails = m.steps + 1 // alone
	s, err = b.Start(context.Background(), []int32{1, 2}, Options{MaxTokens: 3})
	require.NoError(t, err)
	_, err = s.Text()
	require.ErrorContains(t, err, "planted")
	got, err := together(b, []request{good})
	require.NoError(t, err)
	require.Equal(t, []answered{want}, got)
}
