package pattern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what Compile accepts; published patterns are far below.
const (
	maxPattern = 16 << 10 // bytes
	maxNodes   = 20_000   // after repetitions are written out
	maxDepth   = 200      // groups in groups
	maxRepeat  = 1000     // n of {n}
)

// parser turns a pattern into nodes from its end to its start: what follows a
// part is known when the part is built.
type parser struct {
	src   string
	pos   int
	fold  bool
	rust  bool
	multi bool // . matches newlines
	depth int
}

// expr is a part of a pattern before it has a continuation.
type expr interface{}

type (
	exprSet    struct{ set ranges }
	exprSeq    struct{ parts []expr }
	exprAlt    struct{ parts []expr }
	exprRepeat struct {
		of         expr
		min, max   int // max < 0: without end
		lazy, hold bool
	}
	exprLook struct {
		of          expr
		behind, not bool
	}
	exprAtomic struct{ of expr }
	exprEdge   struct{ kind edge }
)

func (p *parser) fail(format string, args ...any) error {
	return fmt.Errorf("pattern %q, at byte %d: %s", p.src, p.pos, fmt.Sprintf(format, args...))
}

func (p *parser) more() bool { return p.pos < len(p.src) }

func (p *parser) peek() byte {
	if !p.more() {
		return 0
	}
	return p.src[p.pos]
}

func (p *parser) take(s string) bool {
	if !strings.HasPrefix(p.src[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *parser) rune() rune {
	r, n := utf8.DecodeRuneInString(p.src[p.pos:])
	p.pos += n
	return r
}

// alternatives parses up to a closing parenthesis or the end.
func (p *parser) alternatives() (expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("groups are nested more than %d deep", maxDepth)
	}
	defer func(fold, multi bool) { p.depth--; p.fold, p.multi = fold, multi }(p.fold, p.multi)
	var alts []expr
	for {
		e, err := p.sequence()
		if err != nil {
			return nil, err
		}
		alts = append(alts, e)
		if !p.take("|") {
			break
		}
	}
	if len(alts) == 1 {
		return alts[0], nil
	}
	return exprAlt{alts}, nil
}

func (p *parser) sequence() (expr, error) {
	var parts []expr
	for p.more() && p.peek() != '|' && p.peek() != ')' {
		e, err := p.atom()
		if err != nil {
			return nil, err
		}
		if e == nil {
			continue // options such as (?i)
		}
		if e, err = p.repeats(e); err != nil {
			return nil, err
		}
		parts = append(parts, e)
	}
	return exprSeq{parts}, nil
}

// repeats parses quantifiers behind e.
func (p *parser) repeats(e expr) (expr, error) {
	for p.more() {
		lo, hi, ok, err := p.quantifier()
		if err != nil || !ok {
			return e, err
		}
		r := exprRepeat{of: e, min: lo, max: hi}
		interval := p.src[p.pos-1] == '}'
		switch {
		case p.take("?"):
			r.lazy = true
		case (!interval || p.rust) && p.take("+"):
			// Oniguruma reads x{1,3}+ as a repeated group, Rust's packages as possessive.
			r.hold = true
		}
		e = r
	}
	return e, nil
}

func (p *parser) quantifier() (lo, hi int, ok bool, err error) {
	switch p.peek() {
	case '?':
		p.pos++
		return 0, 1, true, nil
	case '*':
		p.pos++
		return 0, -1, true, nil
	case '+':
		p.pos++
		return 1, -1, true, nil
	case '{':
		return p.interval()
	}
	return 0, 0, false, nil
}

// interval parses {n}, {n,} and {n,m}. A brace that starts none is a character.
func (p *parser) interval() (lo, hi int, ok bool, err error) {
	end := strings.IndexByte(p.src[p.pos:], '}')
	if end < 0 {
		return 0, 0, false, nil
	}
	low, high, comma := strings.Cut(p.src[p.pos+1:p.pos+end], ",")
	lo, errLow := strconv.Atoi(low)
	if comma && low == "" {
		lo, errLow = 0, nil
	}
	hi, errHigh := strconv.Atoi(high)
	if !comma {
		hi, errHigh = lo, nil
	} else if high == "" {
		hi, errHigh = -1, nil
	}
	if errLow != nil || errHigh != nil {
		return 0, 0, false, nil
	}
	if lo < 0 || lo > maxRepeat || hi > maxRepeat || hi >= 0 && hi < lo {
		return 0, 0, false, p.fail("repetition {%d,%d} is out of range", lo, hi)
	}
	p.pos += end + 1
	return lo, hi, true, nil
}

func (p *parser) atom() (expr, error) {
	switch c := p.peek(); c {
	case '(':
		return p.group()
	case '[':
		set, err := p.bracket()
		return exprSet{set}, err
	case '.':
		p.pos++
		if p.multi {
			return exprSet{ranges{0, unicode.MaxRune}}, nil
		}
		return exprSet{ranges{'\n', '\n'}.not()}, nil
	case '^':
		p.pos++
		return exprEdge{lineStart}, nil
	case '$':
		p.pos++
		return exprEdge{p.dollar()}, nil
	case '\\':
		return p.escape()
	case '*', '+', '?':
		return nil, p.fail("%q has nothing to repeat", c)
	}
	return p.literal(p.rune()), nil
}

// dollar is the end of a line, in Rust's packages that of the text.
func (p *parser) dollar() edge {
	if p.rust {
		return textEnd
	}
	return lineEnd
}

func (p *parser) literal(r rune) expr {
	set := ranges{r, r}
	if p.fold {
		set = set.fold()
	}
	return exprSet{set}
}

// group parses what starts with a parenthesis.
func (p *parser) group() (expr, error) {
	p.pos++ // (
	switch {
	case !p.take("?"):
		return p.closed(func(e expr) expr { return e })
	case p.take(":"):
		return p.closed(func(e expr) expr { return e })
	case p.take(">"):
		return p.closed(func(e expr) expr { return exprAtomic{e} })
	case p.take("="):
		return p.closed(func(e expr) expr { return exprLook{of: e} })
	case p.take("!"):
		return p.closed(func(e expr) expr { return exprLook{of: e, not: true} })
	case p.take("<="):
		return p.behind(false)
	case p.take("<!"):
		return p.behind(true)
	case p.take("<"), p.take("P<"):
		end := strings.IndexByte(p.src[p.pos:], '>')
		if end < 0 {
			return nil, p.fail("the name of a group does not end")
		}
		p.pos += end + 1
		return p.closed(func(e expr) expr { return e })
	}
	return p.options()
}

func (p *parser) closed(wrap func(expr) expr) (expr, error) {
	e, err := p.alternatives()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.fail("a parenthesis is not closed")
	}
	return wrap(e), nil
}

