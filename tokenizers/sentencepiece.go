package tokenizers

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Types of the pieces of a SentencePiece model.
const (
	pieceNormal = 1 + iota
	pieceUnknown
	pieceControl
	pieceUser
	pieceUnused
	pieceByte
)

// spModel is what a SentencePiece model says.
type spModel struct {
	pieces []spPiece
	kind   uint64 // 1: Unigram, 2: BPE
	suffix bool   // spaces belong to the word before
	bytes  bool
	unk    string // what an unknown piece decodes to

	charsmap                   []byte
	prefix, collapse, noEscape bool
}

type spPiece struct {
	text  string
	score float32
	kind  uint64
}

// FromSentencePiece reads a model of SentencePiece, of its kinds BPE and
// Unigram. Such a file does not say which special tokens stand around a text:
// Options.SpecialTokens adds none. Control pieces such as <s> are never found in
// a text, and have ids by ID.
func FromSentencePiece(r io.Reader) (*Tokenizer, error) {
	b, err := readLimited(r)
	if err != nil {
		return nil, err
	}
	m, err := readSPModel(b)
	if err != nil {
		return nil, fmt.Errorf("SentencePiece model: %w", err)
	}
	t, err := m.tokenizer()
	if err != nil {
		return nil, fmt.Errorf("SentencePiece model: %w", err)
	}
	return t, nil
}

// readSPModel reads the fields that matter of a ModelProto
// (sentencepiece_model.proto).
func readSPModel(b []byte) (*spModel, error) {
	m := &spModel{kind: 1, unk: " \u2047 ", prefix: true, collapse: true}
	err := eachField(b, func(f protoField) error {
		switch f.number {
		case 1:
			return m.piece(f.bytes)
		case 2:
			return eachField(f.bytes, m.trainer)
		case 3:
			return eachField(f.bytes, m.normalizer)
		}
		return nil
	})
	if err == nil && len(m.pieces) == 0 {
		err = errors.New("there are no pieces")
	}
	return m, err
}

func (m *spModel) piece(b []byte) error {
	p := spPiece{kind: pieceNormal}
	err := eachField(b, func(f protoField) error {
		switch f.number {
		case 1:
			p.text = string(f.bytes)
		case 2:
			p.score = math.Float32frombits(uint32(f.value))
		case 3:
			p.kind = f.value
		}
		return nil
	})
	if err == nil && (p.text == "" || !utf8.ValidString(p.text) || p.score != p.score) {
		err = fmt.Errorf("piece %d, %q with score %v, is not one", len(m.pieces), p.text, p.score)
	}
	m.pieces = append(m.pieces, p)
	return err
}

func (m *spModel) trainer(f protoField) error {
	switch f.number {
	case 3:
		m.kind = f.value
	case 24:
		m.suffix = f.value != 0
	case 35:
		m.bytes = f.value != 0
	case 44:
		m.unk = string(f.bytes)
	}
	return nil
}

func (m *spModel) normalizer(f protoField) error {
	switch f.number {
	case 2:
		m.charsmap = f.bytes
	case 3:
		m.prefix = f.value != 0
	case 4:
		m.collapse = f.value != 0
	case 5:
		m.noEscape = f.value == 0
	}
	return nil
}

func (m *spModel) tokenizer() (*Tokenizer, error) {
	if m.suffix || m.noEscape {
		return nil, fmt.Errorf("treat_whitespace_as_suffix and no escape_whitespaces %w", ErrUnsupported)
	}
	ids := map[string]int64{}
	unk := int32(-1)
	for i, p := range m.pieces {
		if _, ok := ids[p.text]; ok {
			return nil, fmt.Errorf("piece %d, %q, is there twice", i, p.text)
		}
		ids[p.text] = int64(i)
		if p.kind == pieceUnknown {
			unk = int32(i)
		}
	}
	if unk < 0 {
		return nil, errors.New("no piece is the unknown one")
	}
	v, err := newVocab(ids)
	if err != nil {
		return nil, err
	}
	model, err := m.model(v, unk)
	if err != nil {
		return nil, err
	}
	return m.around(model)
}

// around adds to a model what is before and behind it.
func (m *spModel) around(model model) (*Tokenizer, error) {
	t := newTokenizer(model)
	n := &spNormalizer{prefix: m.prefix, collapse: m.collapse, user: newFinder()}
	table, err := newPrecompiled(m.charsmap)
	if err != nil {
		return nil, err
	}
	n.table, _ = table.(*precompiled)
	d := &spDecoder{m: m, kinds: map[string]uint64{}}
	for i, p := range m.pieces {
		d.kinds[p.text] = p.kind
		a := addedToken{ID: int64(i), Content: p.text, Special: p.kind != pieceUser}
		if p.kind == pieceControl || p.kind == pieceUnknown {
			t.added[int32(i)] = a
			t.addedIDs[p.text] = int32(i)
		}
		if p.kind != pieceUser {
			continue
		}
		n.user.add(a, p.text)
		if m.kind == 2 {
			t.normal.add(a, p.text)
			t.added[int32(i)], t.addedIDs[p.text] = a, int32(i)
		}
	}
	t.normalizer, t.decoder = n, d
	return t, nil
}

func (m *spModel) model(v *vocab, unk int32) (model, error) {
	switch m.kind {
	case 1:
		return m.unigram(v, unk)
	case 2:
		return m.bpe(v, unk)
	}
	return nil, fmt.Errorf("model_type %d %w", m.kind, ErrUnsupported)
}

