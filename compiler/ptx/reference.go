package ptx

import (
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// Spelling is how an operation is written in PTX for some types.
type Spelling struct {
	Text  string   // instructions, for the most usual of Types
	Types []string // as the IR names them; empty for operations without
	CC    int      // first compute capability, 0 for all
}

// Spellings returns how an operation is written, for the reference. Where it
// has no instruction of its own, why says what becomes of it instead.
func Spellings(op ir.Op) (list []Spelling, why string) {
	if why := coded[op]; why != "" {
		return nil, why
	}
	if why := unsupported[op]; why != "" {
		return nil, why
	}
	for _, r := range tableRows() {
		if r.op != op || r.asm == alias {
			continue // an alias is no instruction
		}
		s := Spelling{CC: r.cc, Text: spell(r.asm, usual(r.on))}
		for _, t := range ir.Scalars {
			if r.on.Has(t.Kind) {
				s.Types = append(s.Types, t.String())
			}
		}
		same := func(o Spelling) bool { return o.Text == s.Text && o.CC == s.CC && slices.Equal(o.Types, s.Types) }
		if !slices.ContainsFunc(list, same) {
			list = append(list, s)
		}
	}
	return list, ""
}

// usual chooses the kind that examples are written for.
func usual(on ir.Kinds) ir.Kind {
	for _, k := range []ir.Kind{ir.KI32, ir.KF32, ir.KI64, ir.KF64} {
		if on.Has(k) {
			return k
		}
	}
	for _, t := range ir.Scalars {
		if on.Has(t.Kind) {
			return t.Kind
		}
	}
	return ir.KVoid
}

// Opcodes returns the instructions of PTX text, without operands, in order.
func Opcodes(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		body, ok := strings.CutPrefix(line, "\t")
		if !ok || body[0] == '.' || strings.HasPrefix(body, "//") {
			continue
		}
		if body[0] == '@' {
			_, body, _ = strings.Cut(body, " ")
		}
		op, _, _ := strings.Cut(strings.TrimRight(body, ";\n"), " ")
		out = append(out, op)
	}
	return out
}
