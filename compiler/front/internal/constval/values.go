package constval

import (
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// Values are the values of the compile-time parameters of one compilation.
type Values struct {
	given  map[string]int64
	marked map[string][2]int64 // by the comment above the kernel
	fill   input.Fill
	known  []string // names of the parameters, in order
	taken  map[string]bool
	text   []string // name:value, in order
}

// New returns the values that a request gives.
func New(req input.Request) Values {
	return Values{given: req.Consts, fill: req.Fill, taken: map[string]bool{}}
}

// ReadMark reads the comment above the kernel; wrong is what of it cannot be read.
func (c *Values) ReadMark(text string) (wrong string) {
	c.marked, wrong = valueMarks(text)
	return wrong
}

// Filled reports whether values that nothing names are made up.
func (c *Values) Filled() bool { return c.fill != input.NoFill }

// AddFunc notes that a parameter of a function type stands for a function.
func (c *Values) AddFunc(name, fn string) { c.text = append(c.text, name+":"+fn) }

// Value returns the value of the parameter called name, or numbered number.
func (c *Values) Value(name, number string, t types.Type) (n int64, ok bool) {
	c.known = append(c.known, name)
	isBool := gotype.Scalar(t) == ir.Bool
	for _, key := range []string{name, number} {
		if v, given := c.given[key]; given {
			n, ok = v, true
			c.taken[key] = true
		}
	}
	pair, marked := c.marked[name]
	c.taken[name] = c.taken[name] || marked
	if !ok && c.Filled() {
		n, ok = 1, true
		switch {
		case marked:
			n = pair[c.fill-input.FillSmall]
		case c.fill == input.FillLarge && !isBool:
			n = 8
		case c.fill == input.FillSmall && isBool:
			n = 0
		}
	}
	text := strconv.FormatInt(n, 10)
	if isBool {
		text = strconv.FormatBool(n != 0)
	}
	c.text = append(c.text, name+":"+text)
	return n, ok
}

// Names returns the names of the parameters that were asked for.
func (c *Values) Names() []string { return c.known }

// Guessed reports whether a parameter has a value that neither the request nor the kernel names.
func (c *Values) Guessed() bool {
	return slices.ContainsFunc(c.known, func(name string) bool { return !c.taken[name] })
}

// String is the part of a kernel's name that tells its specialisations apart.
func (c *Values) String() string {
	if len(c.text) == 0 {
		return ""
	}
	return "{" + strings.Join(c.text, ",") + "}"
}

// Unknown returns the names that are given and that no parameter has.
func (c *Values) Unknown() []string {
	var out []string
	for name := range c.given {
		if !c.taken[name] {
			out = append(out, name)
		}
	}
	for name := range c.marked {
		if !c.taken[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
