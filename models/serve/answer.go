package serve

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/generate/grammar"
)

// answer is one of the answers to a request.
type answer struct {
	index  int
	first  bool // of its prompt
	stream *generate.Stream
	calls  *callReader // nil if there are no tools
}

// part is what came of an answer.
type part struct {
	index  int
	text   string
	calls  []call
	tokens []generate.Token // that made it
	finish string           // why the answer ended; "" before
	err    error
}

// parts gives an answer as it comes, and whether it went well at its end.
func (a *answer) parts(yield func(part) bool) {
	called := false
	for tok, err := range a.stream.Tokens() {
		p := part{index: a.index, text: tok.Text, err: err}
		if err == nil {
			p.tokens = []generate.Token{tok}
			p.finish = tok.Reason
		}
		if a.calls != nil {
			p.text, p.calls = a.calls.add(tok.Text, p.finish != "" || err != nil)
		}
		if called = called || len(p.calls) > 0; called && p.finish == generate.ReasonStop {
			p.finish = "tool_calls"
		}
		if !yield(p) {
			return
		}
	}
}

// job is a request whose answers are generated.
type job struct {
	s       *Server
	m       *Model
	answers []*answer
	head    head
	probs   bool // of tokens
	top     int
	stream  bool
	usage   bool // at the end of a stream
}

// head is what all bodies begin with.
type head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	Model   string `json:"model"`
}

// usage is what a request took.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// shape is how answers look in JSON.
type shape interface {
	chunk(p part, first bool) any // a choice of a stream
	whole(p part) any             // a choice with all of an answer
}

// name is a random name that begins with a text.
func name(front string) string { return front + strings.ToLower(rand.Text()) }

// begin starts the generations of prompts, n for each.
func (s *Server) begin(
	ctx context.Context, j *job, prompts [][]int32, o generate.Options, n int, g *grammar.Grammar,
) error {
	if most := s.o.MaxAnswers; len(prompts)*n > most {
		return bad("n", "%d prompts times %d, want %d answers at most", len(prompts), n, most)
	}
	for i, ids := range prompts {
		for k := range n {
			o := o
			var err error
			if g != nil {
				if o.Constraint, err = j.m.constrain(g); err != nil {
					return j.leave(err)
				}
			}
			if o.Seed != nil {
				seed := *o.Seed + uint64(k)
				o.Seed = &seed
			}
			st, err := j.m.Engine.Start(ctx, ids, o)
			if err != nil {
				return j.leave(err)
			}
			j.answers = append(j.answers, &answer{index: i*n + k, first: k == 0, stream: st})
		}
	}
	return nil
}

// leave ends what was started, and returns the error.
func (j *job) leave(err error) error {
	for _, a := range j.answers {
		a.stream.Close()
	}
	return err
}

// reply writes the answers: all at once, or as they come.
func (j *job) reply(ctx context.Context, w http.ResponseWriter, as shape) error {
	defer j.leave(nil)
	if j.stream {
		j.send(ctx, w, as)
		return nil
	}
	var choices []any
	for _, a := range j.answers {
		all := part{index: a.index}
		var text strings.Builder
		for p := range a.parts {
			if p.err != nil {
				return ended(ctx, p.err)
			}
			text.WriteString(p.text)
			all.calls = append(all.calls, p.calls...)
			all.tokens = append(all.tokens, p.tokens...)
			all.finish = p.finish
		}
		all.text = text.String()
		choices = append(choices, as.whole(all))
	}
	reply(w, http.StatusOK, struct {
		head
		Choices []any `json:"choices"`
		Usage   usage `json:"usage"`
	}{j.head, choices, j.took()})
	return nil
}

// ended is why a generation ended: by the time-out of the request rather than what followed of it.
func ended(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	return err
}

// took sums up what the answers took.
func (j *job) took() (u usage) {
	for _, a := range j.answers {
		one := a.stream.Usage()
		if a.first {
			u.Prompt += one.PromptTokens
			u.Details.Cached += one.CachedTokens
		}
		u.Completion += one.CompletionTokens
		if one.Prefill > 0 {
			j.s.metrics.first.add(one.Prefill.Seconds())
		}
	}
	u.Total = u.Prompt + u.Completion
	return u
}

// send writes the answers as events, as they come.
func (j *job) send(ctx context.Context, w http.ResponseWriter, as shape) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parts := make(chan part)
	var all sync.WaitGroup
	for _, a := range j.answers {
		all.Go(func() {
			for p := range a.parts {
				select {
				case parts <- p:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	go func() {
		all.Wait()
		close(parts)
	}()
	e := newEvents(w, j.s.o.Stall)
	begun := map[int]bool{}
	for p := range parts {
		if p.err != nil {
			e.write(map[string]any{"error": problemOf(ended(ctx, p.err))})
			return
		}
		if !begun[p.index] || p.text != "" || p.finish != "" || len(p.calls) > 0 || j.probs {
			if e.write(j.chunk([]any{as.chunk(p, !begun[p.index])}, nil)) != nil {
				return
			}
		}
		begun[p.index] = true
	}
	if ctx.Err() != nil {
		e.write(map[string]any{"error": problemOf(ctx.Err())})
		return
	}
	u := j.took()
	if j.usage {
		e.write(j.chunk([]any{}, &u))
	}
	e.end()
}

// chunk is a piece of a stream.
func (j *job) chunk(choices []any, u *usage) any {
	return struct {
		head
		Choices []any  `json:"choices"`
		Usage   *usage `json:"usage,omitempty"`
	}{j.head, choices, u}
}

// events is a stream of events that a server sends.
type events struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	stall time.Duration
}

func newEvents(w http.ResponseWriter, stall time.Duration) *events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // of proxies in between
	w.WriteHeader(http.StatusOK)
	return &events{w, http.NewResponseController(w), stall}
}

func (e *events) write(v any) error {
	var b strings.Builder
	b.WriteString("data: ")
	enc := json.NewEncoder(&b) // ends with a line feed
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	return e.put(b.String() + "\n")
}

func (e *events) end() { _ = e.put("data: [DONE]\n\n") }

func (e *events) put(text string) error {
	_ = e.c.SetWriteDeadline(time.Now().Add(e.stall)) // not all writers have one
	if _, err := e.w.Write([]byte(text)); err != nil {
		return err
	}
	return e.c.Flush()
}

// tokenText is the text of a token alone, and its bytes if they are known.
func (m *Model) tokenText(id int32) (text string, bytes []int) {
	text, err := m.Tokenizer.Decode([]int32{id}, false)
	if err != nil {
		return "", nil
	}
	if strings.ContainsRune(text, utf8.RuneError) { // a part of a character
		return text, nil
	}
	bytes = make([]int, len(text))
	for i := range bytes {
		bytes[i] = int(text[i])
	}
	return text, bytes
}

// finite is a logarithm that JSON has.
func finite(x float64) float64 {
	if math.IsNaN(x) || x < -9999 {
		return -9999
	}
	return x
}
