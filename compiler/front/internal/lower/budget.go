package lower

import (
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
)

// Limits on what a few lines can make, far above what kernels need.
const (
	maxSpecialised = 1 << 13 // copies of functions for what they are called with
	maxCaptured    = 1 << 12 // values that a function literal holds, with those that these hold
)

// wide reports whether a type has more fields than a value may have, also through generic
// types whose arguments were not known before.
func (l *lowerer) wide(t types.Type) bool {
	w, ok := l.widths[t]
	if !ok {
		w = width(t, gotype.MaxFields)
		l.widths[t] = w
	}
	return w > gotype.MaxFields
}

// width counts the fields of a type, with those of its fields, up to a little more than most.
func width(t types.Type, most int) int {
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		return width(u.Elem(), most)
	case *types.Slice:
		return width(u.Elem(), most)
	case *types.Array:
		return width(u.Elem(), most)
	case *types.Struct:
		n := 0
		for f := range u.Fields() {
			if isNested(f.Type()) {
				n += width(f.Type(), most-n)
			} else {
				n++
			}
			if n > most {
				break
			}
		}
		return n
	}
	return 1
}

// isNested reports whether a field is itself an array or a struct.
func isNested(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Array, *types.Struct:
		return true
	}
	return false
}

// tooLarge reports that the kernel is larger than a limit, once.
func (f *funcLower) tooLarge(fix, format string, args ...any) val {
	if !f.l.full {
		f.l.full = true
		f.l.k.ReportFix(f.start(f.at), diag.TooLarge, fix, format, args...)
	}
	return badVal
}

// count returns how many values v holds, up to a little more than most.
func (v val) count(most int) int {
	n := 1
	for _, p := range v.parts {
		if n += p.count(most - n); n > most {
			return n
		}
	}
	if v.cell != nil {
		n += v.cell.count(most - n)
	}
	return n
}

// closure lowers a function literal, or a method value, with what it captures.
func (f *funcLower) closure(m *ssa.MakeClosure) val {
	v := val{fn: m.Fn.(*ssa.Function)}
	for _, b := range m.Bindings {
		v.parts = append(v.parts, f.val(b))
	}
	if v.count(maxCaptured) > maxCaptured {
		return f.tooLarge("call the functions, rather than make functions of functions again and again", "function literal holds more than %d values, with those that these hold", maxCaptured)
	}
	return v
}
