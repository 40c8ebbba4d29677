package jinja

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// method returns an attribute of a value that is not a key: a method, or an undefined value.
func (r *run) method(v Value, name string) (Value, error) {
	none := &undefined{fmt.Sprintf("attribute %q of a %s", name, typeName(v))}
	switch x := v.(type) {
	case *undefined:
		return nil, x.err()
	case string:
		if f := stringMethods[name]; f != nil {
			return bound(name, func(r *run, a *args) (Value, error) { return f(r, x, a) }), nil
		}
	case *Dict:
		if f := dictMethods[name]; f != nil && !x.namespace {
			return bound(name, func(r *run, a *args) (Value, error) { return f(r, x, a) }), nil
		}
	case *List:
		if f := listMethods[name]; f != nil {
			return bound(name, func(r *run, a *args) (Value, error) { return f(r, x, a) }), nil
		}
	case *loopState:
		if found, ok := x.attr(name); ok {
			return found, nil
		}
	}
	return none, nil
}

// bound makes a function of a method, whose arguments must all be taken.
func bound(name string, call func(r *run, a *args) (Value, error)) *Func {
	return &Func{name, func(r *run, a *args) (Value, error) {
		v, err := call(r, a)
		if err == nil {
			err = a.done()
		}
		if s, ok := v.(string); ok && err == nil {
			return r.made(s)
		}
		return v, err
	}}
}

func (l *loopState) attr(name string) (Value, bool) {
	n, i := int64(len(l.items)), int64(l.i)
	at := func(i int) Value {
		if i < 0 || i >= len(l.items) {
			return &undefined{"the element beyond the ends of the loop"}
		}
		return l.items[i]
	}
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "depth":
		return int64(1), true
	case "depth0":
		return int64(0), true
	case "previtem":
		return at(l.i - 1), true
	case "nextitem":
		return at(l.i + 1), true
	case "cycle":
		return &Func{name, func(r *run, a *args) (Value, error) {
			if len(a.list) == 0 {
				return nil, errors.New("cycle has no values")
			}
			return a.list[l.i%len(a.list)], nil
		}}, true
	case "changed":
		return &Func{name, func(r *run, a *args) (Value, error) {
			v := &List{Items: a.list, tuple: true}
			same, err := r.equal(l.changed, v)
			l.changed = v
			return !same, err
		}}, true
	}
	return nil, false
}

// dictMethods of mappings that do not change them.
var dictMethods = map[string]func(r *run, d *Dict, a *args) (Value, error){
	"items": func(r *run, d *Dict, a *args) (Value, error) { return r.pairs(d) },
	"keys":  func(r *run, d *Dict, a *args) (Value, error) { return d.list(), r.charge(len(d.keys)) },
	"values": func(r *run, d *Dict, a *args) (Value, error) {
		out := NewList()
		for _, k := range d.keys {
			out.Items = append(out.Items, d.values[k])
		}
		return out, r.charge(len(d.keys))
	},
	"get": func(r *run, d *Dict, a *args) (Value, error) {
		k, without := a.next(), a.take("default", nil)
		if !isHashable(k) {
			return nil, fmt.Errorf("a %s cannot be a key", typeName(k))
		}
		if v, ok := d.values[k]; ok {
			return v, nil
		}
		return without, nil
	},
	"copy": func(r *run, d *Dict, a *args) (Value, error) {
		out := NewDict()
		for _, k := range d.keys {
			out.set(k, d.values[k])
		}
		return out, r.charge(len(d.keys))
	},
	"update": immutable, "pop": immutable, "setdefault": immutable, "clear": immutable,
}

// immutable says why a method that changes a value is missing: the reference forbids it, too.
func immutable(*run, *Dict, *args) (Value, error) {
	return nil, errors.New("templates cannot change mappings")
}

var listMethods = map[string]func(r *run, l *List, a *args) (Value, error){
	"index": func(r *run, l *List, a *args) (Value, error) {
		v := a.next()
		for i, x := range l.Items {
			if same, err := r.equal(x, v); same || err != nil {
				return int64(i), err
			}
		}
		return nil, errors.New("index: the value is not in the list")
	},
	"count": func(r *run, l *List, a *args) (Value, error) {
		n, v := int64(0), a.next()
		for _, x := range l.Items {
			same, err := r.equal(x, v)
			if err != nil {
				return nil, err
			}
			n += int64(b2i(same))
		}
		return n, nil
	},
	"copy":   func(r *run, l *List, a *args) (Value, error) { return &List{Items: l.Items}, nil },
	"append": frozen, "extend": frozen, "insert": frozen, "pop": frozen, "remove": frozen,
	"reverse": frozen, "sort": frozen, "clear": frozen,
}

