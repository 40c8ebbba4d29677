package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// JSONSchema returns the grammar of JSON that fits a schema, of which these keywords are followed:
//
//	type, enum, const, anyOf, oneOf, $ref to a part of the schema, $defs, definitions
//	properties, required, additionalProperties, minProperties of 0 and 1
//	items, prefixItems, minItems, maxItems
//	minLength, maxLength, pattern
//
// Others that restrict values are errors; those that describe them are passed over. Properties come in
// the order that the schema has them in. Beside properties there are no others, unless
// additionalProperties says so. A oneOf is an anyOf. A pattern is of the whole text, which then has
// no quotes and backslashes. Between parts there may be a space, or a new line and up to 20 blanks.
func JSONSchema(schema []byte) (*Grammar, error) {
	if len(schema) > maxText {
		return nil, bad("a schema of %d bytes", len(schema))
	}
	var root any
	if err := decodeOrdered(schema, &root); err != nil {
		return nil, bad("the schema is no JSON: %w", err)
	}
	s := &schemas{root: root, rules: maps.Clone(jsonRules), places: map[string]string{}}
	s.order = []string{"root"}
	for name := range jsonRules {
		s.order = append(s.order, name)
	}
	sort.Strings(s.order[1:])
	var err error
	if s.rules["root"], err = s.value(root, "#"); err != nil {
		return nil, err
	}
	return compile(s.rules, s.order)
}

// JSON returns the grammar of any JSON object.
func JSON() (*Grammar, error) { return JSONSchema([]byte(`{"type": "object"}`)) }

