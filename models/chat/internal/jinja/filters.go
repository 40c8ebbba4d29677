package jinja

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// function is a filter, or a test: the value is its first argument.
type function = func(r *run, a *args) (Value, error)

// filters by name. Some look names up, so that init fills it.
var filters map[string]function

func init() {
	filters = map[string]function{
		"tojson": toJSON, "length": length, "count": length, "string": toString, "safe": safe,
		"trim": method1("strip"), "upper": method1("upper"), "lower": method1("lower"),
		"title": method1("title"), "capitalize": method1("capitalize"), "replace": replaceFilter,
		"default": defaulted, "d": defaulted, "first": firstOf, "last": lastOf, "list": toList,
		"join": join, "map": mapped, "select": selected(true, false), "reject": selected(false, false),
		"selectattr": selected(true, true), "rejectattr": selected(false, true), "items": dictItems,
		"dictsort": dictSort, "int": toInt, "float": toFloat, "e": escape, "escape": escape,
		"indent": indent, "unique": unique, "sort": sorted, "reverse": reversed, "sum": sum,
		"min": extreme(-1), "max": extreme(1), "round": round, "abs": absolute, "wordcount": wordCount,
		"format": formatFilter, "batch": batch, "groupby": groupBy, "attr": attrFilter,
	}
}

// filter applies a filter by name, and looks for arguments that it does not have.
func (r *run) filter(name string, a *args) (Value, error) {
	f := filters[name]
	if f == nil {
		return nil, fmt.Errorf("there is no filter %q", name)
	}
	v, err := f(r, a)
	if err == nil {
		err = a.done()
	}
	if s, ok := v.(string); ok && err == nil {
		return r.made(s)
	}
	return v, err
}

func safe(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	return markup(s), err
}

// method1 is a method of strings as a filter, of the text of any value.
func method1(name string) function {
	return func(r *run, a *args) (Value, error) {
		s, err := r.text(a.next())
		if err != nil {
			return nil, err
		}
		return stringMethods[name](r, s, a)
	}
}

func length(r *run, a *args) (Value, error) {
	switch x := a.next().(type) {
	case string:
		runes, err := r.runes(x)
		return int64(len(runes)), err
	case *List:
		if x.lazy {
			return nil, fmt.Errorf("there is no length of a %s", typeName(x))
		}
		return int64(len(x.Items)), nil
	case *Dict:
		return int64(len(x.keys)), nil
	case *undefined:
		return int64(0), nil
	default:
		return nil, fmt.Errorf("a %s has no length", typeName(x))
	}
}

func toString(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	return s, err
}

func replaceFilter(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	if err != nil {
		return nil, err
	}
	for i, v := range a.list[:min(len(a.list), 2)] {
		if a.list[i], err = r.text(v); err != nil {
			return nil, err
		}
	}
	return replace(r, s, a)
}

func defaulted(r *run, a *args) (Value, error) {
	v := a.next()
	other, all := a.take("default_value", ""), truth(a.take("boolean", false))
	if _, none := v.(*undefined); none || all && !truth(v) {
		return other, nil
	}
	return v, nil
}

func firstOf(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if len(list) == 0 || err != nil {
		return &undefined{"the first of nothing"}, err
	}
	return list[0], nil
}

func lastOf(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if len(list) == 0 || err != nil {
		return &undefined{"the last of nothing"}, err
	}
	return list[len(list)-1], nil
}

func toList(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	return &List{Items: slices.Clone(list)}, err
}

