package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/models/chat"
	"github.com/gokiln/kiln/tokenizers"
)

// chatRequest is the body of a request to /v1/chat/completions.
type chatRequest struct {
	params
	Messages   []message       `json:"messages"`
	Tools      []tool          `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
	Variables  map[string]any  `json:"chat_template_kwargs"`
}

// message is a message of a conversation.
type message struct {
	Role       string  `json:"role"`
	Content    content `json:"content"`
	Name       string  `json:"name"`
	ToolCalls  []call  `json:"tool_calls"`
	ToolCallID string  `json:"tool_call_id"`
	Reasoning  string  `json:"reasoning_content"`
}

// content is a text, or null, or a list of texts.
type content struct {
	text  string
	given bool
}

// UnmarshalJSON reads any of them.
func (c *content) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	c.given = true
	if b[0] == '"' {
		return json.Unmarshal(b, &c.text)
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(b, &parts); err != nil {
		return bad("messages.content", "want a text or a list of parts")
	}
	for _, p := range parts {
		if p.Type != "text" {
			return bad("messages.content", "a part of type %q: the model takes texts alone", p.Type)
		}
		c.text += p.Text
	}
	return nil
}

// roles are those that messages may have.
var roles = []string{"system", "developer", "user", "assistant", "tool"}

// conversation is the messages as templates take them.
func (q *chatRequest) conversation() ([]chat.Message, error) {
	if len(q.Messages) == 0 {
		return nil, bad("messages", "there are none")
	}
	list := make([]chat.Message, len(q.Messages))
	for i, m := range q.Messages {
		if !slices.Contains(roles, m.Role) {
			return nil, bad("messages.role", "%q of message %d, want one of %s",
				m.Role, i, strings.Join(roles, ", "))
		}
		if !m.Content.given && len(m.ToolCalls) == 0 {
			return nil, bad("messages.content", "message %d has none", i)
		}
		to := chat.Message{
			Role: m.Role, Content: m.Content.text, Name: m.Name, ToolCallID: m.ToolCallID,
			Reasoning: m.Reasoning,
		}
		if m.Role == "developer" { // templates know it as system
			to.Role = "system"
		}
		for _, c := range m.ToolCalls {
			one, err := c.message()
			if err != nil {
				return nil, bad("messages.tool_calls", "message %d: %v", i, err)
			}
			to.ToolCalls = append(to.ToolCalls, one)
		}
		list[i] = to
	}
	return list, nil
}

// chat answers /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), s.o.Timeout)
	defer cancel()
	var q chatRequest
	m, err := s.read(w, r, &q, func(m *Model) { q.Sampling = m.Defaults })
	if err != nil {
		return err
	}
	o, n, err := q.options(s, m)
	if err != nil {
		return err
	}
	if len(q.LogProbs) > 0 {
		if err := json.Unmarshal(q.LogProbs, &o.LogProbs); err != nil {
			return bad("logprobs", "want true or false")
		}
	}
	if o.TopLogProbs > 0 && !o.LogProbs {
		return bad("top_logprobs", "without logprobs")
	}
	rules, err := q.grammar(m)
	if err != nil {
		return err
	}
	text, choice, err := q.prompt(m)
	if err != nil {
		return err
	}
	if choice.forced != nil {
		if rules != nil {
			return bad("tool_choice", "beside response_format, grammar or regexp; want one of them")
		}
		if rules, err = choice.grammar(m); err != nil {
			return err
		}
	}
	// Templates write special tokens themselves.
	ids, err := m.Tokenizer.IDs(text, tokenizers.Options{})
	if err != nil {
		return bad("messages", "%v", err)
	}
	o.SpecialTokens = choice.reads && m.tools.special
	j := &job{s: s, m: m, probs: o.LogProbs, top: o.TopLogProbs, stream: q.Stream}
	j.head = head{name("chatcmpl-"), "chat.completion", time.Now().Unix(), m.ID}
	if q.Stream {
		j.head.Object = "chat.completion.chunk"
		j.usage = q.StreamOptions != nil && q.StreamOptions.IncludeUsage
	}
	if err := s.begin(ctx, j, [][]int32{ids}, o, n, rules); err != nil {
		return err
	}
	for _, a := range j.answers {
		a.calls = choice.reader(m)
	}
	return j.reply(ctx, w, &chatShape{j})
}

// prompt is the text of the conversation, and what is to be done about tools.
func (q *chatRequest) prompt(m *Model) (string, *toolChoice, error) {
	t, err := m.chats()
	if err != nil {
		return "", nil, err
	}
	list, err := q.conversation()
	if err != nil {
		return "", nil, err
	}
	choice, err := q.choice(m)
	if err != nil {
		return "", nil, err
	}
	o := chat.Options{AddGenerationPrompt: true, BOS: m.BOS, EOS: m.EOS, Tools: choice.schemas}
	o.Variables = q.Variables
	text, err := t.Render(list, o)
	if err != nil {
		return "", nil, bad("messages", "the model's chat template: %v", err)
	}
	if choice.forced != nil {
		text += m.tools.forced
	}
	return text, choice, nil
}

// chatShape is answers of chats.
type chatShape struct{ *job }

// probability is that of a token.
type probability struct {
	Token   string        `json:"token"`
	LogProb float64       `json:"logprob"`
	Bytes   []int         `json:"bytes"`
	Top     []probability `json:"top_logprobs,omitempty"`
}

// probabilities are those of tokens, or nil.
func (c *chatShape) probabilities(p part) any {
	if !c.probs {
		return nil
	}
	list := []probability{}
	for _, tok := range p.tokens {
		one := probability{LogProb: finite(tok.LogProb), Top: []probability{}}
		one.Token, one.Bytes = c.m.tokenText(tok.ID)
		for _, t := range tok.Top {
			text, bytes := c.m.tokenText(t.ID)
			one.Top = append(one.Top, probability{text, finite(t.LogProb), bytes, nil})
		}
		list = append(list, one)
	}
	return map[string]any{"content": list}
}

// said is a message, or what is new of one.
type said struct {
	Role    string  `json:"role,omitempty"`
	Content *string `json:"content,omitempty"`
	Calls   []call  `json:"tool_calls,omitempty"`
}

type chatChoice struct {
	Index   int     `json:"index"`
	Message *said   `json:"message,omitempty"`
	Delta   *said   `json:"delta,omitempty"`
	Probs   any     `json:"logprobs"`
	Finish  *string `json:"finish_reason"`
}

func (c *chatShape) chunk(p part, first bool) any {
	out := chatChoice{Index: p.index, Probs: c.probabilities(p), Finish: orNull(p.finish)}
	out.Delta = &said{Calls: p.calls}
	if p.text != "" || first {
		out.Delta.Content = &p.text
	}
	if first {
		out.Delta.Role = "assistant"
	}
	return out
}

func (c *chatShape) whole(p part) any {
	for i := range p.calls {
		p.calls[i].Index = nil // they are those of streams
	}
	out := chatChoice{Index: p.index, Probs: c.probabilities(p), Finish: orNull(p.finish)}
	out.Message = &said{Role: "assistant", Calls: p.calls}
	if p.text != "" || len(p.calls) == 0 {
		out.Message.Content = &p.text
	}
	return out
}

// orNull is null for no text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