func frozen(*run, *List, *args) (Value, error) {
	return nil, errors.New("templates cannot change lists; add two with +")
}

type stringMethod = func(r *run, s string, a *args) (Value, error)

// simple makes a method of a function without arguments.
func simple(f func(string) string) stringMethod {
	return func(_ *run, s string, _ *args) (Value, error) { return f(s), nil }
}

// all makes a method that asks something of all characters.
func all(f func(rune) bool) stringMethod {
	return func(_ *run, s string, _ *args) (Value, error) {
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !f(c) }) < 0, nil
	}
}

var stringMethods map[string]stringMethod

func init() {
	stringMethods = map[string]stringMethod{
		"upper": simple(strings.ToUpper), "lower": simple(strings.ToLower), "title": simple(title),
		"capitalize": simple(capitalize), "casefold": simple(strings.ToLower),
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"removeprefix": remove(strings.TrimPrefix), "removesuffix": remove(strings.TrimSuffix),
		"split": split(false), "rsplit": split(true), "splitlines": splitLines, "replace": replace,
		"find": find(strings.Index, false), "rfind": find(strings.LastIndex, false),
		"index": find(strings.Index, true), "count": countIn, "join": joinMethod,
		"isdigit": all(unicode.IsDigit), "isnumeric": all(unicode.IsNumber),
		"isalpha": all(unicode.IsLetter), "isspace": all(unicode.IsSpace),
		"isalnum": all(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
		"isupper": cases(strings.ToUpper), "islower": cases(strings.ToLower),
		"format": formatMethod, "partition": partition, "zfill": zfill,
	}
}

func cases(change func(string) string) stringMethod {
	return func(_ *run, s string, _ *args) (Value, error) {
		return change(s) == s && strings.ToLower(s) != strings.ToUpper(s), nil
	}
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.ToTitle(s[:n]) + strings.ToLower(s[n:])
}

func title(s string) string {
	word := false
	return strings.Map(func(c rune) rune {
		was := word
		word = unicode.IsLetter(c)
		if was {
			return unicode.ToLower(c)
		}
		return unicode.ToTitle(c)
	}, s)
}

func strip(left, right bool) stringMethod {
	return func(_ *run, s string, a *args) (Value, error) {
		drop := unicode.IsSpace
		if v := a.take("chars", nil); v != nil {
			set, ok := v.(string)
			if !ok {
				return nil, fmt.Errorf("%s: the characters are a %s", a.name, typeName(v))
			}
			drop = func(c rune) bool { return strings.ContainsRune(set, c) }
		}
		if left {
			s = strings.TrimLeftFunc(s, drop)
		}
		if right {
			s = strings.TrimRightFunc(s, drop)
		}
		return s, nil
	}
}

// affix is a question about the start or the end, which may be one of a tuple.
func affix(has func(s, part string) bool) stringMethod {
	return func(_ *run, s string, a *args) (Value, error) {
		v := a.next()
		list := []Value{v}
		if l, ok := v.(*List); ok && l.tuple {
			list = l.Items
		}
		for _, x := range list {
			part, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("%s wants a string, not a %s", a.name, typeName(x))
			}
			if has(s, part) {
				return true, nil
			}
		}
		return false, nil
	}
}

func remove(f func(s, part string) string) stringMethod {
	return func(_ *run, s string, a *args) (Value, error) {
		part, err := a.str("part", nil)
		return f(s, part), err
	}
}

func split(right bool) stringMethod {
	return func(r *run, s string, a *args) (Value, error) {
		sep := a.take("sep", nil)
		n, err := a.int("maxsplit", -1)
		if err != nil {
			return nil, err
		}
		var parts []string
		switch x := sep.(type) {
		case nil:
			parts = fields(s, int(min(n, maxRange)), right)
		case string:
			if x == "" {
				return nil, errors.New("split: the separator is empty")
			}
			parts = splitBy(s, x, int(min(n, int64(len(s)))), right)
		default:
			return nil, fmt.Errorf("split: the separator is a %s", typeName(sep))
		}
		return stringList(parts), r.charge(len(parts))
	}
}

func stringList(parts []string) *List {
	out := NewList()
	for _, s := range parts {
		out.Items = append(out.Items, s)
	}
	return out
}

// splitBy splits n times at most, from the right if so; a negative n is no bound.
func splitBy(s, sep string, n int, right bool) []string {
	if n < 0 {
		return strings.Split(s, sep)
	}
	if !right {
		return strings.SplitN(s, sep, n+1)
	}
	parts := strings.Split(s, sep)
	if k := len(parts) - n; k > 1 {
		return append([]string{strings.Join(parts[:k], sep)}, parts[k:]...)
	}
	return parts
}

