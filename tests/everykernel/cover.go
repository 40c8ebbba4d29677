package everykernel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
)

// cover chooses programs that have every feature which any of list has: short ones first,
// as most of what a long one has others have, and then leaves out those whose features the
// programs chosen later have, too.
func cover(t testing.TB, list []*compiler.Program) (chosen map[*compiler.Program]bool) {
	t.Helper()
	ordered := slices.Clone(list)
	slices.SortStableFunc(ordered, func(a, b *compiler.Program) int { return len(a.Text) - len(b.Text) })
	of := map[*compiler.Program]map[string]bool{}
	holders := map[string]int{} // chosen programs that have a feature
	for _, p := range ordered {
		m, err := ir.Parse(p.Text)
		require.NoError(t, err, p.Kernel)
		found, news := features(m), false
		for f := range found {
			news = news || holders[f] == 0
		}
		if !news {
			continue
		}
		of[p] = found
		for f := range found {
			holders[f]++
		}
	}
	for _, p := range ordered {
		if of[p] == nil || !spare(of[p], holders) {
			continue
		}
		for f := range of[p] {
			holders[f]--
		}
		delete(of, p)
	}
	chosen = map[*compiler.Program]bool{}
	for p := range of {
		chosen[p] = true
	}
	return chosen
}

// spare reports whether others have all of these features.
func spare(features map[string]bool, holders map[string]int) bool {
	for f := range features {
		if holders[f] < 2 {
			return false
		}
	}
	return true
}

// features are what a program has that emitters treat differently: operations with their
// types and spaces, parameters, loops, shared memory, tables and bounds of launches. What passes
// take away is none of them: calls, and which fields and elements are in local memory.
func features(m *ir.Module) map[string]bool {
	found := map[string]bool{
		fmt.Sprintf("threads %t, blocks %t, rows %t", m.Launch.Threads > 0, m.Launch.Blocks > 0, m.Launch.Row > 0): true,
		fmt.Sprintf("tables %t, shared %d", len(m.Tables) > 0, min(len(m.Shared), 2)):                              true,
	}
	for _, f := range m.Funcs {
		for _, p := range f.Params {
			if f.Kernel { // others are part of it by then
				found["parameter: "+shape(p.Type)] = true
			}
		}
		for _, b := range f.Blocks {
			found[fmt.Sprintf("end %v, unrolled %t", b.Term.Kind, b.Unroll.Times != 0)] = true
			for _, p := range b.Params {
				found["parameter of a block: "+shape(p.Type)] = true
			}
			for _, v := range b.Instrs {
				if v.Op != ir.OpCall && v.Op != ir.OpProj { // functions become part of the kernel
					found[operation(v)] = true
				}
			}
		}
	}
	return found
}

func operation(v *ir.Value) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %t %s", v.Op, v.Contract, shape(v.Type))
	for _, a := range v.Args {
		text.WriteString(", " + shape(a.Type))
	}
	return text.String()
}

var (
	lengths = regexp.MustCompile(`\[\d+\]`)
	fields  = regexp.MustCompile(`\{[^{}]+\}`)
)

// shape is a type without the lengths of arrays and the fields of structs.
func shape(t *ir.Type) string {
	if t == nil {
		return ""
	}
	if t.Kind == ir.KPtr && t.Space == ir.Local {
		return "ptr<local>" // most of it is in registers by then
	}
	text := lengths.ReplaceAllString(t.String(), "[]")
	for fields.MatchString(text) {
		text = fields.ReplaceAllString(text, "struct")
	}
	return text
}
