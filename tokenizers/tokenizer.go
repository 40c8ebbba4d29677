package tokenizers

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"
)

// MaxText is how many bytes one text may have.
const MaxText = 1 << 30

// ErrTooLong says that a text has more than MaxText bytes, or would become much longer by the steps
// that a file asks for.
var ErrTooLong = errors.New("the text is too long")

// Tokenizer makes ids of text and text of ids. It is safe for concurrent use
// as long as nobody changes its fields.
type Tokenizer struct {
	// Truncation and Padding are what the file asks for; nil is nothing of the kind.
	// IDs and Encode follow them.
	Truncation *Truncation
	Padding    *Padding

	model      model
	normalizer normalizer
	pre        preTokenizer
	post       postProcessor
	decoder    decoder

	added         map[int32]addedToken
	addedIDs      map[string]int32
	forms         map[int32]string // normal forms of added tokens that are found in normalized text
	plain, normal *finder          // added tokens found in the text, and in normalized text
	origins       bool             // tokens depend on where in the text a piece is from

	states sync.Pool
}

// Options say what is asked of a text. The zero value is its tokens alone.
type Options struct {
	// SpecialTokens adds what the model wants around a text, such as <s> or [CLS] and [SEP].
	SpecialTokens bool
	// PlainText takes special tokens that are written in the text, such as <|endoftext|>, as
	// ordinary characters: a text from outside cannot give orders then.
	PlainText bool
}

// Span is a range of bytes.
type Span struct{ Start, End int }

// Encoding is what a text became: for each token an element of each slice.
type Encoding struct {
	IDs     []int32
	Tokens  []string
	Offsets []Span  // the bytes of the text it is from; of added tokens none
	TypeIDs []int32 // 0, and 1 for the second text of a pair
	Texts   []int32 // which text of a pair it is from: 0 or 1; -1 for added tokens
	Words   []int32 // which piece of the text it is from, counted from 0; -1 for added tokens
	Special []bool  // whether it was added by Options.SpecialTokens or padding
	Mask    []bool  // whether it is to be attended to: all but padding

	idsOnly bool
	text    string // while it is of one text
}

// Runes returns e.Offsets in characters of text, or of the second text of a
// pair for tokens that are from it.
func (e *Encoding) Runes(text string, pair ...string) []Span {
	texts := append([]string{text}, pair...)
	counts := make([][]int32, len(texts))
	for i, s := range texts {
		counts[i] = runeCounts(s)
	}
	out := make([]Span, len(e.Offsets))
	for i, o := range e.Offsets {
		if k := int(e.Texts[i]); k >= 0 && k < len(counts) && o.End < len(counts[k]) {
			out[i] = Span{int(counts[k][o.Start]), int(counts[k][o.End])}
		}
	}
	return out
}

// runeCounts returns how many characters start before each byte of s.
func runeCounts(s string) []int32 {
	counts := make([]int32, len(s)+1)
	n := int32(0)
	for i := 0; i < len(s); {
		k := charLength(s[i:])
		counts[i] = n
		for j := 1; j < k; j++ {
			counts[i+j] = n + 1
		}
		i += k
		n++
	}
	counts[len(s)] = n
	return counts
}

// state is what one call works with. It goes from call to call.
type state struct {
	cache   *cache
	norm    writer // of normalizers
	pre     writer // of pre-tokenizers
	merger  merger
	best    []best
	src     []byte
	at      []span
	scratch []byte
	toks    []tok
	found   []int32
	parts   []part
	pieces  []span
	own     []span // pieces of the text that is being split
	outer   []found
	inner   []found
	word    int32
	opts    Options
}

func (t *Tokenizer) state(o Options, track bool) *state {
	s, _ := t.states.Get().(*state)
	if s == nil {
		s = &state{cache: newCache()}
	}
	s.opts, s.word = o, 0
	s.norm.track, s.pre.track = track, track
	return s
}

