package jinja

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Value is nil (none), a bool, int64, float64, string, *List, *Dict or *Func, or one of the types
// of this package that only templates make.
type Value any

// List is a list, a tuple, or what filters such as map make: elements that can be gone through
// once, and nothing else.
type List struct {
	Items []Value
	tuple bool
	lazy  bool
}

// lazily returns elements that can be gone through once.
func lazily(items []Value) *List { return &List{Items: items, lazy: true} }

// NewList returns a list.
func NewList(items ...Value) *List { return &List{Items: items} }

// Dict is a mapping that keeps the order of its keys.
type Dict struct {
	keys      []Value
	values    map[Value]Value
	namespace bool // attributes can be set
}

// NewDict returns a mapping without keys.
func NewDict() *Dict { return &Dict{values: map[Value]Value{}} }

// Set gives a key a value.
func (d *Dict) Set(key string, v Value) { d.set(key, v) }

// Get returns the value of a key.
func (d *Dict) Get(key string) (Value, bool) {
	v, ok := d.values[key]
	return v, ok
}

func (d *Dict) set(key, v Value) {
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = v
}

func (d *Dict) list() *List { return &List{Items: slices.Clone(d.keys)} }

// Func is something that can be called.
type Func struct {
	name string
	call func(r *run, a *args) (Value, error)
}

// undefined stands for a name or key that is not there.
type undefined struct{ name string }

func (u *undefined) err() error { return fmt.Errorf("%s is undefined", u.name) }

// markup is text that the filters safe and escape made: what is added to it with + is escaped.
type markup string

// plain returns a string in the place of markup.
func plain(v Value) Value {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	return v
}

// isHashable reports whether a value can be a key.
func isHashable(v Value) bool {
	switch v.(type) {
	case nil, bool, int64, float64, string:
		return true
	}
	return false
}

// truth is the truth of a value as Python has it.
func truth(v Value) bool {
	switch x := v.(type) {
	case nil, *undefined:
		return false
	case bool:
		return x
	case int64:
		return x != 0
	case float64:
		return x != 0
	case string:
		return x != ""
	case markup:
		return x != ""
	case *List:
		return x.lazy || len(x.Items) > 0
	case *Dict:
		return x.namespace || len(x.keys) > 0
	}
	return true
}

// typeName is the name of a type as Python has it.
func typeName(v Value) string {
	switch x := v.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	case string, markup:
		return "str"
	case *List:
		switch {
		case x.tuple:
			return "tuple"
		case x.lazy:
			return "generator, of which the filter list makes a list"
		}
		return "list"
	case *Dict:
		return "dict"
	case *undefined:
		return "undefined value"
	}
	return "function"
}

// text is str(v) of Python.
func (r *run) text(v Value) (string, error) {
	if s, ok := plain(v).(string); ok {
		return s, nil
	}
	if _, ok := v.(*undefined); ok {
		return "", nil
	}
	var b strings.Builder
	err := r.repr(&b, v, 0)
	return b.String(), err
}

// repr writes repr(v) of Python.
func (r *run) repr(b *strings.Builder, v Value, depth int) error {
	if depth > maxDepth {
		return errors.New("the value is too deep to be shown")
	}
	if err := r.charge(1 + b.Len()/costBytes); err != nil {
		return err
	}
	switch x := v.(type) {
	case nil:
		b.WriteString("None")
	case bool:
		b.WriteString(map[bool]string{true: "True", false: "False"}[x])
	case int64:
		b.WriteString(strconv.FormatInt(x, 10))
	case float64:
		b.WriteString(floatText(x))
	case string:
		quote(b, x)
	case markup:
		b.WriteString("Markup(")
		quote(b, string(x))
		b.WriteByte(')')
	case *List:
		if x.lazy {
			return fmt.Errorf("there is no text of a %s", typeName(v))
		}
		return r.reprList(b, x, depth)
	case *Dict:
		b.WriteByte('{')
		for i, k := range x.keys {
			if i > 0 {
				b.WriteString(", ")
			}
			if err := r.repr(b, k, depth+1); err != nil {
				return err
			}
			b.WriteString(": ")
			if err := r.repr(b, x.values[k], depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case *undefined:
		b.WriteString("Undefined")
	default:
		return fmt.Errorf("a %s has no text", typeName(v))
	}
	return nil
}

func (r *run) reprList(b *strings.Builder, x *List, depth int) error {
	brackets := "[]"
	if x.tuple {
		brackets = "()"
	}
	b.WriteByte(brackets[0])
	for i, item := range x.Items {
		if i > 0 {
			b.WriteString(", ")
		}
		if err := r.repr(b, item, depth+1); err != nil {
			return err
		}
	}
	if x.tuple && len(x.Items) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(brackets[1])
	return nil
}

// floatText is repr of a float: the shortest that reads as the same number.
func floatText(x float64) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case x != x:
		return "nan"
	}
	if a := math.Abs(x); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(x, 'e', -1, 64)
	}
	s := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote writes repr of a string.
