package tokenizers

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// postProcessor adds special tokens around one or two encoded texts. The
// second may be nil.
type postProcessor interface {
	// adds returns how many tokens it adds.
	adds(pair bool) int
	// process changes a list of encodings, whose concatenation is the result.
	process(list []*Encoding, special bool) []*Encoding
}

func readPostProcessor(r raw) (postProcessor, error) {
	kind, err := kindOf(r)
	if err != nil {
		return nil, err
	}
	p, err := postProcessorOf(kind, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return p, nil
}

func postProcessorOf(kind string, r raw) (postProcessor, error) {
	switch kind {
	case "ByteLevel":
		return decode(r, &trimOffsets{Trim: true, Prefix: true})
	case "TemplateProcessing":
		return readTemplate(r)
	case "BertProcessing":
		return readAround(r, false)
	case "RobertaProcessing":
		return readAround(r, true)
	case "Sequence":
		parts, err := sequence(r, "processors", readPostProcessor)
		return postProcessors(parts), err
	}
	return nil, fmt.Errorf("post-processor %w", ErrUnsupported)
}

type postProcessors []postProcessor

func (p postProcessors) adds(pair bool) int {
	n := 0
	for _, x := range p {
		n += x.adds(pair)
	}
	return n
}

func (p postProcessors) process(list []*Encoding, special bool) []*Encoding {
	for _, x := range p {
		list = x.process(list, special)
	}
	return list
}

// trimOffsets takes whitespace out of the offsets of byte-level tokens.
type trimOffsets struct {
	Trim   bool `json:"trim_offsets"`
	Prefix bool `json:"add_prefix_space"`
}

func (p *trimOffsets) adds(bool) int { return 0 }

func (p *trimOffsets) process(list []*Encoding, _ bool) []*Encoding {
	if p.Trim {
		for _, e := range list {
			p.trim(e)
		}
	}
	return list
}

// isBlank is that of whitespace and of the byte-level character of a space.
func isBlank(r rune) bool { return r == 'Ġ' || unicode.IsSpace(r) }

func (p *trimOffsets) trim(e *Encoding) {
	for i, token := range e.Tokens {
		left, right := blanks(token)
		o := &e.Offsets[i]
		if left == 1 && p.Prefix && (i == 0 || o.Start == 0) {
			left = 0 // the space is one that was added
		}
		for ; left > 0 && o.Start < o.End; left-- {
			o.Start += charLength(e.text[o.Start:])
		}
		for ; right > 0 && o.End > o.Start; right-- {
			o.End -= lastLength(e.text[:o.End])
		}
	}
}

// charLength returns the length of the first character, or of the bytes that
// one replacement character stands for.
func charLength(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n == 1 {
		n = brokenLength(s)
	}
	return n
}

// blanks returns how many whitespace characters a token starts and ends with.
func blanks(token string) (left, right int) {
	inner := strings.TrimLeftFunc(token, isBlank)
	left = len([]rune(token)) - len([]rune(inner))
	inner = strings.TrimRightFunc(token, isBlank)
	return left, len([]rune(token)) - len([]rune(inner))
}

// lastLength is charLength of the last character.
func lastLength(s string) int {
	r, n := utf8.DecodeLastRuneInString(s)
	if r != utf8.RuneError || n > 1 {
		return n
	}
	for n = min(utf8.UTFMax-1, len(s)); n > 1; n-- {
		if brokenLength(s[len(s)-n:]) == n {
			break
		}
	}
	return n
}

// template is a list of texts and special tokens.
type template struct{ single, pair []slotOf }

// slotOf is a place of a template: a text, or tokens.
type slotOf struct {
	text   int // which text, -1 for tokens
	typeID int32
	ids    []int32
	tokens []string
}

// templatePiece is how a file writes a place.
type templatePiece struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	}
	SpecialToken *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	}
}

