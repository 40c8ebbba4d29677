package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// raw is a part of a tokenizer.json that is read when its type is known.
type raw = json.RawMessage

// ErrUnsupported says that a file asks for something that this package does not do.
var ErrUnsupported = errors.New("not supported")

func absent(r raw) bool { return len(r) == 0 || string(r) == "null" }

// kindOf returns the type of a part, which every part but old models names.
func kindOf(r raw) (string, error) {
	var k struct{ Type string }
	if err := json.Unmarshal(r, &k); err != nil {
		return "", err
	}
	return k.Type, nil
}

// decode reads a part into a T that has the defaults.
func decode[T any](r raw, defaults T) (T, error) {
	err := json.Unmarshal(r, &defaults)
	return defaults, err
}

// patternConfig is how a string or a regular expression is written.
type patternConfig struct {
	String *string
	Regex  *string
}

func (c patternConfig) compile() (*pattern.Pattern, error) {
	switch {
	case c.Regex != nil:
		return pattern.Compile(*c.Regex)
	case c.String != nil:
		return pattern.Compile(regexp.QuoteMeta(*c.String))
	}
	return nil, errors.New("the pattern is neither a String nor a Regex")
}

// one returns the only character of a string.
func one(what, s string) (rune, error) {
	r := []rune(s)
	if len(r) != 1 {
		return 0, fmt.Errorf("%s is %q, want one character", what, s)
	}
	return r[0], nil
}

// maxParts is how many steps a chain of normalizers, pre-tokenizers or decoders has at most.
const maxParts = 1000

// sequence reads the parts of a Sequence, in a field of that name.
func sequence[T any](r raw, field string, read func(raw) (T, error)) ([]T, error) {
	var fields map[string]raw
	if err := json.Unmarshal(r, &fields); err != nil {
		return nil, err
	}
	var parts []raw
	if err := json.Unmarshal(fields[field], &parts); err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	if len(parts) > maxParts {
		return nil, fmt.Errorf("%s: %d parts, more than %d", field, len(parts), maxParts)
	}
	var out []T
	for i, p := range parts {
		x, err := read(p)
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		out = append(out, x)
	}
	return out, nil
}
