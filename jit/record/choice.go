package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Choice is the configuration that measuring found to be the best for some work.
type Choice struct {
	Tuned  string   `json:"tuned"`        // the name of the tuner
	At     []int    `json:"at,omitempty"` // what the choice depends on, such as sizes
	Device string   `json:"device"`       // where it was measured, such as "NVIDIA H200, 132 units"
	Target string   `json:"target"`       // of its code, such as "ptx:sm_90"
	Of     []string `json:"of"`           // the configurations that there were
	Best   string   `json:"best"`         // one of them
}

// String returns the line of the choice.
func (c Choice) String() string { return text(c) }

// identity tells apart what is chosen for.
func (c Choice) identity() string {
	c.Best = ""
	return c.String()
}

// check reports what is wrong with a choice that was read.
func (c *Choice) check() error {
	switch {
	case c.Tuned == "":
		return errors.New("a choice without a name")
	case c.Target == "":
		return errors.New("a choice without a target")
	case !slices.Contains(c.Of, c.Best):
		return fmt.Errorf("the choice of %s is %q, which is none of %q", c.Tuned, c.Best, c.Of)
	}
	return nil
}

// AddChoice adds a choice, and reports whether it says something new. Of two for the same work the
// later one holds.
func (r *Set) AddChoice(c Choice) bool {
	id := c.identity()
	if have, ok := r.choices[id]; ok && have.Best == c.Best {
		return false
	}
	if r.choices == nil {
		r.choices = map[string]Choice{}
	}
	r.choices[id] = c
	return true
}

// Choices returns the choices in order.
func (r *Set) Choices() []Choice { return inOrder(r.choices) }

// ParseChoice reads a line that [Choice.String] wrote.
func ParseChoice(line []byte) (c Choice, err error) {
	if err := parse(line, &c); err != nil {
		return c, err
	}
	return c, c.check()
}

// isChoice tells the lines of choices from those of specialisations.
func isChoice(line []byte) bool {
	var probe struct{ Tuned *string }
	return json.Unmarshal(line, &probe) == nil && probe.Tuned != nil
}

// text writes a value as a line of a record.
func text(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // strings and numbers
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// parse reads what text wrote.
func parse(line []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("not a line of a record: %w", err)
	}
	if dec.More() {
		return errors.New("not a line of a record: something follows its JSON")
	}
	return nil
}