// Encode returns the tokens of a text. Bytes that are not UTF-8 count as the
// replacement character U+FFFD.
func (t *Tokenizer) Encode(text string, o Options) (*Encoding, error) {
	e := &Encoding{}
	if err := t.encode(e, text, o, 0); err != nil {
		return nil, err
	}
	return t.finish(e, nil, o)
}

// EncodePair returns the tokens of two texts that belong together, such as a
// question and a paragraph, as one sequence.
func (t *Tokenizer) EncodePair(first, second string, o Options) (*Encoding, error) {
	a, b := &Encoding{}, &Encoding{}
	if err := t.encode(a, first, o, 0); err != nil {
		return nil, err
	}
	if err := t.encode(b, second, o, 1); err != nil {
		return nil, err
	}
	return t.finish(a, b, o)
}

// IDs returns the ids of a text alone, which is faster than Encode.
func (t *Tokenizer) IDs(text string, o Options) ([]int32, error) {
	e := &Encoding{idsOnly: true}
	if err := t.encode(e, text, o, 0); err != nil {
		return nil, err
	}
	e, err := t.finish(e, nil, o)
	if err != nil {
		return nil, err
	}
	return e.IDs, nil
}

// EncodeBatch encodes texts on several goroutines, and pads them to the same
// length if Padding says so.
func (t *Tokenizer) EncodeBatch(texts []string, o Options) ([]*Encoding, error) {
	out := make([]*Encoding, len(texts))
	err := parallel(len(texts), func(i int) error {
		e := &Encoding{}
		err := t.encode(e, texts[i], o, 0)
		if err == nil {
			out[i], err = t.process(e, nil, o)
		}
		if err != nil {
			return fmt.Errorf("text %d: %w", i, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.Padding != nil {
		return out, t.Padding.apply(out, out)
	}
	return out, nil
}

// finish adds what is to be added to encoded texts.
func (t *Tokenizer) finish(a, b *Encoding, o Options) (*Encoding, error) {
	e, err := t.process(a, b, o)
	if err != nil || t.Padding == nil {
		return e, err
	}
	list := []*Encoding{e}
	return e, t.Padding.apply(list, list)
}

// encode appends the tokens of a text to e.
func (t *Tokenizer) encode(e *Encoding, s string, o Options, typeID int32) error {
	if len(s) > MaxText {
		return fmt.Errorf("%d bytes: %w, the limit is %d", len(s), ErrTooLong, MaxText)
	}
	st := t.state(o, !e.idsOnly || t.origins)
	defer t.release(st)
	x := text{}
	if utf8.ValidString(s) {
		st.src = append(st.src[:0], s...)
	} else {
		st.src, st.at = repaired(st.src[:0], st.at[:0], s)
		x.at = st.at
	}
	x.b = st.src
	st.outer = t.plain.find(st.outer[:0], x.b, o.PlainText)
	for _, f := range st.outer {
		part := x.sub(int(f.lo), int(f.hi))
		if f.id >= 0 {
			t.appendAdded(e, st, &part, f.id)
		} else if err := t.section(e, st, &part); err != nil {
			return err
		}
	}
	if !e.idsOnly {
		e.text = s
		e.fill(len(e.IDs), typeID)
	}
	return nil
}

// keep is how large the buffers of a state may be to be used again.
const keep = 8 << 20

func (t *Tokenizer) release(s *state) {
	if cap(s.src) > keep || cap(s.best)*16 > keep || cap(s.merger.queue)*16 > keep {
		*s = state{cache: s.cache}
	}
	t.states.Put(s)
}

// section encodes a part of a text that has no added token of the plain kind.
func (t *Tokenizer) section(e *Encoding, s *state, x *text) error {
	if t.normalizer != nil {
		if err := t.normalizer.normalize(x, &s.norm); err != nil {
			return err
		}
	}
	s.inner = t.normal.find(s.inner[:0], x.b, s.opts.PlainText)
	for _, f := range s.inner {
		part := x.sub(int(f.lo), int(f.hi))
		if f.id >= 0 {
			t.appendAdded(e, s, &part, f.id)
		} else if err := t.plainText(e, s, &part); err != nil {
			return err
		}
	}
	return nil
}

// plainText encodes a part of a text that has no added tokens.
func (t *Tokenizer) plainText(e *Encoding, s *state, x *text) error {
	x.pieces = append(s.own[:0], span{0, int32(len(x.b))})
	if t.pre != nil {
		if err := t.pre.split(x, s); err != nil {
			return err
		}
	}
	s.own = x.pieces
	for _, p := range x.pieces {
		if p.hi == p.lo {
			continue
		}
		var err error
		s.toks, err = s.remembered(t.model, s.toks[:0], x.b[p.lo:p.hi], x.mapped)
		if err != nil {
			return err
		}
		t.appendTokens(e, s, x, p)
		s.word++
	}
	return nil
}

// remembered is tokenize with a cache.
func (s *state) remembered(m model, dst []tok, piece []byte, mapped bool) ([]tok, error) {
	if len(piece) > cacheKey {
		return m.tokenize(dst, s, piece, mapped)
	}
	slot, ok := s.cache.find(piece)
	if ok {
		return append(dst, slot.toks...), nil
	}
	n := len(dst)
	dst, err := m.tokenize(dst, s, piece, mapped)
	if err == nil {
		s.cache.fill(slot, piece, dst[n:])
	}
	return dst, err
}

func (t *Tokenizer) appendTokens(e *Encoding, s *state, x *text, p span) {
	if e.idsOnly {
		for _, k := range s.toks {
			e.IDs = append(e.IDs, k.id)
		}
		return
	}
	names := t.model.names().tokens
	unk := int32(-1) // the token that has the text which it stands for as its name
	if u, ok := t.model.(*unigram); ok && !u.single {
		unk = u.unk
	}
	for _, k := range s.toks {
		from, to := x.origin(int(p.lo+k.lo)), x.origin(int(p.lo+k.hi-1))
		e.IDs = append(e.IDs, k.id)
		name := names[k.id]
		if k.id == unk {
			name = string(x.b[p.lo+k.lo : p.lo+k.hi])
		}
		e.Tokens = append(e.Tokens, name)
		e.Offsets = append(e.Offsets, Span{int(from.lo), int(to.hi)})
		e.Words = append(e.Words, s.word)
	}
}

func (t *Tokenizer) appendAdded(e *Encoding, s *state, x *text, id int32) {
	e.IDs = append(e.IDs, id)
	if e.idsOnly {
		return
	}
	e.Tokens = append(e.Tokens, string(x.b)) // with the whitespace that it takes in
	from, to := x.origin(0), x.origin(len(x.b)-1)
	e.Offsets = append(e.Offsets, Span{int(from.lo), int(to.hi)})
	e.Words = append(e.Words, s.word)
	s.word++
}

// fill sets texts, types and masks of n tokens.
func (e *Encoding) fill(n int, typeID int32) {
	e.Texts = slices.Repeat([]int32{typeID}, n)
	e.TypeIDs = slices.Repeat([]int32{typeID}, n)
	e.Special = make([]bool, n)
	e.Mask = slices.Repeat([]bool{true}, n)
}

// VocabSize returns the number of tokens, or the largest id and one if ids have
// gaps.
func (t *Tokenizer) VocabSize() int {
	n := len(t.model.names().tokens)
	for id := range t.added {
		n = max(n, int(id)+1)
	}
	return n
}

// ID returns the id of a token as the vocabulary spells it.
func (t *Tokenizer) ID(token string) (int32, bool) {
	if id, ok := t.addedIDs[token]; ok {
		return id, true
	}
	id := t.model.names().id(token)
	return id, id >= 0
}

// Token returns the token of an id as the vocabulary spells it.
func (t *Tokenizer) Token(id int32) (string, bool) {
	if a, ok := t.added[id]; ok {
		return a.Content, true
	}
	return t.model.names().token(id)
}

// IsSpecial reports whether an id is that of a special token.
func (t *Tokenizer) IsSpecial(id int32) bool { return t.added[id].Special }
