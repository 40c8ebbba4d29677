package tokenizers

import (
	"bytes"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// normalizer changes a text before it is split.
type normalizer interface {
	normalize(t *text, w *writer) error
}

func readNormalizer(r raw) (normalizer, error) {
	kind, err := kindOf(r)
	if err != nil {
		return nil, err
	}
	n, err := normalizerOf(kind, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return n, nil
}

func normalizerOf(kind string, r raw) (normalizer, error) {
	switch kind {
	case "NFC":
		return unicodeForm(norm.NFC), nil
	case "NFD":
		return unicodeForm(norm.NFD), nil
	case "NFKC":
		return unicodeForm(norm.NFKC), nil
	case "NFKD":
		return unicodeForm(norm.NFKD), nil
	case "Lowercase":
		return perRune(lowercase), nil
	case "StripAccents":
		return perRune(noMarks), nil
	case "Nmt":
		return perRune(nmt), nil
	case "ByteLevel":
		return byteLevelText{}, nil
	case "Strip":
		return decode(r, &stripText{Left: true, Right: true})
	case "Prepend":
		return decode(r, &prepend{})
	case "Replace":
		return readReplace(r)
	case "BertNormalizer":
		return readBertNormalizer(r)
	case "Precompiled":
		return readPrecompiled(r)
	case "Sequence":
		parts, err := sequence(r, "normalizers", readNormalizer)
		return normalizers(parts), err
	}
	return nil, fmt.Errorf("normalizer %w", ErrUnsupported)
}

type normalizers []normalizer

func (n normalizers) normalize(t *text, w *writer) error {
	limit := grown(len(t.b))
	for _, x := range n {
		if err := x.normalize(t, w); err != nil {
			return err
		}
		if len(t.b) > limit {
			return fmt.Errorf("normalizers make more than %d bytes of a text: %w", limit, ErrTooLong)
		}
	}
	return nil
}

// grown is how long a chain of steps may make a text of n bytes: each of them could double it. Of
// one character Unicode's forms make 18 at most.
func grown(n int) int { return 64*n + 4096 }

// perRune replaces each character by others; false leaves it as it is.
type perRune func(r rune) (string, bool)

func (f perRune) normalize(t *text, w *writer) error {
	old, started := t.b, false
	for i := 0; i < len(old); {
		r, n := rune(old[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(old[i:])
		}
		if s, ok := f(r); ok {
			if !started {
				w.begin(t)
				started = true
			}
			w.copy(i - w.pos)
			w.put(s, i, i+n)
			w.skip(n)
		}
		i += n
	}
	if started {
		w.copy(len(old) - w.pos)
		w.end()
	}
	return nil
}

var lowerASCII = func() (t [26]string) {
	for i := range t {
		t[i] = string(rune('a' + i))
	}
	return t
}()

func lowercase(r rune) (string, bool) {
	switch {
	case r >= 'A' && r <= 'Z':
		return lowerASCII[r-'A'], true
	case r < utf8.RuneSelf:
		return "", false
	case r == 'İ':
		return "i\u0307", true // the one character with a lower case of two
	}
	l := toLower(r)
	return string(l), l != r
}

func noMarks(r rune) (string, bool) { return "", isMark(r) }

func noNonspacing(r rune) (string, bool) { return "", isNonspacing(r) }

// nmt drops control characters and makes spaces of what looks like one, as
// SentencePiece does for its rule of that name.
func nmt(r rune) (string, bool) {
	switch {
	case r >= 1 && r <= 8, r == 0xB, r >= 0xE && r <= 0x1F, r == 0x7F, r == 0x8F, r == 0x9F:
		return "", true
	case r == '\t', r == '\n', r == '\f', r == '\r', r == 0x1680, r >= 0x200B && r <= 0x200F,
		r == 0x2028, r == 0x2029, r == 0x2581, r == 0xFEFF, r == 0xFFFD:
		return " ", true
	}
	return "", false
}

// byteLevelText puts characters of the byte-level alphabet for bytes.
type byteLevelText struct{}

func (byteLevelText) normalize(t *text, w *writer) error {
	old := t.b
	w.begin(t)
	for i := 0; i < len(old); {
		_, n := utf8.DecodeRune(old[i:])
		for k := range n {
			w.putRune(byteRunes[old[i+k]], i, i+n)
		}
		i += n
	}
	w.end()
	return nil
}

// stripText drops whitespace at the ends of a text.
type stripText struct {
	Left  bool `json:"strip_left"`
	Right bool `json:"strip_right"`
}

func (s *stripText) normalize(t *text, _ *writer) error {
	lo, hi := 0, len(t.b)
	if s.Left {
		lo = hi - len(bytes.TrimLeftFunc(t.b, unicode.IsSpace))
	}
	if s.Right {
		hi = max(lo, len(bytes.TrimRightFunc(t.b, unicode.IsSpace)))
	}
	*t = t.sub(lo, hi)
	return nil
}

// prepend puts a string in front of a text that is not empty.
type prepend struct {
	Prepend string `json:"prepend"`
}

func (p *prepend) normalize(t *text, w *writer) error {
	if len(t.b) == 0 || p.Prepend == "" {
		return nil
	}
	old := t.b
	_, n := utf8.DecodeRune(old)
	w.begin(t)
	w.put(p.Prepend, 0, n)
	w.copy(len(old))
	w.end()
	return nil
}

// replace puts a string in the place of others.
type replace struct {
	plain   []byte // what is replaced, if it is a string
	pattern *pattern.Pattern
	with    string
}

func readReplace(r raw) (*replace, error) {
	c, err := decode(r, struct {
		Pattern patternConfig `json:"pattern"`
		Content string        `json:"content"`
	}{})
	if err != nil {
		return nil, err
	}
	out := &replace{with: c.Content}
	if s := c.Pattern.String; s != nil && *s != "" {
		out.plain = []byte(*s)
		return out, nil
	}
	out.pattern, err = c.Pattern.compile()
	return out, err
}

func (p *replace) normalize(t *text, w *writer) error {
	if p.plain != nil {
		p.replaceString(t, w)
		return nil
	}
	found, err := p.pattern.Find(nil, t.b)
	if err != nil || len(found) == 0 {
		return err
	}
	old := t.b
	w.begin(t)
	for i := 0; i < len(found); i += 2 {
		p.put(w, old, int(found[i]), int(found[i+1]))
	}
	w.copy(len(old) - w.pos)
	w.end()
	return nil
}

func (p *replace) replaceString(t *text, w *writer) {
	old := t.b
	i := bytes.Index(old, p.plain)
	if i < 0 {
		return
	}
	w.begin(t)
	for i >= 0 {
		p.put(w, old, w.pos+i, w.pos+i+len(p.plain))
		i = bytes.Index(old[w.pos:], p.plain)
	}
	w.copy(len(old) - w.pos)
	w.end()
}

// put writes the replacement of lo..hi, which stands for its last character.
func (p *replace) put(w *writer, old []byte, lo, hi int) {
	w.copy(lo - w.pos)
	_, n := utf8.DecodeLastRune(old[lo:hi])
	w.put(p.with, hi-n, hi)
	w.skip(hi - lo)
}

// bertNormalizer is the text clean-up of BERT.
type bertNormalizer struct {
	Clean   bool  `json:"clean_text"`
	Chinese bool  `json:"handle_chinese_chars"`
	Accents *bool `json:"strip_accents"` // as Lower if it is absent
	Lower   bool  `json:"lowercase"`
	steps   normalizers
}

func readBertNormalizer(r raw) (normalizer, error) {
	b, err := decode(r, &bertNormalizer{Clean: true, Chinese: true, Lower: true})
	if err != nil {
		return nil, err
	}
	return bertSteps(b), nil
}

func bertSteps(b *bertNormalizer) normalizers {
	if b.Clean {
		b.steps = append(b.steps, perRune(cleanBert))
	}
	if b.Chinese {
		b.steps = append(b.steps, perRune(spaceChinese))
	}
	if b.Accents == nil && b.Lower || b.Accents != nil && *b.Accents {
		b.steps = append(b.steps, unicodeForm(norm.NFD), perRune(noNonspacing))
	}
	if b.Lower {
		b.steps = append(b.steps, perRune(lowercase))
	}
	return b.steps
}

func cleanBert(r rune) (string, bool) {
	switch {
	case r > ' ' && r < 0x7F, r == ' ':
		return "", false
	case r == '\t', r == '\n', r == '\r':
		return " ", true
	case r == 0, r == utf8.RuneError, isOther(r):
		return "", true
	case unicode.IsSpace(r):
		return " ", true
	}
	return "", false
}

// chinese are the blocks of ideographs that BERT makes words of.
var chinese = [][2]rune{
	{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
	{0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
}

func spaceChinese(r rune) (string, bool) {
	if r < 0x3400 {
		return "", false
	}
	if !slices.ContainsFunc(chinese, func(b [2]rune) bool { return r >= b[0] && r <= b[1] }) {
		return "", false
	}
	return " " + string(r) + " ", true
}
