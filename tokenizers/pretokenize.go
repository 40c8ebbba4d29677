package tokenizers

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// preTokenizer splits the pieces of a text further.
type preTokenizer interface {
	split(t *text, s *state) error
}

func readPreTokenizer(r raw) (preTokenizer, error) {
	kind, err := kindOf(r)
	if err != nil {
		return nil, err
	}
	p, err := preTokenizerOf(kind, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return p, nil
}

// Patterns of pre-tokenizers that have no pattern of their own in a file.
var (
	patternWords = mustCompile(`\w+|[^\w\s]+`)
	patternSpace = mustCompile(`\s`)
	patternPunct = mustCompile(punctuation())
	patternDigit = mustCompile(`[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]`)
	patternGPT2  = mustCompile(
		`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`)
)

func mustCompile(s string) *pattern.Pattern {
	p, err := pattern.CompileRust(s)
	if err != nil {
		panic(err) // a mistake in this file
	}
	return p
}

func preTokenizerOf(kind string, r raw) (preTokenizer, error) {
	switch kind {
	case "ByteLevel":
		return decode(r, &byteLevel{Prefix: true, Regex: true})
	case "Whitespace":
		return &splitter{pattern: patternWords, behaviour: removed, invert: true}, nil
	case "WhitespaceSplit":
		return &splitter{pattern: patternSpace, behaviour: removed}, nil
	case "BertPreTokenizer":
		return preTokenizers{
			&splitter{pattern: patternSpace, behaviour: removed},
			&splitter{pattern: patternPunct, behaviour: isolated},
		}, nil
	case "Metaspace":
		return readMetaspace(r)
	case "UnicodeScripts":
		return scripts{}, nil
	case "FixedLength":
		return readFixedLength(r)
	case "Sequence":
		parts, err := sequence(r, "pretokenizers", readPreTokenizer)
		return preTokenizers(parts), err
	}
	return splitterOf(kind, r)
}

// splitterOf reads the pre-tokenizers that split at a pattern.
func splitterOf(kind string, r raw) (preTokenizer, error) {
	c, err := decode(r, struct {
		Pattern    patternConfig
		Behavior   string
		Invert     bool
		Individual bool `json:"individual_digits"`
		Delimiter  string
	}{Behavior: "Isolated"})
	if err != nil {
		return nil, err
	}
	s := &splitter{invert: c.Invert}
	if s.behaviour, err = behaviourOf(c.Behavior); err != nil {
		return nil, err
	}
	switch kind {
	case "Punctuation":
		s.pattern = patternPunct
	case "Digits":
		s.pattern = patternDigit
		if !c.Individual {
			s.behaviour = contiguous
		}
	case "CharDelimiterSplit":
		if _, err := one("delimiter", c.Delimiter); err != nil {
			return nil, err
		}
		s.behaviour = removed
		s.pattern, err = patternConfig{String: &c.Delimiter}.compile()
	case "Split":
		s.pattern, err = c.Pattern.compile()
	default:
		return nil, fmt.Errorf("pre-tokenizer %w", ErrUnsupported)
	}
	return s, err
}

type preTokenizers []preTokenizer

func (p preTokenizers) split(t *text, s *state) error {
	for _, x := range p {
		if err := x.split(t, s); err != nil {
			return err
		}
	}
	return nil
}

// behaviour is what becomes of the parts that a pattern matches.
type behaviour uint8

const (
	removed behaviour = iota
	isolated
	mergedWithPrevious
	mergedWithNext
	contiguous
)

func behaviourOf(name string) (behaviour, error) {
	for i, s := range []string{
		"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"} {
		if s == name {
			return behaviour(i), nil
		}
	}
	return 0, fmt.Errorf("behavior %q %w", name, ErrUnsupported)
}

// splitter splits pieces at the matches of a pattern.
type splitter struct {
	pattern   *pattern.Pattern
	behaviour behaviour
	invert    bool // what the pattern does not match counts as matched
}

func (p *splitter) split(t *text, s *state) error {
	s.pieces = s.pieces[:0]
	for _, piece := range t.pieces {
		var err error
		s.found, err = p.pattern.Find(s.found[:0], t.b[piece.lo:piece.hi])
		if err != nil {
			return err
		}
		s.parts = s.parts[:0]
		end := piece.lo
		for i := 0; i < len(s.found); i += 2 {
			lo, hi := piece.lo+s.found[i], piece.lo+s.found[i+1]
			if lo > end {
				s.parts = append(s.parts, part{span{end, lo}, p.invert})
			}
			s.parts = append(s.parts, part{span{lo, hi}, !p.invert}) // also if it is empty
			end = hi
		}
		if piece.hi > end {
			s.parts = append(s.parts, part{span{end, piece.hi}, p.invert})
		}
		n := len(s.pieces)
		s.pieces = p.behaviour.apply(s.pieces, s.parts)
		kept := slices.DeleteFunc(s.pieces[n:], func(p span) bool { return p.lo == p.hi })
		s.pieces = s.pieces[:n+len(kept)]
	}
	t.pieces, s.pieces = s.pieces, t.pieces
	return nil
}

// part is a range of a text that a pattern matched, or did not.
type part struct {
	span
	match bool
}

// apply appends the pieces that parts make.
func (b behaviour) apply(dst []span, parts []part) []span {
	for i, p := range parts {
		join := false
		switch b {
		case removed:
			if p.match {
				continue
			}
		case mergedWithPrevious:
			join = p.match && i > 0 && !parts[i-1].match
		case mergedWithNext:
			join = i > 0 && !p.match && parts[i-1].match
		case contiguous:
			join = i > 0 && p.match == parts[i-1].match
		}
		if join {
			dst[len(dst)-1].hi = p.hi
		} else {
			dst = append(dst, p.span)
		}
	}
	return dst
}

// byteLevel splits as GPT-2 does and puts characters of the byte-level
// alphabet for bytes.
type byteLevel struct {
	Prefix bool `json:"add_prefix_space"`
	Regex  bool `json:"use_regex"`
	lazy   bool // nothing but a byte-pair model comes next, which can do with bytes
}

var gpt2Splitter = &splitter{pattern: patternGPT2, behaviour: isolated}

func (p *byteLevel) split(t *text, s *state) error {
	if p.Prefix {
		s.prefixed(t, " ")
	}
	if p.Regex {
		if err := gpt2Splitter.split(t, s); err != nil {
			return err
		}
	}
	if p.lazy {
		t.mapped = true
		return nil
	}
	s.rewrite(t, func(w *writer, lo, hi int) {
		for lo < hi {
			_, n := utf8.DecodeRune(w.t.b[lo:hi])
			for k := range n {
				w.putRune(byteRunes[w.t.b[lo+k]], lo, lo+n)
			}
			lo += n
			w.skip(n)
		}
	})
	return nil
}

// prefixed puts a string in front of each piece that does not start with it.
func (s *state) prefixed(t *text, prefix string) {
	all := true
	for _, p := range t.pieces {
		all = all && (p.lo == p.hi || hasPrefix(t.b[p.lo:p.hi], prefix))
	}
	if all {
		return
	}
	s.rewrite(t, func(w *writer, lo, hi int) {
		if b := w.t.b[lo:hi]; len(b) > 0 && !hasPrefix(b, prefix) {
			_, n := utf8.DecodeRune(b)
			w.put(prefix, lo, lo+n)
		}
		w.copy(hi - lo)
	})
}

func hasPrefix(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

// rewrite makes a new text of the pieces of t. What lies between pieces goes.
func (s *state) rewrite(t *text, write func(w *writer, lo, hi int)) {
	w := &s.pre
	w.begin(t)
	for i, p := range t.pieces {
		w.skip(int(p.lo) - w.pos)
		start := len(w.dst)
		write(w, int(p.lo), int(p.hi))
		t.pieces[i] = span{int32(start), int32(len(w.dst))}
	}
	w.end()
}

// metaspace puts a visible character for spaces and splits in front of it.
type metaspace struct {
	with  string
	when  string // a prefix is added: always, first, never
	parts bool   // whether to split
}

func readMetaspace(r raw) (*metaspace, error) {
	c, err := decode(r, struct {
		Replacement string
		Scheme      string `json:"prepend_scheme"`
		Prefix      *bool  `json:"add_prefix_space"`
		Split       *bool
	}{})
	if err != nil {
		return nil, err
	}
	if _, err := one("replacement", c.Replacement); err != nil {
		return nil, err
	}
	if c.Scheme == "" {
		c.Scheme = "always"
		if c.Prefix != nil && !*c.Prefix {
			c.Scheme = "never"
		}
	}
	if c.Scheme != "always" && c.Scheme != "first" && c.Scheme != "never" {
		return nil, fmt.Errorf("prepend_scheme %q %w", c.Scheme, ErrUnsupported)
	}
	return &metaspace{c.Replacement, c.Scheme, c.Split == nil || *c.Split}, nil
}

func (p *metaspace) split(t *text, s *state) error {
	s.rewrite(t, func(w *writer, lo, hi int) { p.write(w, lo, hi) })
	if !p.parts {
		return nil
	}
	s.pieces = s.pieces[:0]
	for _, piece := range t.pieces {
		start := piece.lo
		for i := piece.lo + 1; i < piece.hi; i++ {
			if hasPrefix(t.b[i:piece.hi], p.with) {
				s.pieces = append(s.pieces, span{start, i})
				start = i
			}
		}
		if start < piece.hi {
			s.pieces = append(s.pieces, span{start, piece.hi})
		}
	}
	t.pieces, s.pieces = s.pieces, t.pieces
	return nil
}

// write writes one piece with its replacements.
func (p *metaspace) write(w *writer, lo, hi int) {
	b := w.t.b[lo:hi]
	if len(b) == 0 {
		return
	}
	if p.when == "always" || p.when == "first" && w.t.origin(lo).lo == 0 {
		if b[0] != ' ' && !hasPrefix(b, p.with) {
			_, n := utf8.DecodeRune(b)
			w.put(p.with, lo, lo+n)
		}
	}
	for i, c := range b {
		if c == ' ' {
			w.copy(lo + i - w.pos)
			w.put(p.with, lo+i, lo+i+1)
			w.skip(1)
		}
	}
	w.copy(hi - w.pos)
}

// fixedLength splits into pieces of so many characters.
type fixedLength struct{ Length int }

func readFixedLength(r raw) (*fixedLength, error) {
	p, err := decode(r, &fixedLength{Length: 5})
	if err == nil && p.Length < 1 {
		err = fmt.Errorf("length is %d, want at least 1", p.Length)
	}
	return p, err
}

func (p *fixedLength) split(t *text, s *state) error {
	s.pieces = s.pieces[:0]
	for _, piece := range t.pieces {
		start, count := piece.lo, 0
		for i := piece.lo; i < piece.hi; count++ {
			if count == p.Length {
				s.pieces = append(s.pieces, span{start, i})
				start, count = i, 0
			}
			_, n := utf8.DecodeRune(t.b[i:piece.hi])
			i += int32(n)
		}
		if start < piece.hi {
			s.pieces = append(s.pieces, span{start, piece.hi})
		}
	}
	t.pieces, s.pieces = s.pieces, t.pieces
	return nil
}
