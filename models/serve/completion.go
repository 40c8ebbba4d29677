package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/gokiln/kiln/tokenizers"
)

// completionRequest is the body of a request to /v1/completions.
type completionRequest struct {
	params
	Prompt inputs `json:"prompt"`
	Echo   bool   `json:"echo"`
	Suffix string `json:"suffix"`
	BestOf *int   `json:"best_of"`
}

// inputs is a text, a list of texts, ids, or a list of these.
type inputs struct {
	texts []string
	ids   [][]int32
}

// UnmarshalJSON reads any of them.
func (p *inputs) UnmarshalJSON(b []byte) error {
	*p = inputs{}
	switch {
	case string(b) == "null":
		return nil
	case b[0] == '"':
		p.texts = make([]string, 1)
		return json.Unmarshal(b, &p.texts[0])
	case json.Unmarshal(b, &p.texts) == nil:
		return nil
	}
	p.texts = nil
	var one []int32
	if json.Unmarshal(b, &one) == nil {
		p.ids = [][]int32{one}
		return nil
	}
	if json.Unmarshal(b, &p.ids) == nil {
		return nil
	}
	return bad("prompt or input", "want a text, a list of texts, ids of tokens, or a list of these")
}

// encode is the ids of all inputs, checked.
func (p *inputs) encode(m *Model, field string) ([][]int32, error) {
	list := p.ids
	for _, text := range p.texts {
		ids, err := m.Tokenizer.IDs(text, tokenizers.Options{SpecialTokens: true})
		if err != nil {
			return nil, bad(field, "%v", err)
		}
		list = append(list, ids)
	}
	if len(list) == 0 {
		return nil, bad(field, "there is none")
	}
	for i, ids := range list {
		if len(ids) == 0 {
			return nil, bad(field, "number %d has no tokens", i)
		}
		for _, id := range ids {
			if id < 0 || int(id) >= m.Vocab {
				return nil, bad(field, "id %d of a vocabulary of %d", id, m.Vocab)
			}
		}
	}
	return list, nil
}

// complete answers /v1/completions.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	var q completionRequest
	m, err := s.read(w, r, &q, func(m *Model) { q.Sampling = m.Defaults })
	if err != nil {
		return err
	}
	o, n, err := q.options(s, m)
	if err != nil {
		return err
	}
	switch {
	case q.Echo:
		return bad("echo", "is not supported")
	case q.Suffix != "":
		return bad("suffix", "is not supported")
	case q.BestOf != nil && *q.BestOf != n:
		return bad("best_of", "%d, want n or none", *q.BestOf)
	}
	if len(q.LogProbs) > 0 && string(q.LogProbs) != "null" {
		err := json.Unmarshal(q.LogProbs, &o.TopLogProbs)
		if err != nil || o.TopLogProbs < 0 || o.TopLogProbs > 20 {
			return bad("logprobs", "%s, want 0 to 20", q.LogProbs)
		}
		o.LogProbs = true
	}
	rules, err := q.grammar(m)
	if err != nil {
		return err
	}
	prompts, err := q.Prompt.encode(m, "prompt")
	if err != nil {
		return err
	}
	j := &job{s: s, m: m, probs: o.LogProbs, top: o.TopLogProbs, stream: q.Stream}
	j.head = head{name("cmpl-"), "text_completion", time.Now().Unix(), m.ID}
	j.usage = q.StreamOptions != nil && q.StreamOptions.IncludeUsage
	if err := s.begin(ctx, j, prompts, o, n, rules); err != nil {
		return err
	}
	return j.reply(ctx, w, &textShape{j, make([]int, len(j.answers))})
}

// textShape is answers of completions.
type textShape struct {
	*job
	at []int // bytes of each answer so far
}

type textChoice struct {
	Index  int     `json:"index"`
	Text   string  `json:"text"`
	Probs  any     `json:"logprobs"`
	Finish *string `json:"finish_reason"`
}

func (t *textShape) chunk(p part, _ bool) any {
	return textChoice{p.index, p.text, t.probabilities(p), orNull(p.finish)}
}

func (t *textShape) whole(p part) any { return t.chunk(p, true) }

// probabilities are those of tokens, or nil.
func (t *textShape) probabilities(p part) any {
	if !t.probs {
		return nil
	}
	out := struct {
		Tokens  []string             `json:"tokens"`
		Probs   []float64            `json:"token_logprobs"`
		Top     []map[string]float64 `json:"top_logprobs"`
		Offsets []int                `json:"text_offset"`
	}{[]string{}, []float64{}, nil, []int{}}
	for _, tok := range p.tokens {
		text, _ := t.m.tokenText(tok.ID)
		out.Tokens, out.Probs = append(out.Tokens, text), append(out.Probs, finite(tok.LogProb))
		out.Offsets = append(out.Offsets, t.at[p.index])
		t.at[p.index] += len(tok.Text)
		if t.top > 0 {
			top := map[string]float64{}
			for _, one := range tok.Top {
				text, _ := t.m.tokenText(one.ID)
				top[text] = finite(one.LogProb)
			}
			out.Top = append(out.Top, top)
		}
	}
	return out
}