// behind parses a look at the character before.
func (p *parser) behind(not bool) (expr, error) {
	e, err := p.closed(func(e expr) expr { return e })
	if err != nil {
		return nil, err
	}
	set, ok := single(e)
	if !ok {
		return nil, p.fail("lookbehind at more than one character is not supported")
	}
	return exprLook{of: exprSet{set}, behind: true, not: not}, nil
}

// single returns the characters of an expression that matches one.
func single(e expr) (ranges, bool) {
	switch e := e.(type) {
	case exprSet:
		return e.set, true
	case exprSeq:
		if len(e.parts) == 1 {
			return single(e.parts[0])
		}
	case exprAlt:
		var all ranges
		for _, x := range e.parts {
			set, ok := single(x)
			if !ok {
				return nil, false
			}
			all = append(all, set...)
		}
		return all.tidy(), true
	}
	return nil, false
}

// options parses (?i) and (?i:…), of i, m, s, x only the first three.
func (p *parser) options() (expr, error) {
	fold, multi, on := p.fold, p.multi, true
	for p.more() {
		switch c := p.peek(); c {
		case '-':
			on = false
		case 'i':
			fold = on
		case 'm', 's':
			if (c == 's') == p.rust {
				multi = on // Oniguruma's m is the s of others
			}
		case 'u':
		case ':':
			p.pos++
			return p.with(fold, multi)
		case ')':
			p.pos++
			p.fold, p.multi = fold, multi
			return nil, nil
		default:
			return nil, p.fail("group (?%c is not supported", c)
		}
		p.pos++
	}
	return nil, p.fail("a parenthesis is not closed")
}