// fields splits at whitespace.
func fields(s string, n int, right bool) []string {
	if n < 0 {
		return strings.Fields(s)
	}
	var out []string
	if right {
		s = strings.TrimRightFunc(s, unicode.IsSpace)
		for ; n > 0 && s != ""; n-- {
			k := strings.LastIndexFunc(s, unicode.IsSpace)
			_, size := utf8.DecodeRuneInString(s[max(k, 0):])
			if k < 0 {
				size = 0
			}
			out = append([]string{s[max(k, 0)+size:]}, out...)
			s = strings.TrimRightFunc(s[:max(k, 0)], unicode.IsSpace)
		}
		if s != "" {
			out = append([]string{s}, out...)
		}
		return out
	}
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	for ; n > 0 && s != ""; n-- {
		k := strings.IndexFunc(s, unicode.IsSpace)
		if k < 0 {
			k = len(s)
		}
		out = append(out, s[:k])
		s = strings.TrimLeftFunc(s[k:], unicode.IsSpace)
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

func splitLines(r *run, s string, a *args) (Value, error) {
	keep := truth(a.take("keepends", false))
	out := NewList()
	for line := range strings.Lines(s) {
		if !keep {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		}
		out.Items = append(out.Items, line)
	}
	return out, r.charge(len(out.Items))
}

func replace(_ *run, s string, a *args) (Value, error) {
	old, err := a.str("old", nil)
	if err != nil {
		return nil, err
	}
	with, err := a.str("new", nil)
	if err != nil {
		return nil, err
	}
	n := int64(-1)
	if v := a.take("count", nil); v != nil {
		n, _ = whole(v)
	}
	if (len(s)+1)*max(len(with), 1) > maxOutput && len(with) > len(old) {
		if strings.Count(s, old)*(len(with)-len(old))+len(s) > maxOutput {
			return nil, ErrBudget
		}
	}
	return strings.Replace(s, old, with, int(max(n, -1))), nil
}

func find(index func(s, part string) int, must bool) stringMethod {
	return func(_ *run, s string, a *args) (Value, error) {
		part, err := a.str("sub", nil)
		if err != nil {
			return nil, err
		}
		i := index(s, part)
		if i < 0 {
			if must {
				return nil, fmt.Errorf("index: %.40q is not there", part)
			}
			return int64(-1), nil
		}
		return int64(utf8.RuneCountInString(s[:i])), nil
	}
}

func countIn(_ *run, s string, a *args) (Value, error) {
	part, err := a.str("sub", nil)
	return int64(strings.Count(s, part)), err
}

func joinMethod(r *run, s string, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return nil, fmt.Errorf("join wants strings, not a %s", typeName(v))
		}
	}
	return join(r, &args{name: "join", list: []Value{NewList(list...), s}})
}

func partition(_ *run, s string, a *args) (Value, error) {
	sep, err := a.str("sep", nil)
	before, after, ok := strings.Cut(s, sep)
	if !ok {
		sep = ""
	}
	return &List{Items: []Value{before, sep, after}, tuple: true}, err
}

func zfill(_ *run, s string, a *args) (Value, error) {
	n, err := a.int("width", 0)
	if err != nil || n > maxIndent {
		return nil, errors.Join(err, errRange)
	}
	sign := len(s) - len(strings.TrimLeft(s, "+-"))
	pad := max(int(n)-utf8.RuneCountInString(s), 0)
	return s[:min(sign, 1)] + strings.Repeat("0", pad) + s[min(sign, 1):], nil
}

// formatMethod is format of Python, with {}, {0} and {name}.
func formatMethod(r *run, s string, a *args) (Value, error) {
	var b strings.Builder
	next := 0
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		if strings.HasPrefix(s[i+1:], s[i:i+1]) {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		field, rest, ok := strings.Cut(s[i+1:], "}")
		if s[i] == '}' || !ok {
			return nil, errors.New("format: a brace has no other one")
		}
		v, err := a.field(field, &next)
		if err != nil {
			return nil, err
		}
		text, err := r.text(v)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
		s = rest
		if b.Len() > maxOutput {
			return nil, ErrBudget
		}
	}
	a.list, a.kw = nil, nil
	return b.String(), nil
}

func (a *args) field(name string, next *int) (Value, error) {
	if v, ok := a.kw[name]; ok {
		return v, nil
	}
	i, err := strconv.Atoi(name)
	if name == "" {
		i, err = *next, nil
		*next++
	}
	if err != nil || i < 0 || i >= len(a.list) {
		return nil, fmt.Errorf("format: there is no value for {%s}", name)
	}
	return a.list[i], nil
}