func quote(b *strings.Builder, s string) {
	q := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b.WriteRune(q)
	for _, c := range s {
		switch {
		case c == q, c == '\\':
			b.WriteRune('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(b, `\x%02x`, c)
		case unicode.IsPrint(c):
			b.WriteRune(c)
		case c <= 0xff:
			fmt.Fprintf(b, `\x%02x`, c)
		case c <= 0xffff:
			fmt.Fprintf(b, `\u%04x`, c)
		default:
			fmt.Fprintf(b, `\U%08x`, c)
		}
	}
	b.WriteRune(q)
}

// number returns a bool, int or float as a float.
func number(v Value) (float64, bool) {
	switch x := v.(type) {
	case bool:
		return float64(b2i(x)), true
	case int64:
		return float64(x), true
	case float64:
		return x, true
	}
	return 0, false
}

// whole returns a bool or int as an int.
func whole(v Value) (int64, bool) {
	switch x := v.(type) {
	case bool:
		return int64(b2i(x)), true
	case int64:
		return x, true
	}
	return 0, false
}

// equal is == of Python.
func (r *run) equal(a, b Value) (bool, error) {
	if err := r.charge(1 + size(a)); err != nil {
		return false, err
	}
	a, b = plain(a), plain(b)
	if i, ok := whole(a); ok {
		if j, ok := whole(b); ok {
			return i == j, nil
		}
	}
	if x, ok := number(a); ok {
		y, ok := number(b)
		return ok && x == y, nil
	}
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case string:
		y, ok := b.(string)
		return ok && x == y, nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok, nil
	case *List:
		y, ok := b.(*List)
		if !ok || x.lazy || y.lazy {
			return ok && x == y, nil
		}
		if len(x.Items) != len(y.Items) || x.tuple != y.tuple {
			return false, nil
		}
		for i := range x.Items {
			if same, err := r.equal(x.Items[i], y.Items[i]); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	case *Dict:
		return r.equalDicts(x, b)
	}
	return a == b, nil
}

func (r *run) equalDicts(x *Dict, b Value) (bool, error) {
	y, ok := b.(*Dict)
	if !ok || len(x.keys) != len(y.keys) {
		return false, nil
	}
	for _, k := range x.keys {
		v, ok := y.values[k]
		if !ok {
			return false, nil
		}
		if same, err := r.equal(x.values[k], v); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// order compares two values of a kind that has an order.
func (r *run) order(a, b Value) (int, error) {
	if err := r.charge(1 + size(a)); err != nil {
		return 0, err
	}
	a, b = plain(a), plain(b)
	if i, ok := whole(a); ok {
		if j, ok := whole(b); ok {
			return cmp.Compare(i, j), nil
		}
	}
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return cmp.Compare(x, y), nil
	}
	if s, ok := a.(string); ok {
		if t, ok := b.(string); ok {
			return cmp.Compare(s, t), nil
		}
	}
	if s, ok := a.(*List); ok {
		if t, ok := b.(*List); ok {
			for i := range min(len(s.Items), len(t.Items)) {
				if c, err := r.order(s.Items[i], t.Items[i]); c != 0 || err != nil {
					return c, err
				}
			}
			return cmp.Compare(len(s.Items), len(t.Items)), nil
		}
	}
	return 0, fmt.Errorf("%s and %s have no order", typeName(a), typeName(b))
}

// items returns what a loop goes over.
func (r *run) items(v Value) ([]Value, error) {
	switch x := plain(v).(type) {
	case *List:
		list := x.Items
		if x.lazy {
			x.Items = nil
		}
		return list, r.charge(len(list))
	case *Dict:
		return slices.Clone(x.keys), r.charge(len(x.keys))
	case string:
		if err := r.charge(len(x)); err != nil {
			return nil, err
		}
		var out []Value
		for _, c := range x {
			out = append(out, string(c))
		}
		return out, nil
	case *undefined:
		return nil, nil
	}
	return nil, fmt.Errorf("a %s has no elements", typeName(v))
}

// contains is b in a.
func (r *run) contains(a, b Value) (bool, error) {
	switch x := a.(type) {
	case string:
		s, ok := b.(string)
		if !ok {
			return false, fmt.Errorf("a string has no %s in it", typeName(b))
		}
		return strings.Contains(x, s), r.charge(1 + len(x)/costBytes)
	case *Dict:
		if !isHashable(b) {
			return false, fmt.Errorf("a %s is no key", typeName(b))
		}
		_, ok := x.values[b]
		return ok, nil
	}
	list, err := r.items(a)
	if err != nil {
		return false, err
	}
	for _, v := range list {
		if same, err := r.equal(v, b); same || err != nil {
			return same, err
		}
	}
	return false, nil
}