func (p *parser) with(fold, multi bool) (expr, error) {
	oldFold, oldMulti := p.fold, p.multi
	p.fold, p.multi = fold, multi
	defer func() { p.fold, p.multi = oldFold, oldMulti }()
	return p.closed(func(e expr) expr { return e })
}

// escape parses what a backslash starts outside of brackets.
func (p *parser) escape() (expr, error) {
	if p.pos+1 < len(p.src) {
		kinds := map[byte]edge{'A': textStart, 'z': textEnd, 'Z': lastLineEnd,
			'b': wordEdge, 'B': noWordEdge}
		if kind, ok := kinds[p.src[p.pos+1]]; ok {
			p.pos += 2
			return exprEdge{kind}, nil
		}
	}
	set, err := p.escapedSet()
	if p.fold && err == nil {
		set = set.fold()
	}
	return exprSet{set}, err
}

// escapedSet parses an escape that stands for characters.
func (p *parser) escapedSet() (ranges, error) {
	p.pos++ // backslash
	if !p.more() {
		return nil, p.fail("the pattern ends with a backslash")
	}
	at := p.pos
	c := p.rune()
	controls := map[rune]rune{'n': '\n', 't': '\t', 'r': '\r', 'f': '\f', 'v': '\v', 'a': 7, 'e': 27}
	if r, ok := controls[c]; ok {
		return ranges{r, r}, nil
	}
	switch c {
	case 's':
		return space, nil
	case 'S':
		return space.not(), nil
	case 'd':
		return digit, nil
	case 'D':
		return digit.not(), nil
	case 'w':
		return p.word(), nil
	case 'W':
		return p.word().not(), nil
	case 'h':
		return ranges{'0', '9', 'A', 'F', 'a', 'f'}, nil
	case 'p', 'P':
		return p.property(c == 'P')
	case 'x', 'u', 'U':
		return p.code(c)
	}
	if c < utf8.RuneSelf && (c == '_' || c >= '0' && c <= '9' || unicode.IsLetter(c)) {
		p.pos = at
		return nil, p.fail(`escape \%c is not supported`, c)
	}
	return ranges{c, c}, nil
}

func (p *parser) word() ranges {
	if p.rust {
		return wordRust
	}
	return word
}

// code parses the digits of \xHH, \x{H…}, \uHHHH and \UHHHHHHHH.
func (p *parser) code(kind rune) (ranges, error) {
	digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[kind]
	text := p.src[p.pos:]
	if end := strings.IndexByte(text, '}'); strings.HasPrefix(text, "{") && end > 0 {
		text, digits = text[1:end], end+1
	} else if len(text) >= digits {
		text = text[:digits]
	}
	v, err := strconv.ParseUint(text, 16, 32)
	if err != nil || v > unicode.MaxRune {
		return nil, p.fail(`\%c is not followed by a code point`, kind)
	}
	p.pos += digits
	return ranges{rune(v), rune(v)}, nil
}

// property parses the name behind \p.
func (p *parser) property(not bool) (ranges, error) {
	var name string
	if p.take("{") {
		end := strings.IndexByte(p.src[p.pos:], '}')
		if end < 0 {
			return nil, p.fail("the name of a property does not end")
		}
		name = p.src[p.pos : p.pos+end]
		p.pos += end + 1
	} else {
		name = string(p.rune())
	}
	if strings.HasPrefix(name, "^") {
		name, not = name[1:], !not
	}
	set, ok := properties(name)
	if !ok {
		return nil, p.fail("property %q is not known", name)
	}
	if not {
		return set.not(), nil
	}
	return set, nil
}

// properties finds a category, a script or a property by its name in any case
// and with or without underscores.
func properties(name string) (ranges, bool) {
	_, value, ok := strings.Cut(name, "=")
	if ok {
		name = value
	}
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", " ", "", "-", "").Replace(s))
	}
	want := plain(name)
	switch want {
	case "any":
		return ranges{0, unicode.MaxRune}, true
	case "alphabetic", "alpha":
		return append(categories("L", "Nl"), of(unicode.Other_Alphabetic)...).tidy(), true
	case "alnum":
		return append(categories("L", "Nl", "Nd"), of(unicode.Other_Alphabetic)...).tidy(), true
	case "space":
		return space, true
	case "digit":
		return digit, true
	case "unassigned":
		return categories("Cn"), true
	}
	for key := range unicode.Categories {
		if plain(key) == want {
			return categories(key), true
		}
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Scripts, unicode.Properties} {
		for key, t := range tables {
			if plain(key) == want {
				return append(of(t), later[key]...).tidy(), true
			}
		}
	}
	if short, ok := unicode.CategoryAliases[longName(name)]; ok {
		return categories(short), true
	}
	return nil, false
}

