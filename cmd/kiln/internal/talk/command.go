package talk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gokiln/kiln/models/generate"
)

// commands are what a line that begins with a slash may be.
var commands = []struct{ name, arguments, what string }{
	{"/help", "", "this list"},
	{"/reset", "", "forget what was said"},
	{"/system", "text", "what the model is told first, and forget what was said; no text for nothing"},
	{"/set", "option value", "change an option, such as temperature 0.7; without a value show all"},
	{"/bye", "", "end"},
}

// command carries out a line that begins with a slash.
func (t *Talk[S]) command(line string) error {
	name, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	switch name {
	case "/help":
		for _, c := range commands {
			fmt.Fprintf(t.Out, "%-22s %s\n", c.name+" "+c.arguments, c.what)
		}
		return nil
	case "/reset":
		t.Reset()
		return nil
	case "/system":
		if t.Render == nil {
			return errors.New("/system: the model has no chat template, and so no system message")
		}
		t.System = rest
		t.Reset()
		return nil
	case "/set":
		return t.set(rest)
	case "/bye", "/exit":
		return errBye
	}
	return fmt.Errorf("%s: no such command; /help lists them", name)
}

// set changes an option by its name in JSON.
func (t *Talk[S]) set(line string) error {
	name, value, _ := strings.Cut(line, " ")
	if name == "" {
		return t.options()
	}
	changed, err := Set(t.Options, name, strings.TrimSpace(value))
	if err != nil {
		return fmt.Errorf("/set %s: %w", name, err)
	}
	t.Options = changed
	return nil
}

// options shows those that are set.
func (t *Talk[S]) options() error {
	b, err := json.MarshalIndent(t.Options, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(t.Out, "%s\n", b)
	return nil
}

// Set returns options with one changed, which has its name in JSON. The value is JSON, or a text
// without quotes.
func Set(o generate.Options, name, value string) (generate.Options, error) {
	apply := func(value []byte) (generate.Options, error) {
		key, err := json.Marshal(name)
		if err != nil {
			return o, err
		}
		changed := o
		changed.LogitBias = nil // a map would be changed in place
		d := json.NewDecoder(bytes.NewReader(fmt.Appendf(nil, "{%s: %s}", key, value)))
		d.DisallowUnknownFields()
		if err := d.Decode(&changed); err != nil {
			return o, err
		}
		if name != "logit_bias" {
			changed.LogitBias = o.LogitBias
		}
		_, err = generate.NewSampler(changed.Sampling)
		return changed, err
	}
	if value == "" {
		return o, errors.New("which value?")
	}
	changed, err := apply([]byte(value))
	if !json.Valid([]byte(value)) {
		text, _ := json.Marshal(value)
		if changed, err = apply(text); err != nil {
			list, _ := json.Marshal([]string{value})
			changed, err = apply(list)
		}
	}
	var unknown *json.UnmarshalTypeError
	switch {
	case err == nil:
		return changed, nil
	case strings.Contains(err.Error(), "unknown field"):
		return o, errors.New("no such option; /set alone shows those that are set")
	case errors.As(err, &unknown):
		return o, fmt.Errorf("%s is no %s", value, unknown.Type)
	}
	return o, err
}