func join(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	sep, err := r.text(a.take("d", ""))
	if err != nil {
		return nil, err
	}
	attr := a.take("attribute", nil)
	var b strings.Builder
	for i, v := range list {
		if v, err = r.attribute(v, attr); err != nil {
			return nil, err
		}
		s, err := r.text(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(s)
		if _, err := r.made(sep + s); err != nil || b.Len() > maxOutput {
			return nil, errors.Join(err, ErrBudget)
		}
	}
	return b.String(), nil
}

// attribute follows a path such as "function.name"; nil is the value itself.
func (r *run) attribute(v, path Value) (Value, error) {
	switch p := path.(type) {
	case nil:
		return v, nil
	case int64:
		return r.index(v, p)
	case string:
		for _, part := range strings.Split(p, ".") {
			var err error
			key := Value(part)
			if i, e := strconv.ParseInt(part, 10, 64); e == nil {
				key = i
			}
			if v, err = r.index(v, key); err != nil {
				return nil, err
			}
		}
		return v, nil
	}
	return nil, fmt.Errorf("a %s is no attribute", typeName(path))
}

// itemsOrNone is items, of what is false none.
func (r *run) itemsOrNone(v Value) ([]Value, error) {
	if !truth(v) {
		return nil, nil
	}
	return r.items(v)
}

func mapped(r *run, a *args) (Value, error) {
	list, err := r.itemsOrNone(a.next())
	if err != nil {
		return nil, err
	}
	out := lazily(nil)
	path, byAttr := a.kw["attribute"]
	without, hasDefault := a.kw["default"]
	if byAttr {
		a.kw = nil
	} else if s, err := a.str("filter", nil); err != nil {
		return nil, err
	} else {
		path = s
	}
	for _, v := range list {
		if byAttr {
			v, err = r.attribute(v, path)
			if _, none := v.(*undefined); none && hasDefault {
				v = without
			}
		} else {
			v, err = r.filter(path.(string), &args{name: path.(string),
				list: append([]Value{v}, a.list...), kw: clone(a.kw)})
		}
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
	}
	a.list, a.kw = nil, nil
	return out, nil
}

func clone(m map[string]Value) map[string]Value {
	out := map[string]Value{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// selected keeps elements of which, or of an attribute of which, a test holds or does not.
func selected(keep, byAttr bool) function {
	return func(r *run, a *args) (Value, error) {
		list, err := r.itemsOrNone(a.next())
		if err != nil {
			return nil, err
		}
		var path Value
		if byAttr {
			path = a.next()
		}
		name := ""
		if len(a.list) > 0 {
			if name, err = a.str("test", nil); err != nil {
				return nil, err
			}
		}
		out := lazily(nil)
		for _, item := range list {
			v, err := r.attribute(item, path)
			if err != nil {
				return nil, err
			}
			ok := Value(truth(v))
			if name != "" {
				ok, err = r.test(name, &args{name: name,
					list: append([]Value{v}, a.list...), kw: clone(a.kw)})
			}
			if err != nil {
				return nil, err
			}
			if truth(ok) == keep {
				out.Items = append(out.Items, item)
			}
		}
		a.list, a.kw = nil, nil
		return out, nil
	}
}

func dictItems(r *run, a *args) (Value, error) {
	switch x := a.next().(type) {
	case *Dict:
		list, err := r.pairs(x)
		list.lazy = true
		return list, err
	case *undefined:
		return lazily(nil), nil
	default:
		return nil, fmt.Errorf("items: a %s is no mapping", typeName(x))
	}
}

// pairs returns keys and values.
func (r *run) pairs(d *Dict) (*List, error) {
	out := NewList()
	for _, k := range d.keys {
		out.Items = append(out.Items, &List{Items: []Value{k, d.values[k]}, tuple: true})
	}
	return out, r.charge(len(d.keys))
}

// sortBy sorts by a key of each value; values that are alike keep their order.
func (r *run) sortBy(list []Value, key func(Value) Value) error {
	var failed error
	slices.SortStableFunc(list, func(x, y Value) int {
		if failed != nil {
			return 0
		}
		c, err := r.order(key(x), key(y))
		failed = err
		return c
	})
	return failed
}

// folded ignores the case of strings, unless sensitive.
func folded(v Value, sensitive bool) Value {
	if s, ok := v.(string); ok && !sensitive {
		return strings.ToLower(s)
	}
	return v
}

func dictSort(r *run, a *args) (Value, error) {
	d, ok := a.next().(*Dict)
	if !ok {
		return nil, errors.New("dictsort: the value is no mapping")
	}
	sensitive, by := truth(a.take("case_sensitive", false)), a.take("by", "key")
	reverse := truth(a.take("reverse", false))
	list, err := r.pairs(d)
	if err != nil {
		return nil, err
	}
	at := b2i(by == "value")
	err = r.sortBy(list.Items, func(v Value) Value { return folded(v.(*List).Items[at], sensitive) })
	if reverse {
		slices.Reverse(list.Items)
	}
	return list, err
}

func sorted(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	reverse, sensitive := truth(a.take("reverse", false)), truth(a.take("case_sensitive", false))
	path := a.take("attribute", nil)
	keys := map[*List]Value{}
	rows := make([]Value, len(list))
	for i, v := range list {
		k, err := r.attribute(v, path)
		if err != nil {
			return nil, err
		}
		row := NewList(v)
		keys[row], rows[i] = folded(k, sensitive), row
	}
	if reverse {
		slices.Reverse(rows) // so that the order of equal ones stays
	}
	if err := r.sortBy(rows, func(v Value) Value { return keys[v.(*List)] }); err != nil {
		return nil, err
	}
	if reverse {
		slices.Reverse(rows)
	}
	for i, v := range rows {
		rows[i] = v.(*List).Items[0]
	}
	return NewList(rows...), nil
}

func toInt(r *run, a *args) (Value, error) {
	v := a.next()
	without := a.take("default", int64(0))
	switch x := v.(type) {
	case string:
		s := strings.TrimSpace(x)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<62 {
			return int64(f), nil
		}
		return without, nil
	case float64:
		if math.Abs(x) < 1<<62 {
			return int64(x), nil
		}
		return without, nil
	}
	if i, ok := whole(v); ok {
		return i, nil
	}
	return without, nil
}

func toFloat(r *run, a *args) (Value, error) {
	v := a.next()
	without := a.take("default", 0.0)
	if s, ok := v.(string); ok {
		if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
			return f, nil
		}
	}
	if f, ok := number(v); ok {
		return f, nil
	}
	return without, nil
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func escape(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	return markup(escaper.Replace(s)), err
}

func indent(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	if err != nil {
		return nil, err
	}
	width := a.take("width", int64(4))
	by, ok := width.(string)
	if !ok {
		n, ok := whole(width)
		if !ok || n > maxIndent {
			return nil, fmt.Errorf("indent: the width is a %s or more than %d", typeName(width),
				maxIndent)
		}
		by = strings.Repeat(" ", int(max(n, 0)))
	}
	first, blank := truth(a.take("first", false)), truth(a.take("blank", false))
	if (strings.Count(s, "\n")+1)*len(by) > maxOutput {
		return nil, ErrBudget
	}
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if (i > 0 || first) && (blank || l != "") {
			lines[i] = by + l
		}
	}
	return strings.Join(lines, "\n"), nil
}

func unique(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	sensitive, path := truth(a.take("case_sensitive", false)), a.take("attribute", nil)
	out, seen := lazily(nil), NewList()
	for _, v := range list {
		k, err := r.attribute(v, path)
		if err != nil {
			return nil, err
		}
		k = folded(k, sensitive)
		if ok, err := r.contains(seen, k); ok || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		seen.Items, out.Items = append(seen.Items, k), append(out.Items, v)
	}
	return out, nil
}

func reversed(r *run, a *args) (Value, error) {
	v := a.next()
	list, err := r.items(v)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.Reverse(list)
	if _, ok := v.(string); ok {
		return join(r, &args{name: "reverse", list: []Value{NewList(list...)}})
	}
	return lazily(list), nil
}

func sum(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	path, total := a.take("attribute", nil), a.take("start", int64(0))
	for _, v := range list {
		if v, err = r.attribute(v, path); err != nil {
			return nil, err
		}
		if total, err = r.arithmetic("+", total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

// extreme is the smallest or the largest element.
func extreme(sign int) function {
	return func(r *run, a *args) (Value, error) {
		list, err := r.items(a.next())
		if err != nil || len(list) == 0 {
			return &undefined{"the extreme of nothing"}, err
		}
		sensitive, path := truth(a.take("case_sensitive", false)), a.take("attribute", nil)
		var out, best Value
		for i, v := range list {
			k, err := r.attribute(v, path)
			if err != nil {
				return nil, err
			}
			k = folded(k, sensitive)
			c := 1
			if i > 0 {
				if c, err = r.order(k, best); err != nil {
					return nil, err
				}
				c *= sign
			}
			if c > 0 {
				out, best = v, k
			}
		}
		return out, nil
	}
}

func round(r *run, a *args) (Value, error) {
	x, ok := number(a.next())
	if !ok {
		return nil, errors.New("round: the value is no number")
	}
	digits, err := a.int("precision", 0)
	if err != nil || digits < -300 || digits > 300 {
		return nil, errors.Join(err, errRange)
	}
	scale := math.Pow(10, float64(digits))
	switch method := a.take("method", "common"); method {
	case "common":
		return math.RoundToEven(x*scale) / scale, nil
	case "ceil":
		return math.Ceil(x*scale) / scale, nil
	case "floor":
		return math.Floor(x*scale) / scale, nil
	default:
		return nil, fmt.Errorf("round: there is no method %v", method)
	}
}

func absolute(r *run, a *args) (Value, error) {
	v := a.next()
	if i, ok := whole(v); ok && i >= 0 {
		return i, nil
	} else if ok {
		return r.arithmetic("unary-", i, nil)
	}
	x, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("abs: a %s is no number", typeName(v))
	}
	return math.Abs(x), nil
}

func wordCount(r *run, a *args) (Value, error) {
	s, err := r.text(a.next())
	return int64(len(strings.FieldsFunc(s, func(c rune) bool {
		return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}))), err
}

func batch(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	n, err := a.int("linecount", 0)
	fill := a.take("fill_with", nil)
	if err != nil || n < 1 || n > maxRange {
		return nil, errors.Join(err, fmt.Errorf("batch: %d elements in a row", n))
	}
	out := lazily(nil)
	for part := range slices.Chunk(list, int(n)) {
		part = slices.Clone(part)
		for fill != nil && len(part) < int(n) {
			part = append(part, fill)
		}
		out.Items = append(out.Items, NewList(part...))
	}
	return out, r.charge(int(n))
}

func groupBy(r *run, a *args) (Value, error) {
	list, err := r.items(a.next())
	if err != nil {
		return nil, err
	}
	path := a.take("attribute", nil)
	out, keys := NewList(), NewList()
	for _, v := range list {
		k, err := r.attribute(v, path)
		if err != nil {
			return nil, err
		}
		at := -1
		for i, old := range keys.Items {
			if same, err := r.equal(old, k); err != nil {
				return nil, err
			} else if same {
				at = i
			}
		}
		if at < 0 {
			at = len(keys.Items)
			keys.Items = append(keys.Items, k)
			out.Items = append(out.Items, &List{Items: []Value{k, NewList()}, tuple: true})
		}
		group := out.Items[at].(*List).Items[1].(*List)
		group.Items = append(group.Items, v)
	}
	return out, r.sortBy(out.Items, func(v Value) Value { return folded(v.(*List).Items[0], false) })
}

func attrFilter(r *run, a *args) (Value, error) {
	v := a.next()
	name, err := a.str("name", nil)
	if err != nil {
		return nil, err
	}
	return r.method(v, name)
}

func formatFilter(r *run, a *args) (Value, error) {
	s, err := a.str("value", nil)
	if err != nil {
		return nil, err
	}
	list := a.list
	a.list = nil
	return r.printf(s, &List{Items: list, tuple: true})
}

// printf is % of Python, with %s, %d, %r and %%.
func (r *run) printf(s string, v Value) (Value, error) {
	list := []Value{v}
	if l, ok := v.(*List); ok && l.tuple {
		list = l.Items
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			return nil, errors.New("the format ends with %")
		}
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("the format %q has too few values", s)
		}
		if err := r.verb(&b, s[i], list[0]); err != nil {
			return nil, err
		}
		list = list[1:]
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("the format %q has too many values", s)
	}
	return r.made(b.String())
}

func (r *run) verb(b *strings.Builder, verb byte, v Value) error {
	switch verb {
	case 's':
		s, err := r.text(v)
		b.WriteString(s)
		return err
	case 'r':
		return r.repr(b, v, 0)
	case 'd':
		if x, ok := number(v); ok && math.Abs(x) < 1<<62 {
			b.WriteString(strconv.FormatInt(int64(x), 10))
			return nil
		}
	}
	return fmt.Errorf("the format %%%c of a %s is not supported", verb, typeName(v))
}