// bpe makes merges of scores: the pair is merged first whose piece has the
// largest.
func (m *spModel) bpe(v *vocab, unk int32) (model, error) {
	normal := &vocab{ids: map[string]int32{}, tokens: v.tokens, known: v.known}
	words := true
	order := make([]float32, 0, len(m.pieces))
	for i, p := range m.pieces {
		if p.kind == pieceUnused {
			return nil, fmt.Errorf("unused piece %q in a BPE model %w", p.text, ErrUnsupported)
		}
		if p.kind == pieceNormal {
			normal.ids[p.text] = int32(i)
			order = append(order, p.score)
			words = words && !crossesWord(p.text)
		}
	}
	slices.SortFunc(order, func(a, b float32) int { return cmp.Compare(b, a) })
	order = slices.Compact(order)
	b, err := newBPE(normal, nil, bpeOptions{fuseUnk: true})
	if err != nil {
		return nil, err
	}
	b.words = words && normal.id(wordStart) >= 0
	if err := b.mergesOfTokens(func(id int32) uint32 {
		i, _ := slices.BinarySearchFunc(order, m.pieces[id].score, func(a, b float32) int {
			return cmp.Compare(b, a)
		})
		return uint32(i)
	}); err != nil {
		return nil, err
	}
	b.unk = unk
	if m.bytes {
		b.bytes = v.byteTokens()
	}
	b.shown = v
	return b, nil
}

// unigram makes a model that adds scores in 32 bits, as SentencePiece does, in
// which pieces of the user win over all others.
func (m *spModel) unigram(v *vocab, unk int32) (model, error) {
	low := float32(math.MaxFloat32)
	for _, p := range m.pieces {
		if p.kind == pieceNormal {
			low = min(low, p.score)
		}
	}
	u := &unigram{vocab: v, unk: unk, scores: make([]float64, len(m.pieces)), single: true,
		unkScore: float64(low - unkPenalty), trie: newTrie(len(m.pieces))}
	if m.bytes {
		u.bytes = v.byteTokens()
	}
	for i, p := range m.pieces {
		u.scores[i] = float64(p.score)
		if p.kind == pieceUser {
			u.scores[i] = float64(float32(0.1 * float64(len(p.text)-1)))
		}
		if p.kind == pieceNormal || p.kind == pieceUser {
			u.trie.add(p.text, int32(i))
			u.longest = max(u.longest, len(p.text), utf8.UTFMax)
		}
	}
	return u, nil
}

// spNormalizer is the normalization of SentencePiece: replacements by the
// longest string of a table, one space for several, and ▁ for spaces.
type spNormalizer struct {
	table            *precompiled // nil: characters stay
	user             *finder      // pieces of the user, which stay as they are
	prefix, collapse bool
}

func (n *spNormalizer) normalize(t *text, w *writer) error {
	old := t.b
	w.begin(t)
	if n.collapse {
		for w.pos < len(old) {
			s, size := n.next(old[w.pos:])
			if s != " " {
				break
			}
			w.skip(size)
		}
	}
	if n.prefix && w.pos < len(old) {
		w.put(wordStart, w.pos, w.pos+charLength(stringOf(old[w.pos:])))
	}
	for space := n.collapse; w.pos < len(old); {
		s, size := n.next(old[w.pos:])
		for space && strings.HasPrefix(s, " ") {
			s = s[1:]
		}
		if s != "" {
			w.put(strings.ReplaceAll(s, " ", wordStart), w.pos, w.pos+size)
			space = n.collapse && strings.HasSuffix(s, " ")
		}
		w.skip(size)
	}
	for n.collapse && strings.HasSuffix(stringOf(w.dst), wordStart) {
		w.drop(len(wordStart))
	}
	w.end()
	return nil
}

// next returns what stands for the start of b, and how long that start is.
func (n *spNormalizer) next(b []byte) (string, int) {
	if which, size := n.user.trie.longest(0, b); which >= 0 {
		return stringOf(b[:size]), size
	}
	if n.table != nil {
		if s, size, ok := n.table.longest(b); ok {
			return s, size
		}
	}
	_, size := utf8.DecodeRune(b)
	return stringOf(b[:size]), size
}

// spDecoder makes text of pieces.
type spDecoder struct {
	m     *spModel
	kinds map[string]uint64
}

func (d *spDecoder) decode(parts []string) ([]string, error) {
	var out strings.Builder
	var run []byte
	start := d.m.prefix || d.m.collapse // a space in front is not of the text
	for _, s := range parts {
		if d.kinds[s] == pieceByte {
			if c, ok := byteToken(s); ok {
				run = append(run, c)
				continue
			}
		}
		writeBytes(&out, run)
		run = run[:0]
		start = d.piece(&out, s, start)
	}
	writeBytes(&out, run)
	return []string{out.String()}, nil
}

// piece writes the text of a piece, and returns whether a space at the start
// of the next one would still be dropped.
func (d *spDecoder) piece(out *strings.Builder, s string, start bool) bool {
	switch d.kinds[s] {
	case pieceControl:
		return start
	case pieceUnknown:
		out.WriteString(d.m.unk)
		return start
	}
	if start && out.Len() == 0 {
		rest, ok := strings.CutPrefix(s, wordStart)
		s, start = rest, !ok || d.m.collapse
	}
	out.WriteString(strings.ReplaceAll(s, wordStart, " "))
	return start
}

// writeBytes writes bytes as characters, each that is of none as U+FFFD.
func writeBytes(out *strings.Builder, b []byte) {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		out.WriteRune(r)
		b = b[n:]
	}
}
