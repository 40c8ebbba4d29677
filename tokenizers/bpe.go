package tokenizers

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// bpe merges pairs of neighbouring tokens, the pair that was learnt first
// before others (Sennrich and others, 2016).
type bpe struct {
	*vocab
	merges       *table // left<<32|right: rank<<32|merged
	unk          int32  // -1: unknown characters are left out
	missing      string // the unknown token, if the vocabulary lacks it
	fuseUnk      bool
	ignoreMerges bool // a piece that is a token is that token, whatever merges say
	prefix       string
	suffix       string
	bytes        *[256]int32 // tokens of bytes for what is unknown, nil if there are none
	mapped       [256]int32  // tokens of the byte-level alphabet
	ascii        [utf8.RuneSelf]int32
	words        bool   // no merge goes over the start of a word
	newlines     bool   // line ends that are a token are that token, whatever merges say
	shown        *vocab // all tokens, if some cannot be merged
}

// wordStart is what SentencePiece puts for a space.
const wordStart = "▁"

// mergeRule is a pair of tokens to be merged.
type mergeRule struct{ left, right string }

type bpeOptions struct {
	unk, prefix, suffix                 string
	fuseUnk, byteFallback, ignoreMerges bool
}

func newBPE(v *vocab, merges []mergeRule, o bpeOptions) (*bpe, error) {
	m := &bpe{
		vocab: v, unk: -1, fuseUnk: o.fuseUnk, ignoreMerges: o.ignoreMerges,
		prefix: o.prefix, suffix: o.suffix, merges: newTable(len(merges)),
	}
	if o.unk != "" {
		if m.unk = v.id(o.unk); m.unk < 0 {
			m.missing = o.unk
		}
	}
	if o.byteFallback {
		m.bytes = v.byteTokens()
	}
	for i := range m.mapped {
		m.mapped[i] = v.id(string(byteRunes[i]))
	}
	for i := range m.ascii {
		m.ascii[i] = v.id(string(rune(i)))
	}
	for rank, rule := range merges {
		if err := m.addMerge(rank, rule); err != nil {
			return nil, err
		}
	}
	m.words = v.id(wordStart) >= 0 && m.wordsApart(merges)
	return m, nil
}

func (m *bpe) names() *vocab {
	if m.shown != nil {
		return m.shown
	}
	return m.vocab
}

func (m *bpe) addMerge(rank int, rule mergeRule) error {
	if len(rule.right) < len(m.prefix) {
		return fmt.Errorf("merge %d, %q %q: the second token is shorter than prefix %q",
			rank, rule.left, rule.right, m.prefix)
	}
	all := rule.left + rule.right[len(m.prefix):]
	a, b, c := m.id(rule.left), m.id(rule.right), m.id(all)
	for _, t := range []struct {
		id   int32
		name string
	}{{a, rule.left}, {b, rule.right}, {c, all}} {
		if t.id < 0 {
			return fmt.Errorf("merge %d, %q %q: token %q is not in the vocabulary",
				rank, rule.left, rule.right, t.name)
		}
	}
	m.merges.set(pairKey(a, b), uint64(rank)<<32|uint64(c))
	return nil
}

func pairKey(a, b int32) uint64 { return uint64(a)<<32 | uint64(b) }

// wordsApart reports whether no merge makes a token in which a word starts
// behind something else. Pieces can then be split there without changing their
// tokens, and words be remembered.
func (m *bpe) wordsApart(merges []mergeRule) bool {
	if m.prefix != "" || m.suffix != "" || m.ignoreMerges {
		return false
	}
	for _, r := range merges {
		if crossesWord(r.left + r.right) {
			return false
		}
	}
	return true
}

func crossesWord(token string) bool {
	return strings.Contains(strings.TrimLeft(token, wordStart), wordStart)
}

func (m *bpe) tokenize(dst []tok, s *state, piece []byte, mapped bool) ([]tok, error) {
	if !m.words || mapped || len(piece) <= cacheKey {
		return m.merge(dst, s, piece, mapped)
	}
	for pos := 0; pos < len(piece); {
		end := pos + wordLength(piece[pos:])
		n := len(dst)
		var err error
		if end-pos > cacheKey {
			dst, err = m.merge(dst, s, piece[pos:end], false)
		} else {
			dst, err = s.remembered(m, dst, piece[pos:end], false)
		}
		if err != nil {
			return dst, err
		}
		for i := n; i < len(dst); i++ {
			dst[i].lo += int32(pos)
			dst[i].hi += int32(pos)
		}
		pos = end
	}
	return dst, nil
}

// wordLength returns the length of what b starts with up to the next word.
func wordLength(b []byte) int {
	n := 0
	for bytes.HasPrefix(b[n:], []byte(wordStart)) {
		n += len(wordStart)
	}
	if k := bytes.Index(b[n:], []byte(wordStart)); k >= 0 {
		return n + k
	}
	return len(b)
}

