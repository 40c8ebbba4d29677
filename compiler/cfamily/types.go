package cfamily

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// types writes types, and collects the declarations of those that are not basic.
type types struct {
	lang  *Language
	names map[*ir.Type]string
	decls strings.Builder
	count int
}

// value is the type of a variable that holds a value of type t.
func (ts *types) value(t *ir.Type, restrict bool) string {
	switch {
	case t.IsPtr():
		return ts.lang.Pointer(ts.memory(t.Elem), t.Space, restrict)
	case t.Kind == ir.KBool:
		return "bool"
	}
	return ts.memory(t)
}

// memory is the type of an object of type t. Halves are held as their bits, and a
// bool as a byte. Arrays are structs, so that they can be assigned and pointed to
// like everything else; structs have Go's layout, which is C's.
func (ts *types) memory(t *ir.Type) string {
	switch t.Kind {
	case ir.KBool:
		return "u8"
	case ir.KF16, ir.KBF16:
		return "u16"
	case ir.KPtr:
		return ts.value(t, false)
	case ir.KArray, ir.KStruct:
		if ts.names[t] == "" {
			ts.names[t] = ts.declare(t)
		}
		return ts.names[t]
	}
	return t.String()
}

func (ts *types) declare(t *ir.Type) string {
	if t.Size() == 0 {
		return "u8" // never touched
	}
	if t.Kind == ir.KArray {
		elem := ts.memory(t.Elem)
		name := fmt.Sprintf("%s_x%d", elem, t.Len)
		if t.Elem.IsPtr() {
			ts.count++
			name = fmt.Sprintf("P%d_x%d", ts.count, t.Len)
		}
		for _, other := range ts.names {
			if other == name { // an array of bools and one of bytes
				return name
			}
		}
		fmt.Fprintf(&ts.decls, "struct %s { %s v[%d]; };\n", name, elem, t.Len)
		ts.alias(name)
		return name
	}
	ts.count++
	name := fmt.Sprintf("S%d", ts.count)
	var fields strings.Builder
	end := 0
	for i, f := range t.Elems {
		if f.Size() > 0 {
			fmt.Fprintf(&fields, " %s f%d;", ts.memory(f), i)
			end = t.Offset(i) + f.Size()
		}
	}
	// An empty last field takes room in Go.
	if a := t.Align(); (end+a-1)/a*a < t.Size() {
		fmt.Fprintf(&fields, " u8 end[%d];", t.Size()-end)
	}
	fmt.Fprintf(&ts.decls, "struct %s {%s };\n", name, fields.String())
	ts.alias(name)
	return name
}

// alias makes the name of a struct a type in C too.
func (ts *types) alias(name string) {
	if ts.lang.PlainC {
		fmt.Fprintf(&ts.decls, "typedef struct %s %s;\n", name, name)
	}
}
