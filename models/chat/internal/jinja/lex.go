package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a token is.
type kind uint8

const (
	end   kind = iota // of the template
	data              // text between tags
	open              // {{ or {%
	close             // }} or %}
	name
	str
	integer
	float
	op
)

// token is a part of a template.
type token struct {
	kind kind
	text string
	line int
}

// String is the token as an error shows it.
func (t token) String() string {
	if t.kind == end {
		return "the end of the template"
	}
	return fmt.Sprintf("%.40q", t.text)
}

// lexer makes tokens, with the whitespace rules trim_blocks and lstrip_blocks.
type lexer struct {
	src  string
	pos  int
	line int
	out  []token
}

// lex returns the tokens of a template.
func lex(src string) ([]token, error) {
	src = strings.ReplaceAll(strings.ReplaceAll(src, "\r\n", "\n"), "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(src, "\n"), line: 1}
	for l.pos < len(l.src) {
		if err := l.step(); err != nil {
			return nil, err
		}
	}
	return append(l.out, token{kind: end, line: l.line}), nil
}

func (l *lexer) errorf(line int, format string, args ...any) error {
	return &Error{line, fmt.Sprintf(format, args...)}
}

func (l *lexer) add(k kind, text string) { l.out = append(l.out, token{k, text, l.line}) }

// advance goes n bytes on.
func (l *lexer) advance(n int) string {
	s := l.src[l.pos : l.pos+n]
	l.line += strings.Count(s, "\n")
	l.pos += n
	return s
}

// nextTag returns where the next {{, {% or {# is.
func (l *lexer) nextTag() int {
	for i := l.pos; ; i++ {
		k := strings.IndexByte(l.src[i:], '{')
		if k < 0 || i+k+1 >= len(l.src) {
			return len(l.src)
		}
		i += k
		if c := l.src[i+1]; c == '{' || c == '%' || c == '#' {
			return i
		}
	}
}

// step reads text and the tag behind it.
func (l *lexer) step() error {
	at := l.nextTag()
	text := l.src[l.pos:at]
	if at == len(l.src) {
		l.text(text, len(text))
		return nil
	}
	n := len(text)
	sign := byte(0)
	if at+2 < len(l.src) {
		sign = l.src[at+2]
	}
	switch {
	case sign == '-':
		text = strings.TrimRightFunc(text, unicode.IsSpace)
	case sign != '+' && l.src[at+1] != '{':
		text = l.lstrip(text)
	}
	l.text(text, n)
	return l.tag(sign == '-' || sign == '+')
}

// lstrip takes the blanks off the end of text if they begin a line.
func (l *lexer) lstrip(text string) string {
	cut := strings.TrimRight(text, " \t\v\f")
	start := l.pos == 0 || l.src[l.pos-1] == '\n'
	if strings.HasSuffix(cut, "\n") || cut == "" && start {
		return cut
	}
	return text
}

// text adds text, and goes n bytes on.
func (l *lexer) text(text string, n int) {
	if text != "" {
		l.add(data, text)
	}
	l.advance(n)
}

// tag reads what is between braces.
func (l *lexer) tag(signed bool) error {
	line, kindOf := l.line, l.src[l.pos+1]
	if kindOf == '#' {
		return l.comment()
	}
	l.advance(2)
	if signed {
		l.advance(1)
	}
	l.add(open, "{"+string(kindOf))
	n := len(l.out)
	closer := "}}"
	if kindOf == '%' {
		closer = "%}"
	}
	depth := 0
	for {
		l.advance(len(l.src[l.pos:]) - len(strings.TrimLeftFunc(l.src[l.pos:], unicode.IsSpace)))
		rest := l.src[l.pos:]
		switch {
		case rest == "":
			return l.errorf(line, "the tag is not closed by %s", closer)
		case depth == 0 && (strings.HasPrefix(rest, closer) || len(rest) > 2 &&
			(rest[0] == '-' || rest[0] == '+') && rest[1:3] == closer):
			l.close(closer)
			if len(l.out) == n+2 && l.out[n].text == "raw" && kindOf == '%' {
				l.out = l.out[:n-1]
				return l.raw(line)
			}
			return nil
		}
		if err := l.token(rest); err != nil {
			return err
		}
		switch t := l.out[len(l.out)-1]; {
		case t.kind != op:
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
		}
		if depth < 0 {
			return l.errorf(l.line, "unexpected %s", l.out[len(l.out)-1])
		}
	}
}

// close reads the end of a tag and the whitespace that goes with it.
func (l *lexer) close(closer string) {
	sign := l.src[l.pos]
	if sign != '-' && sign != '+' {
		sign = 0
	} else {
		l.advance(1)
	}
	l.add(close, closer)
	l.advance(2)
	l.behind(sign, closer == "%}")
}

// behind drops whitespace behind a tag.
func (l *lexer) behind(sign byte, block bool) {
	rest := l.src[l.pos:]
	switch {
	case sign == '-':
		l.advance(len(rest) - len(strings.TrimLeftFunc(rest, unicode.IsSpace)))
	case sign == 0 && block && strings.HasPrefix(rest, "\n"):
		l.advance(1)
	}
}

func (l *lexer) comment() error {
	k := strings.Index(l.src[l.pos+2:], "#}")
	if k < 0 {
		return l.errorf(l.line, "the comment is not closed by #}")
	}
	sign := l.src[l.pos+1+k]
	if k == 0 || sign != '-' && sign != '+' {
		sign = 0
	}
	l.advance(k + 4)
	l.behind(sign, true)
	return nil
}

// raw reads text up to endraw.
func (l *lexer) raw(line int) error {
	for i := l.pos; ; {
		k := strings.Index(l.src[i:], "{%")
		if k < 0 {
			return l.errorf(line, "raw is not closed by endraw")
		}
		i += k
		inner, n, ok := strings.Cut(l.src[i+2:], "%}")
		_ = n
		if !ok {
			return l.errorf(line, "raw is not closed by endraw")
		}
		if strings.TrimSpace(strings.Trim(inner, "-+")) != "endraw" {
			i += 2
			continue
		}
		text := l.src[l.pos:i]
		size := len(text)
		if strings.HasPrefix(inner, "-") {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		} else if !strings.HasPrefix(inner, "+") {
			text = l.lstrip(text)
		}
		l.text(text, size)
		l.advance(len(inner) + 4)
		sign := byte(0)
		if inner != "" && (inner[len(inner)-1] == '-' || inner[len(inner)-1] == '+') {
			sign = inner[len(inner)-1]
		}
		l.behind(sign, true)
		return nil
	}
}

// operators, the longest first.
var operators = []string{"//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<", ">",
	"=", "(", ")", "[", "]", "{", "}", ",", ":", ".", "|", ";"}

// token reads a token of an expression.
func (l *lexer) token(rest string) error {
	c, _ := utf8.DecodeRuneInString(rest)
	switch {
	case c == '"' || c == '\'':
		return l.quoted(rest)
	case c >= '0' && c <= '9':
		return l.number(rest)
	case c == '_' || unicode.IsLetter(c):
		n := strings.IndexFunc(rest, func(r rune) bool {
			return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
		})
		if n < 0 {
			n = len(rest)
		}
		l.add(name, rest[:n])
		l.advance(n)
		return nil
	}
	for _, s := range operators {
		if strings.HasPrefix(rest, s) {
			l.add(op, s)
			l.advance(len(s))
			return nil
		}
	}
	return l.errorf(l.line, "unexpected character %q", c)
}

func (l *lexer) number(rest string) error {
	digits := func(s string) int {
		n := 0
		for n < len(s) && (s[n] >= '0' && s[n] <= '9' || s[n] == '_' && n > 0) {
			n++
		}
		return n
	}
	n, k := digits(rest), integer
	if last := l.out[len(l.out)-1]; last.kind == op && last.text == "." {
		l.add(k, rest[:n]) // an index, as in a.0.1
		l.advance(n)
		return nil
	}
	if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
		n, k = n+1+digits(rest[n+1:]), float
	}
	if n < len(rest) && rest[n]|0x20 == 'e' {
		sign := 1
		if n+1 < len(rest) && (rest[n+1] == '+' || rest[n+1] == '-') {
			sign = 2
		}
		if m := digits(rest[min(n+sign, len(rest)):]); m > 0 {
			n, k = n+sign+m, float
		}
	}
	l.add(k, strings.ReplaceAll(rest[:n], "_", ""))
	l.advance(n)
	return nil
}

