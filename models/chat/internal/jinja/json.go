package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// FromJSON returns the value of a JSON text; objects keep the order of their keys.
func FromJSON(b []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	v, err := fromJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text behind the JSON value")
	}
	return v, nil
}

func fromJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("more than %d JSON values within each other", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch x := t.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(string(x), 10, 64); err == nil {
			return i, nil
		}
		return x.Float64()
	case json.Delim:
		if x == '[' {
			list := NewList()
			for d.More() {
				v, err := fromJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				list.Items = append(list.Items, v)
			}
			_, err := d.Token()
			return list, err
		}
		return objectFromJSON(d, depth)
	}
	return t, nil // nil, a bool or a string
}

func objectFromJSON(d *json.Decoder, depth int) (Value, error) {
	out := NewDict()
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := fromJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.set(k, v)
	}
	_, err := d.Token()
	return out, err
}

// dumper writes JSON as Python's json.dumps.
type dumper struct {
	b            strings.Builder
	r            *run
	item, key    string // separators
	indent       string
	lines        bool // each element has a line
	ascii, order bool
}

func toJSON(r *run, a *args) (Value, error) {
	d := &dumper{r: r, item: ", ", key: ": "}
	v := a.next()
	d.ascii = truth(a.take("ensure_ascii", false))
	switch x := a.take("indent", nil).(type) {
	case int64:
		if x > maxIndent {
			return nil, fmt.Errorf("indent is %d, want %d at most", x, maxIndent)
		}
		d.indent, d.lines = strings.Repeat(" ", int(max(x, 0))), true
	case string:
		d.indent, d.lines = x, true
	}
	if d.lines {
		d.item = ","
	}
	if s, ok := a.take("separators", nil).(*List); ok && len(s.Items) == 2 {
		d.item, _ = s.Items[0].(string)
		d.key, _ = s.Items[1].(string)
	}
	d.order = truth(a.take("sort_keys", false))
	if err := d.value(v, 0); err != nil {
		return nil, err
	}
	return d.b.String(), nil
}

func (d *dumper) line(depth int) error {
	if d.lines {
		d.b.WriteByte('\n')
		for range depth {
			d.b.WriteString(d.indent)
		}
	}
	return d.r.charge(1 + depth*len(d.indent)/costBytes)
}

func (d *dumper) value(v Value, depth int) error {
	if depth > maxDepth {
		return errors.New("tojson: the value is too deep")
	}
	switch x := plain(v).(type) {
	case nil:
		d.b.WriteString("null")
	case bool:
		d.b.WriteString(strconv.FormatBool(x))
	case int64:
		d.b.WriteString(strconv.FormatInt(x, 10))
	case float64:
		s := floatText(x)
		if named, ok := map[string]string{"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[s]; ok {
			s = named
		}
		d.b.WriteString(s)
	case string:
		d.quote(x)
	case *List:
		if x.lazy {
			return fmt.Errorf("tojson: a %s is no JSON", typeName(v))
		}
		return d.elements("[]", len(x.Items), depth, func(i int) error {
			return d.value(x.Items[i], depth+1)
		})
	case *Dict:
		return d.object(x, depth)
	default:
		return fmt.Errorf("tojson: a %s is no JSON", typeName(v))
	}
	return d.r.charge(1)
}

func (d *dumper) elements(brackets string, n, depth int, f func(i int) error) error {
	d.b.WriteByte(brackets[0])
	for i := range n {
		if i > 0 {
			d.b.WriteString(d.item)
		}
		if err := d.line(depth + 1); err != nil {
			return err
		}
		if err := f(i); err != nil {
			return err
		}
	}
	if n > 0 {
		if err := d.line(depth); err != nil {
			return err
		}
	}
	d.b.WriteByte(brackets[1])
	return d.r.charge(1)
}

func (d *dumper) object(x *Dict, depth int) error {
	keys := slices.Clone(x.keys)
	if d.order {
		if err := d.r.sortBy(keys, func(v Value) Value { return v }); err != nil {
			return err
		}
	}
	return d.elements("{}", len(keys), depth, func(i int) error {
		switch k := keys[i].(type) {
		case string:
			d.quote(k)
		default:
			d.b.WriteByte('"')
			if err := d.value(k, depth+1); err != nil {
				return err
			}
			d.b.WriteByte('"')
		}
		d.b.WriteString(d.key)
		return d.value(x.values[keys[i]], depth+1)
	})
}

func (d *dumper) quote(s string) {
	d.b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			d.b.WriteByte('\\')
			d.b.WriteRune(c)
		case c == '\n':
			d.b.WriteString(`\n`)
		case c == '\r':
			d.b.WriteString(`\r`)
		case c == '\t':
			d.b.WriteString(`\t`)
		case c == '\b':
			d.b.WriteString(`\b`)
		case c == '\f':
			d.b.WriteString(`\f`)
		case c < ' ', d.ascii && c > '~' && c < 0x10000:
			fmt.Fprintf(&d.b, `\u%04x`, c)
		case d.ascii && c >= 0x10000:
			hi, lo := utf16.EncodeRune(c)
			fmt.Fprintf(&d.b, `\u%04x\u%04x`, hi, lo)
		default:
			d.b.WriteRune(c)
		}
	}
	d.b.WriteByte('"')
}
