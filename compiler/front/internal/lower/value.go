package lower

import (
	"fmt"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// val is a Go value in terms of IR values, which are scalars and pointers only.
//
//   - scalars: v
//   - structs, arrays, results of a call: parts, one for each field or element
//   - slices: parts pointer and length
//   - functions: fn, known statically, with what it captures in parts; or opaque,
//     a parameter of a kernel that is checked for all functions
//   - pointers have one of three forms. v points to an object in memory. parts
//     point to the components of a struct whose fields live apart, which lets
//     them be promoted to registers one by one, and lets a local struct hold
//     slices. cell is the value itself, for a variable that is set once, such as
//     a struct parameter or a variable that a function literal captures; if it
//     has arrays that variables index, mem is a pointer to a copy in memory.
//
// A bad value stands for what could not be lowered; a diagnostic was reported,
// and whatever uses it stays silent.
type val struct {
	v      *ir.Value
	parts  []val
	fn     *ssa.Function
	opaque bool
	cell   *val
	mem    *val      // where the value of cell is in memory too, for variable indices
	set    *ir.Value // of a pointer in a copied aggregate: whether it is set
	bad    bool
	isNil  bool // nil pointer, slice or function
}

var badVal = val{bad: true}

// part returns component i of an aggregate.
func (v val) part(i int) val {
	if v.bad || i >= len(v.parts) {
		return badVal
	}
	return v.parts[i]
}

// broken reports whether v or a part of it is bad or nil.
func (v val) broken() bool {
	if v.bad || v.isNil {
		return true
	}
	for _, p := range v.parts {
		if p.broken() {
			return true
		}
	}
	return v.cell != nil && (v.cell.broken() || v.mem != nil && v.mem.broken())
}

// holds reports whether v leads to cell, which must not become a part of itself.
func (v val) holds(cell *val) bool {
	for _, p := range v.parts {
		if p.holds(cell) {
			return true
		}
	}
	return v.cell != nil && (v.cell == cell || v.cell.holds(cell))
}

// flatten appends the IR values of v in order.
func (v val) flatten(out []*ir.Value) []*ir.Value {
	if v.v != nil {
		return append(out, v.v)
	}
	for _, p := range v.parts {
		out = p.flatten(out)
	}
	if v.cell != nil {
		out = v.cell.flatten(out)
	}
	if v.mem != nil {
		out = v.mem.flatten(out)
	}
	return out
}

// rebuild returns a value of the form of v in which next gives the IR values.
func (v val) rebuild(next func(t *ir.Type) *ir.Value) val {
	out := val{fn: v.fn, opaque: v.opaque, bad: v.bad, isNil: v.isNil}
	if v.v != nil {
		out.v = next(v.v.Type)
		return out
	}
	if v.parts != nil {
		out.parts = make([]val, len(v.parts))
		for i, p := range v.parts {
			out.parts[i] = p.rebuild(next)
		}
	}
	if v.cell != nil {
		c := v.cell.rebuild(next)
		out.cell = &c
	}
	if v.mem != nil {
		m := v.mem.rebuild(next)
		out.mem = &m
	}
	return out
}

// shape describes the form of v and the types of its IR values: two values
// with the same shape can be passed to the same parameter.
func (v val) shape(b *strings.Builder) {
	switch {
	case v.bad:
		b.WriteByte('?')
	case v.isNil:
		b.WriteString("nil")
	case v.v != nil:
		b.WriteString(v.v.Type.String())
	case v.cell != nil:
		b.WriteByte('&')
		v.cell.shape(b)
		if v.mem != nil {
			b.WriteByte('@')
			v.mem.shape(b)
		}
	case v.opaque:
		b.WriteString("func")
	default:
		if v.fn != nil {
			fmt.Fprintf(b, "%p", v.fn)
		}
		b.WriteByte('{')
		for i, p := range v.parts {
			if i > 0 {
				b.WriteByte(',')
			}
			p.shape(b)
		}
		b.WriteByte('}')
	}
}

func shapeOf(vs ...val) string {
	var b strings.Builder
	for _, v := range vs {
		v.shape(&b)
		b.WriteByte(';')
	}
	return b.String()
}

// typed makes a value of type t, which has no pointers, from next.
func typed(t types.Type, next func(*ir.Type) *ir.Value) val {
	if s := gotype.Scalar(t); s != nil {
		return val{v: next(s)}
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		out := val{parts: make([]val, u.Len())}
		for i := range out.parts {
			out.parts[i] = typed(u.Elem(), next)
		}
		return out
	case *types.Struct:
		out := val{parts: make([]val, u.NumFields())}
		for i := range out.parts {
			out.parts[i] = typed(u.Field(i).Type(), next)
		}
		return out
	case *types.Tuple:
		out := val{parts: make([]val, u.Len())}
		for i := range out.parts {
			out.parts[i] = typed(u.At(i).Type(), next)
		}
		return out
	}
	return val{isNil: true}
}

// pointerAt returns the type of pointer that pointerObject keeps at p, nil if p is
// of another form.
func pointerAt(p *ir.Value) *ir.Type {
	if t := p.Type.Elem; t.Kind == ir.KStruct && len(t.Elems) > 0 && t.Elems[0].IsPtr() { // no other struct in memory has pointers
		return t.Elems[0]
	}
	return nil
}
