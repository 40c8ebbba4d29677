package grammar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// object is the properties in their order, each if it is required or as the model likes, and then
// others.
func (k *keywords) object() (expr, error) {
	var props object
	if v, ok := k.get("properties"); ok {
		o, is := v.(*object)
		if !is {
			return nil, bad("%s: properties is an object", k.at)
		}
		props = *o
	}
	need, err := k.required(&props)
	if err != nil {
		return nil, err
	}
	least, err := k.number("minProperties", 0)
	if err == nil && least > 1 {
		err = bad("%s: minProperties of %d is not supported here", k.at, least)
	}
	if err != nil {
		return nil, err
	}
	other, err := k.others(&props)
	if err != nil {
		return nil, err
	}
	p := &properties{s: k.s, at: k.at, need: need, other: other, empty: least == 0, rules: map[[2]int]string{}}
	for _, key := range props.keys {
		e, err := k.s.value(props.of[key], k.at+"/properties/"+key)
		if err != nil {
			return nil, err
		}
		name := k.s.rule(k.at + " " + key) // it is in several rules
		k.s.rules[name] = seq{exactly(key), colon, e}
		p.pairs, p.keys = append(p.pairs, ref(name)), append(p.keys, key)
	}
	return braced("{", p.from(0, true), "}"), nil
}

// required is the names that there must be. Those without a schema are additional properties.
func (k *keywords) required(props *object) (need []string, err error) {
	v, ok := k.get("required")
	if !ok {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		return nil, bad("%s: required is a list of names", k.at)
	}
	without, ok := k.get("additionalProperties")
	if !ok {
		without = true
	}
	added := object{slices.Clone(props.keys), map[string]any{}}
	for key, x := range props.of {
		added.of[key] = x
	}
	for _, x := range list {
		name, ok := x.(string)
		if !ok {
			return nil, bad("%s: required is a list of names", k.at)
		}
		if !added.has(name) {
			if without == false {
				return nil, bad("%s: %s is required, and there is no such property", k.at, name)
			}
			added.keys, added.of[name] = append(added.keys, name), without
		}
		need = append(need, name)
	}
	*props = added
	return need, nil
}

// others is what properties beside those of the schema are, nil for none.
func (k *keywords) others(props *object) (expr, error) {
	v, ok := k.get("additionalProperties")
	if !ok {
		v = len(props.keys) == 0
	}
	if v == false {
		return nil, nil
	}
	e, err := k.s.value(v, k.at+"/additionalProperties")
	if err != nil {
		return nil, err
	}
	if len(props.keys) == 0 {
		return seq{ref("string"), colon, e}, nil
	}
	return seq{literal(`"`), notOneOf(props.keys), literal(`"`), colon, e}, nil
}

// notOneOf is the names that are none of a list, of characters that JSON does not escape.
func notOneOf(names []string) expr {
	next := map[rune][]string{}
	c, ends := class{}, false
	for _, name := range names {
		if name == "" {
			ends = true
			continue
		}
		r := []rune(name)
		if next[r[0]] == nil {
			c = append(c, span{r[0], r[0]})
		}
		next[r[0]] = append(next[r[0]], string(r[1:]))
	}
	c = append(c, escaped...)
	out := alt{seq{c.sorted().inverted(), many(plainChar)}}
	if !ends {
		out = append(out, seq{})
	}
	for _, s := range c {
		if rest := next[s.lo]; rest != nil && s.lo == s.hi && s.lo != '"' && s.lo != '\\' && s.lo > 0x1F {
			out = append(out, seq{literal(string(s.lo)), notOneOf(rest)})
		}
	}
	return out
}

// properties makes rules for what may follow each property.
type properties struct {
	s     *schemas
	at    string
	keys  []string
	pairs []expr
	need  []string
	other expr
	empty bool              // there may be none at all
	rules map[[2]int]string // by the next property, and whether it is the first
}

// from is the properties from i on, the first of all or behind others.
func (p *properties) from(i int, first bool) expr {
	at := [2]int{i, 0}
	between := expr(comma)
	if first {
		at[1], between = 1, seq{}
	}
	if rule, ok := p.rules[at]; ok {
		return ref(rule)
	}
	rule := p.s.rule(fmt.Sprintf("%s from %v", p.at, at))
	p.rules[at] = rule
	out := alt{}
	switch {
	case i < len(p.pairs):
		out = append(out, seq{between, p.pairs[i], p.from(i+1, false)})
		if !slices.Contains(p.need, p.keys[i]) {
			out = append(out, p.from(i+1, first))
		}
	case p.other == nil:
		if !first || p.empty {
			out = append(out, seq{})
		}
	default:
		out = append(out, seq{between, p.other, many(seq{comma, p.other})})
		if !first || p.empty {
			out = append(out, seq{})
		}
	}
	p.s.rules[rule] = out
	return ref(rule)
}

// decodeOrdered reads JSON, its objects with their keys in order and numbers as they are written.
func decodeOrdered(b []byte, v *any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var err error
	if *v, err = ordered(d, 0); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more behind the value")
	}
	return nil
}

func ordered(d *json.Decoder, depth int) (any, error) {
	tok, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	switch tok {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			x, err := ordered(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, x)
		}
		_, err = d.Token()
		return list, err
	case json.Delim('{'):
		o := &object{of: map[string]any{}}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string) // what else is not JSON
			if o.has(name) {
				return nil, fmt.Errorf("two keys %q in one object", name)
			}
			o.keys = append(o.keys, name)
			if o.of[name], err = ordered(d, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = d.Token()
		return o, err
	}
	return tok, nil
}
