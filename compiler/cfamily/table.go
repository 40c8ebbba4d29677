package cfamily

import (
	"fmt"
	"strings"

	"github.com/gokiln/kiln/compiler/ir"
)

// nameTables takes the names of the tables, which are declared outside of the kernel.
func (e *emitter) nameTables() {
	for i := range e.m.Tables {
		e.taken[e.tableName(i)] = true
	}
}

func (e *emitter) tableName(i int) string { return fmt.Sprintf("%s_table%d", EntryName(e.f.Name), i) }

// tables declares the tables of the module.
func (e *emitter) tables() string {
	var b strings.Builder
	for i, t := range e.m.Tables {
		fmt.Fprintf(&b, "%s = ", e.lang.Table(e.types.memory(t.Type), e.tableName(i)))
		initialise(&b, t, t.Type, 0)
		b.WriteString(";\n")
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// initialise writes the part of type m at an offset of a table. Arrays are structs of one field.
func initialise(b *strings.Builder, t *ir.Table, m *ir.Type, at int) {
	switch m.Kind {
	case ir.KArray:
		b.WriteString("{{")
		for i := range m.Len {
			if i > 0 {
				b.WriteString(", ")
			}
			initialise(b, t, m.Elem, at+i*m.Elem.Size())
		}
		b.WriteString("}}")
	case ir.KStruct:
		b.WriteByte('{')
		for i, f := range m.Elems {
			if i > 0 {
				b.WriteString(", ")
			}
			initialise(b, t, f, at+m.Offset(i))
		}
		b.WriteByte('}')
	case ir.KBool, ir.KF16, ir.KBF16: // a byte, and bits
		fmt.Fprint(b, t.At(at, m))
	default:
		b.WriteString(literal(m, t.At(at, m)).s)
	}
}