// jsonRules are what all schemas need.
var jsonRules = map[string]expr{
	"ws": alt{seq{}, literal(" "), seq{literal("\n"), repeat{class{{'\t', '\t'}, {' ', ' '}}, 0, 20}}},
	"char": alt{plainChar, seq{literal(`\`), alt{class{{'"', '"'}, {'/', '/'}, {'\\', '\\'}, {'b', 'b'},
		{'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}, seq{literal("u"), repeat{hexDigit, 4, 4}}}}},
	"string":  seq{literal(`"`), many(ref("char")), literal(`"`)},
	"integer": seq{optional(literal("-")), alt{literal("0"), seq{class{{'1', '9'}}, repeat{digit, 0, 17}}}},
	"number": seq{ref("integer"), optional(seq{literal("."), repeat{digit, 1, 18}}),
		optional(seq{class{{'E', 'E'}, {'e', 'e'}}, optional(class{{'+', '+'}, {'-', '-'}}), repeat{digit, 1, 2}})},
	"boolean": alt{literal("true"), literal("false")},
	"null":    literal("null"),
	"any": alt{ref("object"), ref("array"), ref("string"), ref("number"), ref("boolean"),
		ref("null")},
	"object": braced("{", listOf(seq{ref("string"), colon, ref("any")}, 0, -1), "}"),
	"array":  braced("[", listOf(ref("any"), 0, -1), "]"),
}

var (
	digit     = class{{'0', '9'}}
	hexDigit  = class{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}
	escaped   = class{{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}
	plainChar = escaped.inverted()
	colon     = seq{ref("ws"), literal(":"), ref("ws")}
	comma     = seq{ref("ws"), literal(","), ref("ws")}
)

func braced(open string, e expr, end string) expr {
	return seq{literal(open), ref("ws"), e, ref("ws"), literal(end)}
}

// listOf is low to high of e with commas between; any number if high is -1.
func listOf(e expr, low, high int) expr {
	if high == 0 {
		return seq{}
	}
	more := repeat{seq{comma, e}, max(low-1, 0), max(high, 0) - 1}
	if high < 0 {
		more.max = -1
	}
	if low == 0 {
		return optional(seq{e, more})
	}
	return seq{e, more}
}

// schemas makes rules of a schema.
type schemas struct {
	root   any
	rules  map[string]expr
	order  []string
	places map[string]string // rules of parts that $ref names
	depth  int
}

// rule adds one and returns what refers to it.
func (s *schemas) rule(name string) string {
	name = fmt.Sprintf("%d %s", len(s.order), name)
	s.order = append(s.order, name)
	return name
}

// describing are keywords that restrict nothing.
var describing = []string{"title", "description", "default", "examples", "example", "$schema", "$id", "$comment",
	"$defs", "definitions", "deprecated", "readOnly", "writeOnly", "format", "$anchor", "nullable", "strict"}

// object is a JSON object whose keys are in the order of the text.
type object struct {
	keys []string
	of   map[string]any
}

func (o *object) has(keys ...string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { _, ok := o.of[k]; return ok })
}

// value is what a schema allows.
func (s *schemas) value(schema any, at string) (expr, error) {
	if s.depth++; s.depth > maxDepth/10 {
		return nil, bad("%s: schemas are nested more than %d deep", at, maxDepth/10)
	}
	defer func() { s.depth-- }()
	switch v := schema.(type) {
	case bool:
		if v {
			return ref("any"), nil
		}
		return alt{}, nil
	case *object:
		k := &keywords{s: s, o: v, at: at, used: map[string]bool{}}
		e, err := k.value()
		if err == nil {
			err = k.rest()
		}
		return e, err
	}
	return nil, bad("%s: a schema is an object or a boolean", at)
}

// keywords are those of one schema.
type keywords struct {
	s    *schemas
	o    *object
	at   string
	used map[string]bool
}

func (k *keywords) get(name string) (any, bool) {
	v, ok := k.o.of[name]
	k.used[name] = true
	return v, ok
}

// rest reports keywords that were not followed.
func (k *keywords) rest() error {
	for _, name := range k.o.keys {
		if !k.used[name] && !slices.Contains(describing, name) {
			return bad("%s: the keyword %s is not supported here", k.at, name)
		}
	}
	return nil
}

func (k *keywords) value() (expr, error) {
	if v, ok := k.get("$ref"); ok {
		name, _ := v.(string)
		return k.s.reference(name, k.at)
	}
	if v, ok := k.get("const"); ok {
		k.used["type"] = true
		return exactly(v), nil
	}
	if v, ok := k.get("enum"); ok {
		k.used["type"] = true
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return nil, bad("%s: enum is a list of values", k.at)
		}
		var out alt
		for _, x := range list {
			out = append(out, exactly(x))
		}
		return out, nil
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if v, ok := k.get(name); ok {
			if k.o.has("properties", "items", "prefixItems", "required") {
				return nil, bad("%s: %s beside other restrictions is not supported here", k.at, name)
			}
			k.used["type"] = true
			return k.any(name, v)
		}
	}
	return k.typed()
}

func (k *keywords) any(name string, v any) (expr, error) {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, bad("%s: %s is a list of schemas", k.at, name)
	}
	var out alt
	for i, x := range list {
		e, err := k.s.value(x, fmt.Sprintf("%s/%s/%d", k.at, name, i))
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// typed is by the keyword type, or by those that only one type has.
func (k *keywords) typed() (expr, error) {
	v, ok := k.get("type")
	if !ok {
		switch {
		case k.o.has("properties", "required", "additionalProperties"):
			v = "object"
		case k.o.has("items", "prefixItems", "minItems", "maxItems"):
			v = "array"
		case k.o.has("minLength", "maxLength", "pattern"):
			v = "string"
		default:
			return ref("any"), nil
		}
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out alt
	for _, name := range list {
		e, err := k.one(name)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

func (k *keywords) one(name any) (expr, error) {
	switch name {
	case "object":
		return k.object()
	case "array":
		return k.array()
	case "string":
		return k.text()
	case "integer", "number", "boolean", "null":
		return ref(name.(string)), nil
	}
	return nil, bad("%s: there is no type %v", k.at, name)
}

// number is a keyword that is a count.
func (k *keywords) number(name string, without int) (int, error) {
	v, ok := k.get(name)
	if !ok {
		return without, nil
	}
	text, _ := v.(json.Number)
	n, err := strconv.ParseUint(text.String(), 10, 16)
	if err != nil {
		return 0, bad("%s: %s is %v, want 0 to 65535", k.at, name, v)
	}
	return int(n), nil
}

func (k *keywords) limits(low, high string) (from, to int, err error) {
	if from, err = k.number(low, 0); err == nil {
		to, err = k.number(high, -1)
	}
	if err == nil && to >= 0 && to < from {
		err = bad("%s: %s is %d, and %s is %d", k.at, low, from, high, to)
	}
	return from, to, err
}

func (k *keywords) text() (expr, error) {
	low, high, err := k.limits("minLength", "maxLength")
	if err != nil {
		return nil, err
	}
	if v, ok := k.get("pattern"); ok {
		pattern, _ := v.(string)
		if low > 0 || high >= 0 {
			return nil, bad("%s: pattern beside a length is not supported here", k.at)
		}
		e, err := regexpExpr(pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k.at, err)
		}
		if e, err = inString(e); err != nil {
			return nil, fmt.Errorf("%s: %w", k.at, err)
		}
		return seq{literal(`"`), e, literal(`"`)}, nil
	}
	return seq{literal(`"`), repeat{ref("char"), low, high}, literal(`"`)}, nil
}

// inString leaves the characters of an expression out that are escaped in JSON.
func inString(e expr) (expr, error) {
	switch e := e.(type) {
	case literal:
		if strings.ContainsFunc(string(e), func(r rune) bool { return r == '"' || r == '\\' || r < ' ' }) {
			return nil, bad("a pattern with quotes, backslashes or control characters")
		}
	case class:
		return append(slices.Clone(e).sorted().inverted(), escaped...).sorted().inverted(), nil
	case seq:
		return mapped(e)
	case alt:
		list, err := mapped(seq(e))
		return alt(list), err
	case repeat:
		of, err := inString(e.of)
		return repeat{of, e.min, e.max}, err
	}
	return e, nil
}

func mapped(list seq) (seq, error) {
	out := seq{}
	for _, e := range list {
		x, err := inString(e)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (k *keywords) array() (expr, error) {
	low, high, err := k.limits("minItems", "maxItems")
	if err != nil {
		return nil, err
	}
	front, _ := k.get("prefixItems")
	first, _ := front.([]any)
	item := expr(ref("any"))
	if v, ok := k.get("items"); ok {
		if item, err = k.s.value(v, k.at+"/items"); err != nil {
			return nil, err
		}
		if v == false {
			high = len(first)
		}
	}
	if len(first) == 0 {
		return braced("[", listOf(item, low, high), "]"), nil
	}
	if low > 0 && low != len(first) || high >= 0 && high != len(first) {
		return nil, bad("%s: prefixItems beside another number of items is not supported here", k.at)
	}
	var list seq
	for i, x := range first {
		e, err := k.s.value(x, fmt.Sprintf("%s/prefixItems/%d", k.at, i))
		if err != nil {
			return nil, err
		}
		if i > 0 {
			list = append(list, comma)
		}
		list = append(list, e)
	}
	if high < 0 {
		list = append(list, many(seq{comma, item}))
	}
	return braced("[", list, "]"), nil
}

// reference is the rule of a part of the schema.
func (s *schemas) reference(name, at string) (expr, error) {
	if rule, ok := s.places[name]; ok {
		return ref(rule), nil
	}
	path, ok := strings.CutPrefix(name, "#")
	if !ok {
		return nil, bad("%s: $ref %q: only parts of the schema itself, from # on", at, name)
	}
	part := s.root
	for _, key := range strings.Split(path, "/")[1:] {
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		o, _ := part.(*object)
		if o == nil || o.of[key] == nil {
			return nil, bad("%s: $ref %q: there is no such part", at, name)
		}
		part = o.of[key]
	}
	rule := s.rule(name)
	s.places[name] = rule
	e, err := s.value(part, name)
	s.rules[rule] = e
	return ref(rule), err
}

// exactly is one value, as it is written without spaces.
func exactly(v any) expr {
	switch v := v.(type) {
	case *object:
		list := seq{}
		for i, key := range v.keys {
			if i > 0 {
				list = append(list, comma)
			}
			list = append(list, exactly(key), colon, exactly(v.of[key]))
		}
		return braced("{", list, "}")
	case []any:
		list := seq{}
		for i, x := range v {
			if i > 0 {
				list = append(list, comma)
			}
			list = append(list, exactly(x))
		}
		return braced("[", list, "]")
	case json.Number:
		return literal(v.String())
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // strings, booleans and null
	return literal(strings.TrimSuffix(b.String(), "\n"))
}
