package jinja

import (
	"slices"
	"strconv"
)

// tuple reads an expression, or several with commas between.
func (p *parser) tuple() (*expr, error) { return p.tupleOf(p.expression) }

func (p *parser) tupleOf(read func() (*expr, error)) (*expr, error) {
	e, err := read()
	if err != nil || !p.is(op, ",") {
		return e, err
	}
	t := &expr{line: e.line, op: "tuple", args: []*expr{e}}
	for p.accept(op, ",") {
		if k := p.peek(); k.kind == close || k.kind == op && k.text == ")" {
			break
		}
		if e, err = read(); err != nil {
			return nil, err
		}
		t.args = append(t.args, e)
	}
	return t, nil
}

func binary(line int, op string, a, b *expr) *expr {
	return &expr{line: line, op: op, args: []*expr{a, b}}
}

// expression reads a conditional expression, which binds least.
func (p *parser) expression() (*expr, error) {
	if err := p.down(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.or()
	for err == nil && p.is(name, "if") {
		line := p.next().line
		c := &expr{line: line, op: "if", args: []*expr{nil, e}}
		if c.args[0], err = p.or(); err != nil {
			return nil, err
		}
		if p.accept(name, "else") {
			var other *expr
			if other, err = p.expression(); err != nil {
				return nil, err
			}
			c.args = append(c.args, other)
		}
		e = c
	}
	return e, err
}

func (p *parser) or() (*expr, error) {
	e, err := p.and()
	for err == nil && p.is(name, "or") {
		line := p.next().line
		var b *expr
		if b, err = p.and(); err == nil {
			e = binary(line, "or", e, b)
		}
	}
	return e, err
}

func (p *parser) and() (*expr, error) {
	e, err := p.not()
	for err == nil && p.is(name, "and") {
		line := p.next().line
		var b *expr
		if b, err = p.not(); err == nil {
			e = binary(line, "and", e, b)
		}
	}
	return e, err
}

func (p *parser) not() (*expr, error) {
	if t := p.peek(); p.accept(name, "not") {
		if err := p.down(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		e, err := p.not()
		return &expr{line: t.line, op: "not", args: []*expr{e}}, err
	}
	return p.compare()
}

// comparison takes an operator of comparison.
func (p *parser) comparison() string {
	t := p.peek()
	switch {
	case t.kind == op && slices.Contains([]string{"==", "!=", "<", "<=", ">", ">="}, t.text):
		p.pos++
		return t.text
	case p.accept(name, "in"):
		return "in"
	case p.is(name, "not") && p.tokens[p.pos+1].kind == name && p.tokens[p.pos+1].text == "in":
		p.pos += 2
		return "not in"
	}
	return ""
}

// compare reads a chain of comparisons, each of which must hold.
func (p *parser) compare() (*expr, error) {
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	var e *expr
	for line := p.peek().line; ; line = p.peek().line {
		o := p.comparison()
		if o == "" {
			break
		}
		b, err := p.sum()
		if err != nil {
			return nil, err
		}
		if c := binary(line, o, a, b); e == nil {
			e = c
		} else {
			e = binary(line, "and", e, c)
		}
		a = b
	}
	if e == nil {
		e = a
	}
	return e, nil
}

// left reads operators that associate to the left.
func (p *parser) left(read func() (*expr, error), ops ...string) (*expr, error) {
	e, err := read()
	for err == nil && p.peek().kind == op && slices.Contains(ops, p.peek().text) {
		t := p.next()
		var b *expr
		if b, err = read(); err == nil {
			e = binary(t.line, t.text, e, b)
		}
	}
	return e, err
}

func (p *parser) sum() (*expr, error) { return p.left(p.concat, "+", "-") }

func (p *parser) concat() (*expr, error) { return p.left(p.product, "~") }

func (p *parser) product() (*expr, error) { return p.left(p.power, "*", "/", "//", "%") }

func (p *parser) power() (*expr, error) { return p.left(p.unary, "**") }

func (p *parser) unary() (*expr, error) {
	e, err := p.signed()
	if err != nil {
		return nil, err
	}
	return p.filters(e, false)
}

// signed reads an operand with its signs: filters apply to the signed value.
func (p *parser) signed() (*expr, error) {
	t := p.peek()
	if !p.accept(op, "-") && !p.accept(op, "+") {
		return p.postfixed()
	}
	if err := p.down(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	e, err := p.signed()
	return &expr{line: t.line, op: "unary" + t.text, args: []*expr{e}}, err
}

func (p *parser) postfixed() (*expr, error) {
	e, err := p.primary()
	for err == nil {
		t := p.peek()
		switch {
		case p.accept(op, "."):
			e, err = p.attribute(e, t.line)
		case p.accept(op, "["):
			e, err = p.subscript(e, t.line)
		case p.is(op, "("):
			e, err = p.arguments(&expr{line: t.line, op: "call", args: []*expr{e}})
		default:
			return e, nil
		}
	}
	return e, err
}

func (p *parser) attribute(e *expr, line int) (*expr, error) {
	t := p.next()
	switch t.kind {
	case name:
		return &expr{line: line, op: "attr", name: t.text, args: []*expr{e}}, nil
	case integer:
		i, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, p.errorf(t.line, "%v", err)
		}
		return binary(line, "index", e, &expr{line: line, op: "const", value: i}), nil
	}
	return nil, p.errorf(t.line, "unexpected %s, want a name", t)
}

func (p *parser) subscript(e *expr, line int) (*expr, error) {
	parts := []*expr{nil, nil, nil}
	n := 0
	for {
		if p.accept(op, "]") {
			break
		}
		if p.accept(op, ":") {
			if n++; n > 2 {
				return nil, p.errorf(line, "a slice has three parts at most")
			}
			continue
		}
		if parts[n] != nil {
			return nil, p.errorf(p.peek().line, "unexpected %s, want ]", p.peek())
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		parts[n] = x
	}
	if n == 0 {
		if parts[0] == nil {
			return nil, p.errorf(line, "an index is missing")
		}
		return binary(line, "index", e, parts[0]), nil
	}
	return &expr{line: line, op: "slice", args: append([]*expr{e}, parts...)}, nil
}

// arguments reads the arguments of a call.
func (p *parser) arguments(e *expr) (*expr, error) {
	if err := p.expect(op, "("); err != nil {
		return nil, err
	}
	for first := true; !p.accept(op, ")"); first = false {
		if !first {
			if err := p.expect(op, ","); err != nil {
				return nil, err
			}
			if p.accept(op, ")") {
				break
			}
		}
		key := ""
		if t := p.peek(); t.kind == name && p.tokens[p.pos+1].text == "=" &&
			p.tokens[p.pos+1].kind == op {
			key = t.text
			p.pos += 2
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		if key != "" {
			e.kw = append(e.kw, keyword{key, x})
		} else if len(e.kw) > 0 {
			return nil, p.errorf(x.line, "an argument without a name is behind one with a name")
		} else {
			e.args = append(e.args, x)
		}
	}
	return e, nil
}

// filters reads filters and tests behind an expression. If bare, the first has no bar.
func (p *parser) filters(e *expr, bare bool) (*expr, error) {
	for {
		t := p.peek()
		var err error
		switch {
		case bare || p.accept(op, "|"):
			bare = false
			f := &expr{line: t.line, op: "filter", args: []*expr{e}}
			if f.name, err = p.ident(); err != nil {
				return nil, err
			}
			if p.is(op, "(") {
				f, err = p.arguments(f)
			}
			e = f
		case p.accept(name, "is"):
			e, err = p.test(e, t.line)
		case p.is(op, "("):
			e, err = p.arguments(&expr{line: t.line, op: "call", args: []*expr{e}})
		default:
			return e, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) test(e *expr, line int) (*expr, error) {
	negate := p.accept(name, "not")
	t := &expr{line: line, op: "test", args: []*expr{e}}
	var err error
	if t.name, err = p.ident(); err != nil {
		return nil, err
	}
	next := p.peek()
	switch {
	case p.is(op, "("):
		if t, err = p.arguments(t); err != nil {
			return nil, err
		}
	case next.kind == str, next.kind == integer, next.kind == float,
		next.kind == op && (next.text == "[" || next.text == "{"),
		next.kind == name && !slices.Contains([]string{"else", "or", "and", "is", "in", "not", "if"},
			next.text):
		x, err := p.postfixed()
		if err != nil {
			return nil, err
		}
		t.args = append(t.args, x)
	}
	if negate {
		return &expr{line: line, op: "not", args: []*expr{t}}, nil
	}
	return t, nil
}

// constants that have names.
var constants = map[string]Value{"true": true, "True": true, "false": false, "False": false,
	"none": nil, "None": nil}

func (p *parser) primary() (*expr, error) {
	t := p.next()
	e := &expr{line: t.line, op: "const"}
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			e.value = v
			return e, nil
		}
		e.op, e.name = "name", t.text
		return e, nil
	case str:
		s := t.text
		for p.peek().kind == str {
			s += p.next().text
		}
		e.value = s
		return e, nil
	case integer:
		i, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, p.errorf(t.line, "the number %s is too large", t.text)
		}
		e.value = i
		return e, nil
	case float:
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.errorf(t.line, "%v", err)
		}
		e.value = f
		return e, nil
	case op:
		switch t.text {
		case "(":
			return p.parenthesised(t)
		case "[":
			return p.listOf(e)
		case "{":
			return p.dictOf(e)
		}
	}
	return nil, p.errorf(t.line, "unexpected %s, want an expression", t)
}

func (p *parser) parenthesised(t token) (*expr, error) {
	if p.accept(op, ")") {
		return &expr{line: t.line, op: "tuple"}, nil
	}
	e, err := p.tuple()
	if err == nil {
		err = p.expect(op, ")")
	}
	return e, err
}

func (p *parser) listOf(e *expr) (*expr, error) {
	e.op = "list"
	for !p.accept(op, "]") {
		if len(e.args) > 0 {
			if err := p.expect(op, ","); err != nil {
				return nil, err
			}
			if p.accept(op, "]") {
				break
			}
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, x)
	}
	return e, nil
}

func (p *parser) dictOf(e *expr) (*expr, error) {
	e.op = "dict"
	for !p.accept(op, "}") {
		if len(e.args) > 0 {
			if err := p.expect(op, ","); err != nil {
				return nil, err
			}
			if p.accept(op, "}") {
				break
			}
		}
		k, err := p.expression()
		if err == nil {
			err = p.expect(op, ":")
		}
		if err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.args = append(e.args, k, v)
	}
	return e, nil
}