// longName returns the name of a category as Unicode writes it: Decimal_Number.
func longName(s string) string {
	words := strings.FieldsFunc(s, func(r rune) bool { return r == '_' || r == ' ' || r == '-' })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + strings.ToLower(w[1:])
	}
	return strings.Join(words, "_")
}

// bracket parses [a-z\p{L}[:alpha:]&&…].
func (p *parser) bracket() (ranges, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.fail("brackets are nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	p.pos++ // [
	not := p.take("^")
	var set ranges
	var meet []ranges
	for first := true; ; first = false {
		if !p.more() {
			return nil, p.fail("a bracket is not closed")
		}
		if p.peek() == ']' && !first {
			p.pos++
			break
		}
		if p.take("&&") {
			meet, set = append(meet, set.tidy()), nil
			continue
		}
		more, err := p.member()
		if err != nil {
			return nil, err
		}
		set = append(set, more...)
	}
	set = set.tidy()
	for _, m := range meet {
		set = set.and(m)
	}
	if p.fold {
		set = set.fold()
	}
	if not {
		set = set.not()
	}
	return set, nil
}

// member parses one character, range, escape or set in brackets.
func (p *parser) member() (ranges, error) {
	if p.take("[:") {
		return p.posix()
	}
	if p.peek() == '[' {
		return p.bracket()
	}
	low, err := p.endpoint()
	if err != nil || len(low) != 2 || low[0] != low[1] {
		return slices.Clone(low), err
	}
	if p.peek() != '-' || p.pos+1 >= len(p.src) || p.src[p.pos+1] == ']' {
		return low, nil
	}
	at := p.pos
	p.pos++
	high, err := p.endpoint()
	if err != nil {
		return nil, err
	}
	if len(high) != 2 || high[0] != high[1] || high[0] < low[0] {
		p.pos = at
		return nil, p.fail("a range in brackets does not end with a later character")
	}
	return ranges{low[0], high[0]}, nil
}

func (p *parser) endpoint() (ranges, error) {
	if !p.more() {
		return nil, p.fail("a bracket is not closed")
	}
	if p.peek() == '\\' {
		if strings.HasPrefix(p.src[p.pos:], `\b`) {
			p.pos += 2
			return ranges{8, 8}, nil
		}
		if !p.rust && len(p.src) > p.pos+1 && p.src[p.pos+1]|0x20 == 'w' {
			not := p.src[p.pos+1] == 'W'
			p.pos += 2
			if not {
				return wordBase.not(), nil
			}
			return wordBase, nil
		}
		return p.escapedSet()
	}
	r := p.rune()
	return ranges{r, r}, nil
}

func (p *parser) posix() (ranges, error) {
	end := strings.Index(p.src[p.pos:], ":]")
	if end < 0 {
		return nil, p.fail("[: is not closed")
	}
	name := p.src[p.pos : p.pos+end]
	not := strings.HasPrefix(name, "^")
	name = strings.TrimPrefix(name, "^")
	sets := map[string]ranges{
		"upper": of(unicode.Upper), "lower": of(unicode.Lower), "punct": of(unicode.P, unicode.S),
		"xdigit": {'0', '9', 'A', 'F', 'a', 'f'}, "word": wordBase, "ascii": {0, 127},
		"cntrl": of(unicode.Cc), "blank": of(unicode.Zs, &unicode.RangeTable{
			R16: []unicode.Range16{{Lo: '\t', Hi: '\t', Stride: 1}}}),
	}
	set, ok := sets[name]
	if !ok {
		set, ok = properties(name)
	}
	if !ok {
		return nil, p.fail("class [:%s:] is not known", name)
	}
	p.pos += end + 2
	if not {
		return set.not(), nil
	}
	return set, nil
}
