package code

import (
	"fmt"
	"os"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// Version is part of every cache key. It changes whenever the same source may
// give other code; a test compares what the compiler makes of a set of kernels
// with a recorded digest and fails when one changed without the other.
const Version = "30"

// Options change what Emit makes.
type Options struct {
	Checked bool                            // stop at what Go panics on, on every target
	Lines   bool                            // name Go lines in comments of the text
	Disable []string                        // passes to leave out
	Assume  Assume                          // what every launch of the code keeps to
	After   func(pass string, m *ir.Module) // called after each pass
	Names   func(ir.Pos) string             // names variables of text for readers, see front.Names

	// Strict makes a fault of the emitter of native code an error. Without it, the
	// kernel runs on the interpreter, see [Meta].
	Strict bool
}

// OptionsFromEnv returns the options that the environment asks for:
// KILN_DISABLE_PASS is a comma-separated list of passes, KILN_STRICT=1 sets Strict.
func OptionsFromEnv() Options {
	o := Options{Strict: os.Getenv("KILN_STRICT") == "1"}
	if list := os.Getenv("KILN_DISABLE_PASS"); list != "" {
		o.Disable = strings.Split(list, ",")
	}
	return o
}

// Key returns a text that differs between options that make different code.
func (o Options) Key() string {
	return fmt.Sprintf("checked=%t lines=%t disable=%s assume=%s", o.Checked, o.Lines, strings.Join(o.Disable, ","), o.Assume)
}

// Build names for people what sets code apart from that of the zero Options.
func (o Options) Build() string {
	var list []string
	if o.Checked {
		list = append(list, "checked")
	}
	if o.Lines {
		list = append(list, "lines")
	}
	if a := o.Assume.String(); a != "" {
		list = append(list, a)
	}
	for _, pass := range o.Disable {
		list = append(list, "-"+pass)
	}
	return strings.Join(list, ",")
}

// ParseBuild returns the options that [Options.Build] names.
func ParseBuild(text string) (o Options, err error) {
	var names []string
	for name := range strings.SplitSeq(text, ",") {
		switch {
		case name == "":
		case name == "checked":
			o.Checked = true
		case name == "lines":
			o.Lines = true
		case name[0] == '-':
			o.Disable = append(o.Disable, name[1:])
		default:
			names = append(names, name)
		}
	}
	if o.Assume, err = ParseAssume(names...); err != nil {
		return Options{}, fmt.Errorf("build %q: %w", text, err)
	}
	return o, nil
}
