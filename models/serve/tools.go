package serve

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gokiln/kiln/models/chat"
	"github.com/gokiln/kiln/models/generate/grammar"
)

// tool is a function that a model may call.
type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	} `json:"function"`
	raw json.RawMessage
}

// UnmarshalJSON keeps the text, which templates see.
func (t *tool) UnmarshalJSON(b []byte) error {
	type plain tool
	t.raw = bytes.Clone(b)
	return json.Unmarshal(b, (*plain)(t))
}

// call is a call of a function.
type call struct {
	Index    *int     `json:"index,omitempty"` // in streams
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

// message is the call as templates take it.
func (c *call) message() (chat.ToolCall, error) {
	out := chat.ToolCall{ID: c.ID, Name: c.Function.Name}
	out.Arguments = json.RawMessage(c.Function.Arguments)
	if len(out.Arguments) == 0 {
		out.Arguments = json.RawMessage("{}")
	}
	if !json.Valid(out.Arguments) {
		return out, fmt.Errorf("the arguments of %s are no JSON", out.Name)
	}
	return out, nil
}

// toolFormat is how a model writes calls.
type toolFormat struct {
	open, end string // around a call, or around all; "" if calls are the whole answer
	arguments string // the key of them; "" if the format is not known
	forced    string // what an answer that is one call goes on behind
	special   bool   // open is a special token
}

// formatOf finds the format in a chat template, which shows calls of earlier messages in it.
func formatOf(template string) toolFormat {
	has := func(s string) bool { return strings.Contains(template, s) }
	switch {
	case !has("tools"), has("<function="): // none, or as XML
	case has("[TOOL_CALLS]"):
		return toolFormat{open: "[TOOL_CALLS]", special: true, arguments: "arguments",
			forced: "[TOOL_CALLS] ["}
	case has("<tool_call>"):
		return toolFormat{open: "<tool_call>", end: "</tool_call>", arguments: "arguments",
			forced: "<tool_call>\n"}
	case has("python_tag"), has("ipython"), has(`"parameters"`):
		return toolFormat{arguments: "parameters"}
	}
	return toolFormat{}
}

// toolChoice is what a request asks about tools.
type toolChoice struct {
	reads   bool              // answers may have calls
	schemas []json.RawMessage // for the template
	forced  []tool            // of which one is to be called; nil if the model decides
}

// choice reads tools and tool_choice.
func (q *chatRequest) choice(m *Model) (*toolChoice, error) {
	c := &toolChoice{}
	for i, t := range q.Tools {
		if t.Type != "function" || t.Function.Name == "" {
			return nil, bad("tools", "number %d: want the type function and its name", i)
		}
		c.schemas = append(c.schemas, t.raw)
	}
	mode, only, err := q.mode()
	switch {
	case err != nil:
		return nil, err
	case mode == "none" || mode == "auto" && len(q.Tools) == 0:
		return &toolChoice{}, nil
	case len(q.Tools) == 0:
		return nil, bad("tool_choice", "there are no tools")
	}
	if c.reads = true; mode == "auto" {
		return c, nil
	}
	for _, t := range q.Tools {
		if only == "" || t.Function.Name == only {
			c.forced = append(c.forced, t)
		}
	}
	if len(c.forced) == 0 {
		return nil, bad("tool_choice", "there is no tool %q", only)
	}
	return c, nil
}

// mode is none, auto or required, and the name of the function that has to be called.
func (q *chatRequest) mode() (mode, only string, err error) {
	raw := q.ToolChoice
	if len(raw) == 0 || string(raw) == "null" {
		return "auto", "", nil
	}
	if raw[0] == '"' {
		err := json.Unmarshal(raw, &mode)
		if err != nil || mode != "none" && mode != "auto" && mode != "required" {
			return "", "", bad("tool_choice", "%s, want none, auto, required, or a function", raw)
		}
		return mode, "", nil
	}
	var t tool
	if err := json.Unmarshal(raw, &t); err != nil || t.Function.Name == "" {
		return "", "", bad("tool_choice", "want none, auto, required, or a function with its name")
	}
	return "required", t.Function.Name, nil
}

// key is the key of arguments.
func (m *Model) key() string {
	if m.tools.arguments == "" {
		return "arguments"
	}
	return m.tools.arguments
}

// grammar is that of one call, in JSON, of one of the tools.
func (c *toolChoice) grammar(m *Model) (*grammar.Grammar, error) {
	var parts, list []string // references go through objects alone
	for i, t := range c.forced {
		name, err := json.Marshal(t.Function.Name)
		if err != nil {
			return nil, err
		}
		at := fmt.Sprintf("#/$defs/%d/properties/%s", i, m.key())
		parts = append(parts, fmt.Sprintf(
			`"%d":{"type":"object","properties":{"name":{"const":%s},"%s":%s},"required":["name","%[3]s"]}`,
			i, name, m.key(), moved(t.Function.Parameters, at)))
		list = append(list, fmt.Sprintf(`{"$ref":"#/$defs/%d"}`, i))
	}
	schema := `{"anyOf":[` + strings.Join(list, ",") + `],"$defs":{` + strings.Join(parts, ",") + `}}`
	return m.grammar("tools", schema, schemaOf)
}

// moved is a schema whose references go to the place where it becomes a part of another.
func moved(schema json.RawMessage, to string) []byte {
	var b bytes.Buffer
	if len(schema) == 0 || string(schema) == "null" || json.Compact(&b, schema) != nil {
		return []byte(`{"type":"object","additionalProperties":false}`) // a function without parameters
	}
	out := bytes.ReplaceAll(b.Bytes(), []byte(`"$ref":"#/`), []byte(`"$ref":"`+to+`/`))
	return bytes.ReplaceAll(out, []byte(`"$ref":"#"`), []byte(`"$ref":"`+to+`"`))
}

// reader returns what finds calls in an answer, or nil.
func (c *toolChoice) reader(m *Model) *callReader {
	switch {
	case !c.reads, c.forced == nil && m.tools.arguments == "":
		return nil
	case c.forced != nil: // the whole answer is one
		return &callReader{f: toolFormat{arguments: m.key()}}
	}
	return &callReader{f: m.tools}
}

// callReader finds calls in a text that comes in parts.
type callReader struct {
	f      toolFormat
	held   string
	inside bool // of a call
	plain  bool // of an answer that is no call as a whole
	n      int  // calls so far
}

// add returns what is text of the answer for certain, and calls that are complete. What is no call
// although it began as one is text.
func (r *callReader) add(part string, last bool) (text string, calls []call) {
	r.held += part
	if r.f.open == "" {
		return r.whole(last)
	}
	for {
		if !r.inside {
			before, after, ok := strings.Cut(r.held, r.f.open)
			if !ok {
				n := len(r.held)
				if !last {
					n -= overlap(r.held, r.f.open)
				}
				text += r.held[:n]
				r.held = r.held[n:]
				break
			}
			text += before
			r.held, r.inside = after, true
		}
		body, after, ok := r.body(last)
		if !ok {
			break
		}
		list, err := r.parse(body)
		if err != nil {
			text += r.f.open + body + r.f.end
		}
		calls = append(calls, list...)
		r.held, r.inside = after, false
	}
	if r.n > 0 && strings.TrimSpace(text) == "" {
		text = "" // what is between calls
	}
	return text, calls
}

// body is what is within a call, if its end is there.
func (r *callReader) body(last bool) (body, after string, ok bool) {
	if r.f.end == "" { // up to the next one
		if body, after, ok = strings.Cut(r.held, r.f.open); ok {
			return body, r.f.open + after, true
		}
		return r.held, "", last
	}
	if body, after, ok = strings.Cut(r.held, r.f.end); ok {
		return body, after, true
	}
	return r.held, "", last
}

// overlap is the length of the longest end of s that the mark begins with.
func overlap(s, mark string) int {
	for n := min(len(s), len(mark)-1); n > 0; n-- {
		if strings.HasSuffix(s, mark[:n]) {
			return n
		}
	}
	return 0
}

// pythonTag is what Llama writes in front of some calls.
const pythonTag = "<|python_tag|>"

// whole is for answers that are calls as a whole, or none.
func (r *callReader) whole(last bool) (text string, calls []call) {
	start := strings.TrimPrefix(strings.TrimSpace(r.held), pythonTag)
	begins := strings.HasPrefix(start, "{") || strings.HasPrefix(pythonTag, start)
	r.plain = r.plain || start != "" && !begins
	if !last && !r.plain {
		return "", nil
	}
	if !r.plain {
		if calls, err := r.parse(start); err == nil && len(calls) > 0 {
			r.held = ""
			return "", calls
		}
	}
	text, r.held = r.held, ""
	return text, nil
}

// parse reads calls: objects behind each other, or in a list, or a name, [ARGS] and an object.
func (r *callReader) parse(body string) ([]call, error) {
	var calls []call
	add := func(name string, arguments json.RawMessage) error {
		if name == "" {
			return errors.New("a call without a name")
		}
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		index := r.n + len(calls)
		f := function{name, string(arguments)}
		calls = append(calls, call{&index, rand.Text()[:9], "function", f})
		return nil
	}
	if name, arguments, ok := strings.Cut(body, "[ARGS]"); ok {
		raw := json.RawMessage(strings.TrimSpace(arguments))
		if !json.Valid(raw) {
			return nil, errors.New("arguments are no JSON")
		}
		if err := add(strings.TrimSpace(name), raw); err != nil {
			return nil, err
		}
		r.n += len(calls)
		return calls, nil
	}
	body = strings.TrimSpace(body)
	var objects []map[string]json.RawMessage
	if strings.HasPrefix(body, "[") {
		if err := json.Unmarshal([]byte(body), &objects); err != nil {
			return nil, err
		}
	}
	for objects == nil || body != "" && body[0] == '{' {
		var o map[string]json.RawMessage
		dec := json.NewDecoder(strings.NewReader(body))
		if err := dec.Decode(&o); err != nil {
			return nil, err
		}
		objects = append(objects, o)
		body = strings.TrimLeft(body[dec.InputOffset():], "; \t\r\n")
		if body != "" && body[0] != '{' {
			return nil, io.ErrUnexpectedEOF
		}
	}
	for _, o := range objects {
		var name string
		if err := json.Unmarshal(o["name"], &name); err != nil {
			return nil, err
		}
		arguments, ok := o[r.f.arguments]
		if !ok { // models take the other word now and then
			arguments = append(o["arguments"], o["parameters"]...)
		}
		if err := add(name, arguments); err != nil {
			return nil, err
		}
	}
	r.n += len(calls)
	return calls, nil
}