type templateToken struct {
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

func readTemplate(r raw) (*template, error) {
	c, err := decode(r, struct {
		Single []templatePiece
		Pair   []templatePiece
		Tokens map[string]templateToken `json:"special_tokens"`
	}{})
	if err != nil {
		return nil, err
	}
	t := &template{}
	if t.single, err = slotsOf(c.Single, c.Tokens); err != nil {
		return nil, fmt.Errorf("single: %w", err)
	}
	if t.pair, err = slotsOf(c.Pair, c.Tokens); err != nil {
		return nil, fmt.Errorf("pair: %w", err)
	}
	return t, nil
}

func slotsOf(pieces []templatePiece, tokens map[string]templateToken) ([]slotOf, error) {
	var out []slotOf
	for i, p := range pieces {
		switch {
		case p.Sequence != nil && (p.Sequence.ID == "A" || p.Sequence.ID == "B"):
			out = append(out, slotOf{text: int(p.Sequence.ID[0] - 'A'), typeID: p.Sequence.Type})
		case p.SpecialToken != nil:
			t, ok := tokens[p.SpecialToken.ID]
			if !ok || len(t.IDs) != len(t.Tokens) {
				return nil, fmt.Errorf("place %d: special_tokens has no ids for %q", i,
					p.SpecialToken.ID)
			}
			out = append(out, slotOf{-1, p.SpecialToken.Type, t.IDs, t.Tokens})
		default:
			return nil, fmt.Errorf("place %d is neither sequence A, sequence B nor a token", i)
		}
	}
	return out, nil
}

func (t *template) of(pair bool) []slotOf {
	if pair {
		return t.pair
	}
	return t.single
}

func (t *template) adds(pair bool) int {
	n := 0
	for _, s := range t.of(pair) {
		n += len(s.ids)
	}
	return n
}

func (t *template) process(list []*Encoding, special bool) []*Encoding {
	var out []*Encoding
	for _, s := range t.of(len(list) > 1) {
		switch {
		case s.text >= len(list):
		case s.text >= 0:
			e := list[s.text]
			for i := range e.TypeIDs {
				e.TypeIDs[i] = s.typeID
			}
			out = append(out, e)
		case special:
			out = append(out, specialTokens(list[0].idsOnly, s))
		}
	}
	return out
}

// specialTokens returns an encoding of tokens that stand for no text.
func specialTokens(idsOnly bool, s slotOf) *Encoding {
	e := &Encoding{IDs: s.ids, idsOnly: idsOnly}
	if idsOnly {
		return e
	}
	n := len(s.ids)
	e.fill(n, s.typeID)
	e.Tokens, e.Offsets = s.tokens, make([]Span, n)
	e.Texts, e.Words = slices.Repeat([]int32{-1}, n), slices.Repeat([]int32{-1}, n)
	e.Special = slices.Repeat([]bool{true}, n)
	return e
}

// around puts tokens around each text as BERT does, or RoBERTa, which also trims offsets.
type around struct {
	cls, sep slotOf
	roberta  bool
	trim     trimOffsets
}

func readAround(r raw, roberta bool) (postProcessor, error) {
	c, err := decode(r, struct {
		CLS    [2]any `json:"cls"`
		SEP    [2]any `json:"sep"`
		Trim   bool   `json:"trim_offsets"`
		Prefix bool   `json:"add_prefix_space"`
	}{Trim: true, Prefix: true})
	if err != nil {
		return nil, err
	}
	cls, err := tokenAndID("cls", c.CLS)
	if err != nil {
		return nil, err
	}
	sep, err := tokenAndID("sep", c.SEP)
	if err != nil {
		return nil, err
	}
	return &around{cls, sep, roberta, trimOffsets{c.Trim, c.Prefix}}, nil
}

func tokenAndID(name string, pair [2]any) (slotOf, error) {
	token, ok := pair[0].(string)
	id, okID := pair[1].(float64)
	if !ok || !okID || id < 0 || id > math.MaxInt32 || id != math.Trunc(id) {
		return slotOf{}, fmt.Errorf("%s is not a token and its id", name)
	}
	return slotOf{text: -1, ids: []int32{int32(id)}, tokens: []string{token}}, nil
}

func (a *around) adds(pair bool) int {
	switch {
	case !pair:
		return 2
	case a.roberta:
		return 4
	}
	return 3
}

// process has a token in front of the first text and one behind each, and RoBERTa's one between
// texts, too, and no types.
func (a *around) process(list []*Encoding, special bool) []*Encoding {
	if a.roberta {
		list = a.trim.process(list, special)
		for _, e := range list {
			clear(e.TypeIDs)
		}
	}
	if !special {
		return list
	}
	out := make([]*Encoding, len(list))
	for i, e := range list {
		front, back := []slotOf{a.cls}, a.sep
		if i > 0 {
			front = nil
			if a.roberta {
				front = []slotOf{a.sep}
			} else {
				back.typeID = 1
			}
		}
		parts := []*Encoding{}
		for _, s := range front {
			parts = append(parts, specialTokens(e.idsOnly, s))
		}
		out[i] = joined(append(parts, e, specialTokens(e.idsOnly, back)))
	}
	return out
}

// process truncates encodings and adds special tokens.
func (t *Tokenizer) process(a, b *Encoding, o Options) (*Encoding, error) {
	list := []*Encoding{a}
	if b != nil {
		list = append(list, b)
	}
	if t.Truncation != nil {
		n, err := t.Truncation.lengths(list, t.addedTokens(b != nil, o))
		if err != nil {
			return nil, err
		}
		for i, e := range list {
			e.truncate(n[i], t.Truncation.Left)
		}
	}
	if t.post != nil {
		list = t.post.process(list, o.SpecialTokens)
	}
	return joined(list), nil
}

// joined returns the concatenation of encodings.
func joined(list []*Encoding) *Encoding {
	if len(list) == 1 {
		return list[0]
	}
	out := &Encoding{}
	for _, e := range list {
		out.idsOnly = e.idsOnly
		out.append(e)
	}
	return out
}

func (e *Encoding) append(f *Encoding) {
	e.IDs = append(e.IDs, f.IDs...)
	e.Tokens = append(e.Tokens, f.Tokens...)
	e.Offsets = append(e.Offsets, f.Offsets...)
	e.TypeIDs = append(e.TypeIDs, f.TypeIDs...)
	e.Texts = append(e.Texts, f.Texts...)
	e.Words = append(e.Words, f.Words...)
	e.Special = append(e.Special, f.Special...)
	e.Mask = append(e.Mask, f.Mask...)
}

// Truncation says how many tokens an encoding has at most.
type Truncation struct {
	MaxLength int    // with special tokens
	Left      bool   // the first tokens go instead of the last ones
	Strategy  string // of pairs: longest_first, only_first or only_second; empty is the first
	// Stride is how many tokens of a text the parts that [Tokenizer.Parts] returns have in common
	// with the one before.
	Stride int
}

// ErrTruncation says that a text cannot be made short enough.
var ErrTruncation = errors.New("cannot truncate")

// addedTokens is how many special tokens are added to a text or a pair.
func (t *Tokenizer) addedTokens(pair bool, o Options) int {
	if t.post == nil || !o.SpecialTokens {
		return 0
	}
	return t.post.adds(pair)
}

// lengths are how many tokens stay of each text.
func (t *Truncation) lengths(list []*Encoding, added int) ([2]int, error) {
	var n [2]int
	limit := t.MaxLength - added
	if limit < 0 {
		return n, fmt.Errorf("%w to %d tokens, of which %d are special tokens",
			ErrTruncation, t.MaxLength, added)
	}
	total := 0
	for i, e := range list {
		n[i] = len(e.IDs)
		total += n[i]
	}
	if total <= limit {
		return n, nil
	}
	if limit == 0 {
		return [2]int{}, nil
	}
	if t.Strategy == "only_first" || t.Strategy == "only_second" {
		i, excess := 0, total-limit
		if t.Strategy == "only_second" {
			i = 1
		}
		if i >= len(list) || n[i] <= excess {
			return n, fmt.Errorf("%w by %d tokens with strategy %s", ErrTruncation, excess, t.Strategy)
		}
		n[i] -= excess
		return n, nil
	}
	n[0] = limit
	if len(list) == 2 {
		n[0], n[1] = shares(len(list[0].IDs), len(list[1].IDs), limit)
	}
	return n, nil
}

// shares returns how many of a and b tokens stay if there is place for limit:
// the longer text loses first.
func shares(a, b, limit int) (int, int) {
	short := min(a, b)
	long := short
	if short <= limit {
		long = max(short, limit-short)
	}
	if short+long > limit {
		short = limit / 2
		long = short + limit%2
	}
	if a > b {
		return long, short
	}
	return short, long
}

func (e *Encoding) truncate(n int, left bool) {
	e.IDs = cut(e.IDs, n, left)
	e.Tokens = cut(e.Tokens, n, left)
	e.Offsets = cut(e.Offsets, n, left)
	e.TypeIDs = cut(e.TypeIDs, n, left)
	e.Texts = cut(e.Texts, n, left)
	e.Words = cut(e.Words, n, left)
	e.Special = cut(e.Special, n, left)
	e.Mask = cut(e.Mask, n, left)
}

func cut[T any](s []T, n int, left bool) []T {
	if len(s) <= n {
		return s
	}
	if left {
		return s[len(s)-n:]
	}
	return s[:n]
}

// Padding says how encodings become as long as each other.
type Padding struct {
	Length     int // of each; 0 is that of the longest
	MultipleOf int // the length is rounded up to a multiple of it; 0 is not
	Left       bool
	ID, TypeID int32
	Token      string
}

// maxPadded is how many tokens padding may make of an encoding.
const maxPadded = 1 << 22

// apply pads encodings to the length of the longest of some of them.
func (p *Padding) apply(list, longest []*Encoding) error {
	n := p.Length
	if n == 0 {
		for _, e := range longest {
			n = max(n, len(e.IDs))
		}
	}
	if p.MultipleOf > 1 && n%p.MultipleOf != 0 {
		n += p.MultipleOf - n%p.MultipleOf
	}
	if n < 0 || n > maxPadded {
		return fmt.Errorf("padding to %d tokens: more than %d", n, maxPadded)
	}
	for _, e := range list {
		p.pad(e, n-len(e.IDs))
	}
	return nil
}

func (p *Padding) pad(e *Encoding, n int) {
	if n <= 0 {
		return
	}
	e.IDs = padded(e.IDs, n, p.ID, p.Left)
	if e.idsOnly {
		return
	}
	e.Tokens = padded(e.Tokens, n, p.Token, p.Left)
	e.Offsets = padded(e.Offsets, n, Span{}, p.Left)
	e.TypeIDs = padded(e.TypeIDs, n, p.TypeID, p.Left)
	e.Texts = padded(e.Texts, n, -1, p.Left)
	e.Words = padded(e.Words, n, -1, p.Left)
	e.Special = padded(e.Special, n, true, p.Left)
	e.Mask = padded(e.Mask, n, false, p.Left)
}

func padded[T any](s []T, n int, with T, left bool) []T {
	pad := slices.Repeat([]T{with}, n)
	if left {
		return append(pad, s...)
	}
	return slices.Concat(s, pad)
}
