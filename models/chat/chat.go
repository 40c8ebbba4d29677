package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/gokiln/kiln/models/chat/internal/jinja"
)

// Error says what is wrong in a template, or why it refused a conversation, with its line.
type Error = jinja.Error

// ErrBudget says that a template asks for too much work or makes too much text.
var ErrBudget = jinja.ErrBudget

// MaxTemplate is how many bytes a template may have.
const MaxTemplate = 4 << 20

// Template is a chat template. It is safe for concurrent use.
type Template struct{ t *jinja.Template }

// Message is a part of a conversation. Templates see the fields that are set, with the
// names of the field's interfaces: role, content, reasoning_content, tool_calls,
// tool_call_id, name.
type Message struct {
	Role       string     // system, user, assistant, tool, …
	Content    string     // the text; null for calls without text
	Parts      []Part     // in the place of Content, if there are any
	Reasoning  string     // what an assistant thought
	ToolCalls  []ToolCall // what an assistant calls
	ToolCallID string     // which call a tool answers
	Name       string     // which tool answers

	// Extra are other fields that a template knows, of the types that JSON has.
	Extra map[string]any
}

// Part is a part of a message's content.
type Part struct {
	Type string // text, image, audio, …
	Text string // of the type text

	// Extra are other fields, such as image_url.
	Extra map[string]any
}

// ToolCall is a call of a function.
type ToolCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage // an object; a string that has one is passed as it is
}

// Options say what a template is given beside the messages.
type Options struct {
	// AddGenerationPrompt ends the text with the start of the assistant's answer.
	AddGenerationPrompt bool
	// Tools are JSON schemas of functions that the model may call.
	Tools []json.RawMessage
	// Documents are what the model is to answer from, objects with title and text.
	Documents []json.RawMessage
	// EnableThinking turns thinking on or off where a template knows it; nil leaves it to the
	// template.
	EnableThinking *bool
	// BOS and EOS are the texts of special tokens.
	BOS, EOS string
	// Variables are other variables, of the types that JSON has. They win over the above.
	Variables map[string]any
	// Now is the time that templates may show; zero is the present.
	Now time.Time
}

// Parse reads a template.
func Parse(template string) (*Template, error) {
	if len(template) > MaxTemplate {
		return nil, fmt.Errorf("the template has %d bytes, want %d at most", len(template), MaxTemplate)
	}
	t, err := jinja.Parse(template)
	if err != nil {
		return nil, err
	}
	return &Template{t}, nil
}

// Render returns the text of a conversation. What the template refuses is an *Error.
func (t *Template) Render(messages []Message, o Options) (string, error) {
	list := jinja.NewList()
	for i, m := range messages {
		v, err := m.value()
		if err != nil {
			return "", fmt.Errorf("message %d: %w", i, err)
		}
		list.Items = append(list.Items, v)
	}
	vars := map[string]jinja.Value{
		"messages": list, "add_generation_prompt": o.AddGenerationPrompt,
		"bos_token": o.BOS, "eos_token": o.EOS,
	}
	if err := o.variables(vars); err != nil {
		return "", err
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	return t.t.Render(vars, o.Now)
}

// variables adds what the options say.
func (o *Options) variables(vars map[string]jinja.Value) error {
	for name, list := range map[string][]json.RawMessage{"tools": o.Tools, "documents": o.Documents} {
		vars[name] = nil
		values := jinja.NewList()
		for i, raw := range list {
			v, err := jinja.FromJSON(raw)
			if err != nil {
				return fmt.Errorf("%s[%d]: %w", name, i, err)
			}
			values.Items = append(values.Items, v)
			vars[name] = values
		}
	}
	if o.EnableThinking != nil {
		vars["enable_thinking"] = *o.EnableThinking
	}
	more, err := values(o.Variables)
	if err != nil {
		return fmt.Errorf("variables: %w", err)
	}
	maps.Copy(vars, more)
	return nil
}

// values converts values of the types that JSON has.
func values(m map[string]any) (map[string]jinja.Value, error) {
	out := map[string]jinja.Value{}
	for k, x := range m {
		b, err := json.Marshal(x)
		if err == nil {
			out[k], err = jinja.FromJSON(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%q: %w", k, err)
		}
	}
	return out, nil
}

// value is the mapping that templates see.
func (m *Message) value() (*jinja.Dict, error) {
	if m.Role == "" {
		return nil, errors.New("the role is missing")
	}
	d := jinja.NewDict()
	d.Set("role", m.Role)
	d.Set("content", m.Content)
	if len(m.Parts) > 0 {
		parts, err := partsOf(m.Parts)
		if err != nil {
			return nil, err
		}
		d.Set("content", parts)
	} else if m.Content == "" && len(m.ToolCalls) > 0 {
		d.Set("content", nil)
	}
	if m.Reasoning != "" {
		d.Set("reasoning_content", m.Reasoning)
	}
	if len(m.ToolCalls) > 0 {
		calls := jinja.NewList()
		for i, c := range m.ToolCalls {
			v, err := c.value()
			if err != nil {
				return nil, fmt.Errorf("tool call %d: %w", i, err)
			}
			calls.Items = append(calls.Items, v)
		}
		d.Set("tool_calls", calls)
	}
	if m.ToolCallID != "" {
		d.Set("tool_call_id", m.ToolCallID)
	}
	if m.Name != "" {
		d.Set("name", m.Name)
	}
	return d, setExtra(d, m.Extra)
}

func setExtra(d *jinja.Dict, extra map[string]any) error {
	more, err := values(extra)
	for k, v := range more {
		d.Set(k, v)
	}
	return err
}

func partsOf(parts []Part) (*jinja.List, error) {
	list := jinja.NewList()
	for i, p := range parts {
		d := jinja.NewDict()
		d.Set("type", p.Type)
		if p.Type == "text" {
			d.Set("text", p.Text)
		}
		if err := setExtra(d, p.Extra); err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		list.Items = append(list.Items, d)
	}
	return list, nil
}

func (c *ToolCall) value() (*jinja.Dict, error) {
	args := jinja.Value(jinja.NewDict())
	if len(c.Arguments) > 0 {
		var err error
		if args, err = jinja.FromJSON(c.Arguments); err != nil {
			return nil, fmt.Errorf("arguments of %s: %w", c.Name, err)
		}
	}
	function := jinja.NewDict()
	function.Set("name", c.Name)
	function.Set("arguments", args)
	d := jinja.NewDict()
	if c.ID != "" {
		d.Set("id", c.ID)
	}
	d.Set("type", "function")
	d.Set("function", function)
	return d, nil
}