// merge is tokenize of one piece.
func (m *bpe) merge(dst []tok, s *state, piece []byte, mapped bool) ([]tok, error) {
	if m.ignoreMerges || m.newlines && len(bytes.Trim(piece, "\n")) == 0 {
		if id := m.whole(s, piece, mapped); id >= 0 {
			return append(dst, tok{id, 0, int32(len(piece))}), nil
		}
	}
	n := len(dst)
	var err error
	if mapped && m.prefix == "" && m.suffix == "" {
		dst, err = m.byteSymbols(dst, piece)
	} else {
		if mapped {
			return m.mapAndMerge(dst, s, piece)
		}
		dst, err = m.symbols(dst, piece)
	}
	if err != nil {
		return dst, err
	}
	k := s.merger.run(m.merges, dst[n:])
	return dst[:n+k], nil
}

// whole returns the token that a piece is, or -1.
func (m *bpe) whole(s *state, piece []byte, mapped bool) int32 {
	if mapped {
		s.scratch = s.scratch[:0]
		for _, c := range piece {
			s.scratch = utf8.AppendRune(s.scratch, byteRunes[c])
		}
		piece = s.scratch
	}
	if id, ok := m.ids[string(piece)]; ok {
		return id
	}
	return -1
}

// mapAndMerge puts characters of the byte-level alphabet for bytes, which
// models with prefixes or suffixes want to see, and takes positions back.
func (m *bpe) mapAndMerge(dst []tok, s *state, piece []byte) ([]tok, error) {
	text := byteString(piece)
	at := make([]int32, len(text)+1)
	i := int32(0)
	for pos := range text {
		at[pos] = i
		i++
	}
	at[len(text)] = i
	n := len(dst)
	dst, err := m.merge(dst, s, []byte(text), false)
	for j := n; j < len(dst); j++ {
		dst[j].lo, dst[j].hi = at[dst[j].lo], at[dst[j].hi]
	}
	return dst, err
}

// byteSymbols appends the token of each byte.
func (m *bpe) byteSymbols(dst []tok, piece []byte) ([]tok, error) {
	var err error
	fused := -1
	for i, c := range piece {
		if id := m.mapped[c]; id >= 0 {
			dst = append(dst, tok{id, int32(i), int32(i + 1)})
			continue
		}
		// The alphabet lacks the byte: it is an unknown character of its own.
		dst, err = m.unknown(dst, &fused, i, i+1, []byte(string(byteRunes[c])))
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// symbols appends the token of each character.
func (m *bpe) symbols(dst []tok, piece []byte) ([]tok, error) {
	var err error
	fused := -1
	plain := m.prefix == "" && m.suffix == ""
	for i := 0; i < len(piece); {
		size, id := 1, int32(-1)
		if c := piece[i]; c < utf8.RuneSelf && plain {
			id = m.ascii[c]
		} else {
			_, size = utf8.DecodeRune(piece[i:])
			id = m.symbol(piece, i, i+size, plain)
		}
		if id >= 0 {
			dst = append(dst, tok{id, int32(i), int32(i + size)})
		} else if dst, err = m.unknown(dst, &fused, i, i+size, piece[i:i+size]); err != nil {
			return dst, err
		}
		i += size
	}
	return dst, nil
}

func (m *bpe) symbol(piece []byte, lo, hi int, plain bool) int32 {
	if plain {
		if id, ok := m.ids[string(piece[lo:hi])]; ok {
			return id
		}
		return -1
	}
	name := string(piece[lo:hi])
	if lo > 0 {
		name = m.prefix + name
	}
	if hi == len(piece) {
		name += m.suffix
	}
	return m.id(name)
}

// unknown appends what stands for a character that has no token: those of its
// bytes, or the unknown one, joined with the unknown character before, which ends where fused says,
// if the model wants that.
func (m *bpe) unknown(dst []tok, fused *int, lo, hi int, char []byte) ([]tok, error) {
	if m.hasBytes(char) {
		for i, c := range char {
			at := min(lo+i, hi-1)
			dst = append(dst, tok{m.bytes[c], int32(at), int32(at + 1)})
		}
		return dst, nil
	}
	if m.missing != "" {
		return dst, fmt.Errorf("character %q: %w (%q)", char, errNoUnknown, m.missing)
	}
	if m.unk < 0 {
		return dst, nil
	}
	joins := m.fuseUnk && *fused == lo
	*fused = hi
	if joins {
		dst[len(dst)-1].hi = int32(hi)
		return dst, nil
	}
	return append(dst, tok{m.unk, int32(lo), int32(hi)}), nil
}

func (m *bpe) hasBytes(char []byte) bool {
	if m.bytes == nil {
		return false
	}
	for _, c := range char {
		if m.bytes[c] < 0 {
			return false
		}
	}
	return true
}

// noMerge is the rank of pairs that are not merged.
const noMerge = math.MaxUint64

func rankOf(t *table, a, b int32) uint64 {
	if v, ok := t.get(pairKey(a, b)); ok {
		return v
	}
	return noMerge
}
