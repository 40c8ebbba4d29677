package jinja

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// globals are the functions that all templates have.
var globals = map[string]Value{
	"raise_exception": &Func{"raise_exception", func(r *run, a *args) (Value, error) {
		text, err := r.text(a.next())
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("the template refuses: %s", text)
	}},
	"strftime_now": &Func{"strftime_now", func(r *run, a *args) (Value, error) {
		format, err := a.str("format", nil)
		if err != nil {
			return nil, err
		}
		return strftime(r.now, format)
	}},
	"namespace": &Func{"namespace", func(r *run, a *args) (Value, error) {
		return newMapping(a, true)
	}},
	"dict": &Func{"dict", func(r *run, a *args) (Value, error) {
		return newMapping(a, false)
	}},
	"range": &Func{"range", rangeOf},
}

func newMapping(a *args, namespace bool) (Value, error) {
	d := NewDict()
	d.namespace = namespace
	if len(a.list) > 0 {
		from, ok := a.list[0].(*Dict)
		if !ok {
			return nil, fmt.Errorf("%s wants a mapping, not a %s", a.name, typeName(a.list[0]))
		}
		for _, k := range from.keys {
			d.set(k, from.values[k])
		}
	}
	for _, k := range a.keys {
		d.set(k, a.kw[k])
	}
	return d, nil
}

func rangeOf(r *run, a *args) (Value, error) {
	var n [3]int64
	if len(a.list) < 1 || len(a.list) > 3 {
		return nil, fmt.Errorf("range has %d arguments", len(a.list))
	}
	for i, v := range a.list {
		var ok bool
		if n[i], ok = whole(v); !ok {
			return nil, fmt.Errorf("range wants integers, not a %s", typeName(v))
		}
	}
	switch len(a.list) {
	case 1:
		n = [3]int64{0, n[0], 1}
	case 2:
		n[2] = 1
	}
	if n[2] == 0 {
		return nil, errors.New("the step of range is 0")
	}
	out := NewList()
	for i := n[0]; n[2] > 0 && i < n[1] || n[2] < 0 && i > n[1]; i += n[2] {
		if len(out.Items) == maxRange {
			return nil, fmt.Errorf("range has more than %d elements", maxRange)
		}
		out.Items = append(out.Items, i)
	}
	return out, r.charge(len(out.Items))
}

// layouts of the codes of strftime, in Go's form.
var layouts = map[byte]string{'a': "Mon", 'A': "Monday", 'b': "Jan", 'B': "January", 'd': "02",
	'H': "15", 'I': "03", 'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'y': "06",
	'Y': "2006",
	'Z': "MST", 'z': "-0700", 'F': "2006-01-02", 'T': "15:04:05", 'D': "01/02/06", 'R': "15:04",
	'e': "_2", 'h': "Jan"}

func strftime(now time.Time, format string) (Value, error) {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		trim := format[i] == '-' && i+1 < len(format) // without leading zeros
		if trim {
			i++
		}
		layout, ok := layouts[format[i]]
		switch {
		case format[i] == '%':
			b.WriteByte('%')
		case !ok:
			return nil, fmt.Errorf("strftime_now: the code %%%c is not supported", format[i])
		case trim:
			s := strings.TrimLeft(now.Format(layout), "0 ")
			if s == "" {
				s = "0"
			}
			b.WriteString(s)
		default:
			b.WriteString(now.Format(layout))
		}
	}
	return b.String(), nil
}
