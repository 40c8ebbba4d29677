package jinja

import (
	"fmt"
	"slices"
)

// maxDepth is how deep expressions, blocks and calls may be within each other.
const maxDepth = 200

// node is a statement or text.
type node struct {
	line   int
	kind   string // text, print, if, for, set, setblock, macro, call, filter, block, break, continue
	text   string
	expr   *expr
	list   []*expr // targets of set and for
	cond   *expr   // of for
	params []param
	body   []*node
	orElse []*node
}

// param is a parameter of a macro.
type param struct {
	name    string
	without *expr // its default, nil if it has none
}

// expr is an expression: an operation and its operands.
type expr struct {
	line  int
	op    string
	name  string
	value Value
	args  []*expr
	kw    []keyword
}

// keyword is an argument with a name.
type keyword struct {
	name string
	expr *expr
}

type parser struct {
	tokens []token
	pos    int
	depth  int
}

// Error says what is wrong in a template, or what failed while it ran, and where.
type Error struct {
	Line int
	Text string
}

// Error returns the text with its line.
func (e *Error) Error() string { return fmt.Sprintf("template line %d: %s", e.Line, e.Text) }

func (p *parser) peek() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if t.kind != end {
		p.pos++
	}
	return t
}

func (p *parser) errorf(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

// is reports whether the next token is an operator or a word.
func (p *parser) is(k kind, text string) bool {
	t := p.peek()
	return t.kind == k && t.text == text
}

// accept takes the next token if it is that.
func (p *parser) accept(k kind, text string) bool {
	if p.is(k, text) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(k kind, text string) error {
	if !p.accept(k, text) {
		return p.errorf(p.peek().line, "unexpected %s, want %q", p.peek(), text)
	}
	return nil
}

func (p *parser) ident() (string, error) {
	t := p.next()
	if t.kind != name {
		return "", p.errorf(t.line, "unexpected %s, want a name", t)
	}
	return t.text, nil
}

// down counts how deep the parser is.
func (p *parser) down() error {
	if p.depth++; p.depth > maxDepth {
		return p.errorf(p.peek().line, "more than %d levels within each other", maxDepth)
	}
	return nil
}

// body reads statements up to one of the words, whose tag is left open behind the word.
func (p *parser) body(until ...string) ([]*node, string, error) {
	if err := p.down(); err != nil {
		return nil, "", err
	}
	defer func() { p.depth-- }()
	list := []*node{}
	for {
		t := p.next()
		switch {
		case t.kind == end && len(until) == 0:
			return list, "", nil
		case t.kind == end:
			return nil, "", p.errorf(t.line, "the template ends where %q is missing",
				until[len(until)-1])
		case t.kind == data:
			list = append(list, &node{line: t.line, kind: "text", text: t.text})
			continue
		case t.text == "{{":
			e, err := p.tuple()
			if err == nil {
				err = p.expect(close, "}}")
			}
			if err != nil {
				return nil, "", err
			}
			list = append(list, &node{line: t.line, kind: "print", expr: e})
			continue
		}
		word, err := p.ident()
		if err != nil {
			return nil, "", err
		}
		if slices.Contains(until, word) {
			return list, word, nil
		}
		n, err := p.statement(word, t.line)
		if err != nil {
			return nil, "", err
		}
		list = append(list, n)
	}
}

// block reads a body up to a word, and the end of its tag.
func (p *parser) block(last string) ([]*node, error) {
	body, _, err := p.body(last)
	if err == nil {
		p.pos += b2i(p.peek().kind == name) // endblock and endmacro may repeat a name
		err = p.expect(close, "%}")
	}
	return body, err
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (p *parser) statement(word string, line int) (*node, error) {
	n := &node{line: line, kind: word}
	switch word {
	case "if":
		return n, p.ifBlock(n)
	case "for":
		return n, p.forBlock(n)
	case "set":
		return n, p.set(n)
	case "macro":
		return n, p.macro(n)
	case "call":
		return n, p.call(n)
	case "filter":
		e, err := p.filters(&expr{line: line, op: "body"}, true)
		if err != nil {
			return nil, err
		}
		n.expr = e
		if err = p.expect(close, "%}"); err == nil {
			n.body, err = p.block("endfilter")
		}
		return n, err
	case "generation":
		n.kind = "block"
		err := p.expect(close, "%}")
		if err == nil {
			n.body, err = p.block("endgeneration")
		}
		return n, err
	case "break", "continue":
		return n, p.expect(close, "%}")
	}
	return nil, p.errorf(line, "the statement %q is not supported", word)
}

func (p *parser) ifBlock(n *node) error {
	var err error
	if n.expr, err = p.tuple(); err != nil {
		return err
	}
	if err = p.expect(close, "%}"); err != nil {
		return err
	}
	var word string
	if n.body, word, err = p.body("elif", "else", "endif"); err != nil {
		return err
	}
	if word == "elif" {
		inner := &node{line: p.peek().line, kind: "if"}
		n.orElse = []*node{inner}
		if err := p.down(); err != nil {
			return err
		}
		defer func() { p.depth-- }()
		return p.ifBlock(inner)
	}
	if err = p.expect(close, "%}"); err == nil && word == "else" {
		n.orElse, err = p.block("endif")
	}
	return err
}

func (p *parser) forBlock(n *node) error {
	var err error
	if n.list, err = p.targets(); err != nil {
		return err
	}
	if err = p.expect(name, "in"); err != nil {
		return err
	}
	if n.expr, err = p.tupleOf(p.or); err != nil {
		return err
	}
	if p.accept(name, "if") {
		if n.cond, err = p.expression(); err != nil {
			return err
		}
	}
	if p.is(name, "recursive") {
		return p.errorf(n.line, "a recursive loop is not supported")
	}
	if err = p.expect(close, "%}"); err != nil {
		return err
	}
	var word string
	if n.body, word, err = p.body("else", "endfor"); err != nil {
		return err
	}
	if err = p.expect(close, "%}"); err == nil && word == "else" {
		n.orElse, err = p.block("endfor")
	}
	return err
}

// targets reads the names that for and set assign to.
func (p *parser) targets() ([]*expr, error) {
	paren := p.accept(op, "(")
	var list []*expr
	for {
		line := p.peek().line
		s, err := p.ident()
		if err != nil {
			return nil, err
		}
		e := &expr{line: line, op: "name", name: s}
		for p.accept(op, ".") {
			if s, err = p.ident(); err != nil {
				return nil, err
			}
			e = &expr{line: line, op: "attr", name: s, args: []*expr{e}}
		}
		list = append(list, e)
		if !p.accept(op, ",") {
			break
		}
	}
	if paren {
		return list, p.expect(op, ")")
	}
	return list, nil
}

func (p *parser) set(n *node) error {
	var err error
	if n.list, err = p.targets(); err != nil {
		return err
	}
	if p.accept(op, "=") {
		if n.expr, err = p.tuple(); err != nil {
			return err
		}
		return p.expect(close, "%}")
	}
	n.kind = "setblock"
	if n.expr, err = p.filters(&expr{line: n.line, op: "body"}, false); err != nil {
		return err
	}
	if err = p.expect(close, "%}"); err == nil {
		n.body, err = p.block("endset")
	}
	return err
}

func (p *parser) macro(n *node) error {
	var err error
	if n.text, err = p.ident(); err != nil {
		return err
	}
	if n.params, err = p.params(); err != nil {
		return err
	}
	if err = p.expect(close, "%}"); err == nil {
		n.body, err = p.block("endmacro")
	}
	return err
}

func (p *parser) params() ([]param, error) {
	if err := p.expect(op, "("); err != nil {
		return nil, err
	}
	var list []param
	for !p.accept(op, ")") {
		if len(list) > 0 {
			if err := p.expect(op, ","); err != nil {
				return nil, err
			}
			if p.accept(op, ")") {
				break
			}
		}
		s, err := p.ident()
		if err != nil {
			return nil, err
		}
		q := param{name: s}
		if p.accept(op, "=") {
			if q.without, err = p.expression(); err != nil {
				return nil, err
			}
		}
		list = append(list, q)
	}
	return list, nil
}

func (p *parser) call(n *node) error {
	var err error
	if p.is(op, "(") {
		if n.params, err = p.params(); err != nil {
			return err
		}
	}
	if n.expr, err = p.expression(); err != nil {
		return err
	}
	if n.expr.op != "call" {
		return p.errorf(n.line, "call wants a call of a macro")
	}
	if err = p.expect(close, "%}"); err == nil {
		n.body, err = p.block("endcall")
	}
	return err
}