// escapes of strings, those of Python.
var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': "\"",
	'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': ""}

func (l *lexer) quoted(rest string) error {
	var b strings.Builder
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; c {
		case rest[0]:
			l.add(str, b.String())
			l.advance(i + 1)
			return nil
		case '\\':
			if i++; i == len(rest) {
				break
			}
			n, err := unescape(&b, rest[i:])
			if err != nil {
				return l.errorf(l.line, "%v", err)
			}
			i += n - 1
		default:
			b.WriteByte(c)
		}
	}
	return l.errorf(l.line, "the string is not closed by %c", rest[0])
}

// unescape writes what an escape stands for, and returns its length.
func unescape(b *strings.Builder, s string) (int, error) {
	if e, ok := escapes[s[0]]; ok {
		b.WriteString(e)
		return 1, nil
	}
	size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s[0]]
	if size > 0 {
		var r rune
		if len(s) < 1+size {
			return 0, fmt.Errorf("the escape \\%s is too short", s)
		}
		if _, err := fmt.Sscanf(s[1:1+size], "%x", &r); err != nil || r > unicode.MaxRune {
			return 0, fmt.Errorf("the escape \\%s is not hexadecimal", s[:1+size])
		}
		b.WriteRune(r)
		return 1 + size, nil
	}
	if s[0] >= '0' && s[0] <= '7' {
		n, r := 0, rune(0)
		for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
			r = r*8 + rune(s[n]-'0')
			n++
		}
		b.WriteRune(r)
		return n, nil
	}
	b.WriteByte('\\')
	b.WriteByte(s[0])
	return 1, nil
}
