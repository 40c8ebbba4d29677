package grammar

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// GBNF returns a grammar that is written as llama.cpp has it: rules such as
//
//	root  ::= "{" ws pair ("," ws pair)* "}"
//	pair  ::= [a-z]+ ":" [0-9]{1,3}   # characters, repetitions
//	ws    ::= " "?
//
// Texts follow the rule root. A rule goes on up to the next name with ::= behind it.
func GBNF(text string) (*Grammar, error) {
	if len(text) > maxText {
		return nil, bad("a text of %d bytes", len(text))
	}
	if !utf8.ValidString(text) {
		return nil, bad("it is no UTF-8")
	}
	p := &gbnf{text: text, rules: map[string]expr{}}
	for p.space(); p.at < len(p.text); p.space() {
		if err := p.rule(); err != nil {
			return nil, err
		}
	}
	if _, ok := p.rules["root"]; !ok {
		return nil, bad("there is no rule root")
	}
	order := []string{"root"}
	for _, name := range p.order {
		if name != "root" {
			order = append(order, name)
		}
	}
	return compile(p.rules, order)
}

// gbnf is a parser.
type gbnf struct {
	text  string
	at    int
	depth int
	rules map[string]expr
	order []string
}

// fail is an error at the place where the parser is.
func (p *gbnf) fail(format string, args ...any) error {
	line := 1 + strings.Count(p.text[:min(p.at, len(p.text))], "\n")
	return bad("line %d: "+format, append([]any{line}, args...)...)
}

// space skips blanks, ends of lines and comments.
func (p *gbnf) space() {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			p.at++
		case c == '#':
			if n := strings.IndexByte(p.text[p.at:], '\n'); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.text)
			}
		default:
			return
		}
	}
}

// take skips a text if it is next.
func (p *gbnf) take(s string) bool {
	if strings.HasPrefix(p.text[p.at:], s) {
		p.at += len(s)
		return true
	}
	return false
}

// name is the name that is next, or "".
func (p *gbnf) name() string {
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
			break
		}
		p.at++
	}
	return p.text[from:p.at]
}

func (p *gbnf) rule() error {
	name := p.name()
	if name == "" {
		return p.fail("want the name of a rule, not %q", p.rest())
	}
	if p.space(); !p.take("::=") {
		return p.fail("want ::= behind %s", name)
	}
	if _, ok := p.rules[name]; ok {
		return p.fail("there are two rules %s", name)
	}
	e, err := p.alternatives()
	if err != nil {
		return err
	}
	p.rules[name], p.order = e, append(p.order, name)
	return nil
}

// rest is a little of what is next, for messages.
func (p *gbnf) rest() string {
	r := []rune(p.text[p.at:])
	return string(r[:min(len(r), 10)])
}

func (p *gbnf) alternatives() (expr, error) {
	if p.depth++; p.depth > maxDepth/4 {
		return nil, p.fail("more than %d parentheses in each other", maxDepth/4)
	}
	defer func() { p.depth-- }()
	var list alt
	for {
		e, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if list = append(list, e); !p.take("|") {
			return list, nil
		}
	}
}

func (p *gbnf) sequence() (expr, error) {
	list := seq{}
	for {
		p.space()
		e, err := p.item()
		if err != nil || e == nil {
			return list, err
		}
		if e, err = p.repeated(e); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
}

// item is a literal, characters, parentheses or a name; nil at the end of a sequence.
func (p *gbnf) item() (expr, error) {
	switch {
	case p.at == len(p.text), strings.IndexByte("|)", p.text[p.at]) >= 0:
		return nil, nil
	case p.take(`"`):
		return p.literal()
	case p.take("["):
		return p.class()
	case p.take("("):
		e, err := p.alternatives()
		if err == nil && !p.take(")") {
			err = p.fail("want ) before %q", p.rest())
		}
		return e, err
	case p.take("."):
		return anyRune, nil
	}
	from := p.at
	name := p.name()
	if name == "" {
		return nil, p.fail("%q has no meaning here", p.rest())
	}
	behind := p.at
	if p.space(); strings.HasPrefix(p.text[p.at:], "::=") {
		p.at = from
		return nil, nil
	}
	p.at = behind
	return ref(name), nil
}

// repeated reads *, +, ? and {n,m} behind an item.
func (p *gbnf) repeated(e expr) (expr, error) {
	for {
		switch {
		case p.take("*"):
			e = many(e)
		case p.take("+"):
			e = repeat{e, 1, -1}
		case p.take("?"):
			e = optional(e)
		case p.take("{"):
			body, _, ok := strings.Cut(p.text[p.at:], "}")
			if !ok {
				return nil, p.fail("want } behind {")
			}
			low, high, several := strings.Cut(body, ",")
			r := repeat{of: e, max: -1}
			var err error
			if r.min, err = count(low); err == nil && !several {
				r.max = r.min
			} else if high = strings.TrimSpace(high); err == nil && high != "" {
				r.max, err = count(high)
			}
			if err != nil || r.max >= 0 && r.max < r.min {
				return nil, p.fail("{%s}: want numbers such as {2}, {2,} or {2,5}", body)
			}
			p.at += len(body) + 1
			e = r
		default:
			return e, nil
		}
	}
}

func count(s string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 16)
	return int(n), err
}

func (p *gbnf) literal() (expr, error) {
	var b strings.Builder
	for !p.take(`"`) {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		b.WriteRune(r)
	}
	return literal(b.String()), nil
}

func (p *gbnf) class() (expr, error) {
	not := p.take("^")
	var c class
	for !p.take("]") {
		lo, err := p.char()
		if err != nil {
			return nil, err
		}
		hi := lo
		if p.at+1 < len(p.text) && p.text[p.at] == '-' && p.text[p.at+1] != ']' {
			p.at++
			if hi, err = p.char(); err != nil {
				return nil, err
			}
		}
		if hi < lo {
			return nil, p.fail("[%c-%c] is the wrong way round", lo, hi)
		}
		c = append(c, span{lo, hi})
	}
	c = c.sorted()
	if not {
		c = c.inverted()
	}
	return c, nil
}

// char is a character of a literal or class, which may be escaped.
func (p *gbnf) char() (rune, error) {
	if p.at == len(p.text) || p.text[p.at] == '\n' {
		return 0, p.fail("the line ends in a literal or in characters")
	}
	r, n := utf8.DecodeRuneInString(p.text[p.at:])
	p.at += n
	if r != '\\' {
		return r, nil
	}
	if p.at == len(p.text) {
		return 0, p.fail(`\ at the end`)
	}
	c := p.text[p.at]
	p.at++
	switch c {
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case '\\', '"', '[', ']', '-', '^':
		return rune(c), nil
	}
	digits, ok := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !ok || p.at+digits > len(p.text) {
		return 0, p.fail(`\%c has no meaning`, c)
	}
	x, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(x)) {
		return 0, p.fail(`\%c%s is no character`, c, p.text[p.at:p.at+digits])
	}
	p.at += digits
	return rune(x), nil
}
