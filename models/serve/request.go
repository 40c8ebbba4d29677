package serve

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gokiln/kiln/models/generate"
	"github.com/gokiln/kiln/models/generate/grammar"
)

// params are fields of chats and of completions. Where they say nothing the model's defaults count.
type params struct {
	generate.Sampling
	Model               string          `json:"model"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	Stop                texts           `json:"stop"`
	StopIDs             []int32         `json:"stop_token_ids"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Seed                *json.Number    `json:"seed"`
	LogProbs            json.RawMessage `json:"logprobs"`
	Format              *responseFormat `json:"response_format"`
	Grammar             string          `json:"grammar"` // in GBNF
	Regexp              string          `json:"regexp"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type responseFormat struct {
	Type   string `json:"type"`
	Schema *struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// texts is a text or a list of them.
type texts []string

// UnmarshalJSON reads either.
func (t *texts) UnmarshalJSON(b []byte) error {
	*t = nil
	if len(b) > 0 && b[0] == '"' {
		*t = make(texts, 1)
		return json.Unmarshal(b, &(*t)[0])
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// read reads the body of a request into to, whose defaults are those of the model that it names.
func (s *Server) read(
	w http.ResponseWriter, r *http.Request, to any, defaults func(m *Model),
) (*Model, error) {
	if s.draining.Load() {
		return nil, generate.ErrClosed
	}
	c := http.NewResponseController(w) // not all writers have deadlines
	_ = c.SetReadDeadline(time.Now().Add(s.o.Stall))
	body, err := io.ReadAll(r.Body)
	_ = c.SetReadDeadline(time.Time{})
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, refused(http.StatusRequestTimeout, "the request took too long to come")
	}
	if err != nil {
		return nil, err
	}
	var first struct {
		Model *string `json:"model"`
	}
	if err := decode(body, &first); err != nil {
		return nil, err
	}
	name := ""
	if first.Model != nil {
		name = *first.Model
	}
	m, err := s.model(name)
	if err != nil {
		return nil, err
	}
	defaults(m)
	return m, decode(body, to)
}

// decode reads JSON, and tells which field is wrong.
func decode(body []byte, to any) error {
	err := json.Unmarshal(body, to)
	var kind *json.UnmarshalTypeError
	var p *problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &p):
		return p
	case errors.As(err, &kind) && kind.Field != "":
		field := strings.TrimPrefix(strings.TrimPrefix(kind.Field, "params."), "Sampling.")
		return bad(field, "%s is no %s", kind.Value, kind.Type)
	}
	text := "the body of the request: " + strings.TrimPrefix(err.Error(), "json: ")
	return refused(http.StatusBadRequest, text)
}

// Bounds of lists in requests.
const (
	maxStops  = 64
	maxBiases = 10_000
)

// options are those of a generation, but for the constraint; answers is how many there are for each
// prompt.
func (p *params) options(s *Server, m *Model) (o generate.Options, answers int, err error) {
	if m.Engine == nil {
		return o, 0, bad("model", "%s makes embeddings, and no text", m.ID)
	}
	o = generate.Options{Sampling: p.Sampling, Stop: p.Stop, StopIDs: p.StopIDs}
	o.IgnoreEOS = p.IgnoreEOS
	if answers = 1; p.N != nil {
		if answers = *p.N; answers < 1 || answers > s.o.MaxAnswers {
			return o, 0, bad("n", "%d, want 1 to %d", answers, s.o.MaxAnswers)
		}
	}
	for _, x := range []struct {
		name string
		n    *int
	}{{"max_tokens", p.MaxTokens}, {"max_completion_tokens", p.MaxCompletionTokens}} {
		if x.n == nil {
			continue
		}
		if o.MaxTokens = *x.n; o.MaxTokens < 1 {
			return o, 0, bad(x.name, "%d, want 1 at least", *x.n)
		}
	}
	if most := s.o.MaxTokens; most > 0 && (o.MaxTokens == 0 || o.MaxTokens > most) {
		o.MaxTokens = most
	}
	if len(p.Stop) > maxStops || len(p.StopIDs) > maxStops {
		return o, 0, bad("stop", "%d, want %d at most", max(len(p.Stop), len(p.StopIDs)), maxStops)
	}
	for i, text := range p.Stop {
		if text == "" {
			return o, 0, bad("stop", "text %d is empty", i)
		}
	}
	if len(p.LogitBias) > maxBiases {
		return o, 0, bad("logit_bias", "%d tokens, want %d at most", len(p.LogitBias), maxBiases)
	}
	if p.Seed != nil {
		seed, err := strconv.ParseUint(p.Seed.String(), 10, 64)
		if err != nil {
			signed, err := strconv.ParseInt(p.Seed.String(), 10, 64)
			if err != nil {
				return o, 0, bad("seed", "%s is no integer of 64 bits", p.Seed)
			}
			seed = uint64(signed)
		}
		o.Seed = &seed
	}
	if p.StreamOptions != nil && !p.Stream {
		return o, 0, bad("stream_options", "without stream")
	}
	_, err = generate.NewSampler(o.Sampling)
	return o, answers, err
}

// grammar is what an answer has to follow, nil for nothing.
func (p *params) grammar(m *Model) (*grammar.Grammar, error) {
	var list []*grammar.Grammar
	add := func(g *grammar.Grammar, err error) error {
		list = append(list, g)
		return err
	}
	var err error
	if f := p.Format; f != nil {
		switch f.Type {
		case "text":
		case "json_object":
			err = add(m.grammar("response_format", `{"type": "object"}`, schemaOf))
		case "json_schema":
			const field = "response_format.json_schema.schema"
			if f.Schema == nil || len(f.Schema.Schema) == 0 {
				return nil, bad(field, "is missing")
			}
			err = add(m.grammar(field, string(f.Schema.Schema), schemaOf))
		default:
			return nil, bad("response_format.type",
				"%q, want text, json_object or json_schema", f.Type)
		}
	}
	if err == nil && p.Grammar != "" {
		err = add(m.grammar("grammar", p.Grammar, grammar.GBNF))
	}
	if err == nil && p.Regexp != "" {
		err = add(m.grammar("regexp", p.Regexp, grammar.Regexp))
	}
	switch {
	case err != nil:
		return nil, err
	case len(list) > 1:
		return nil, bad("response_format", "there are also grammar or regexp; want one of them")
	case len(list) == 1:
		return list[0], nil
	}
	return nil, nil
}
