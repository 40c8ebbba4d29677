package tokenizers

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// model makes tokens of pieces.
type model interface {
	// tokenize appends the tokens of a piece to dst. If mapped, each byte of it stands for a
	// character of the byte-level alphabet; only a byte-pair model is asked for that.
	tokenize(dst []tok, s *state, piece []byte, mapped bool) ([]tok, error)
	// names returns the vocabulary.
	names() *vocab
}

var errNoUnknown = errors.New("the model has no token for unknown characters")

// wordLevel has a token for each word.
type wordLevel struct {
	*vocab
	unk string
}

func (m *wordLevel) names() *vocab { return m.vocab }

func (m *wordLevel) tokenize(dst []tok, _ *state, piece []byte, _ bool) ([]tok, error) {
	id, ok := m.ids[string(piece)]
	if !ok {
		if id, ok = m.ids[m.unk]; !ok {
			return dst, fmt.Errorf("word %.40q: %w (%q)", piece, errNoUnknown, m.unk)
		}
	}
	return append(dst, tok{id, 0, int32(len(piece))}), nil
}

// wordPiece takes the longest token of the rest of a word again and again
// (Schuster and Nakajima, 2012). Tokens behind the first have a prefix.
type wordPiece struct {
	*vocab
	unk      string
	maxChars int
	trie     *trie
	behind   int32 // the node of the prefix, from which tokens behind the first go on
	never    bool  // no token has the prefix
}

func newWordPiece(v *vocab, unk, prefix string, maxChars int) *wordPiece {
	m := &wordPiece{vocab: v, unk: unk, maxChars: maxChars, trie: newTrie(len(v.ids))}
	for token, id := range v.ids {
		if token != "" {
			m.trie.add(token, id)
		}
	}
	for i := range len(prefix) {
		if m.behind = m.trie.step(m.behind, prefix[i]); m.behind == 0 {
			m.never = true
			break
		}
	}
	return m
}

func (m *wordPiece) names() *vocab { return m.vocab }

func (m *wordPiece) tokenize(dst []tok, _ *state, piece []byte, _ bool) ([]tok, error) {
	n := len(dst)
	long := len(piece) > m.maxChars && utf8.RuneCount(piece) > m.maxChars
	for pos, node := 0, int32(0); pos < len(piece); node = m.behind {
		id, length := m.trie.longest(node, piece[pos:])
		if length == 0 || long || pos > 0 && m.never {
			return m.unknown(dst[:n], piece)
		}
		dst = append(dst, tok{id, int32(pos), int32(pos + length)})
		pos += length
	}
	return dst, nil
}

// unknown makes one token of the whole word.
func (m *wordPiece) unknown(dst []tok, piece []byte) ([]tok, error) {
	id, ok := m.ids[m.unk]
	if !ok {
		return dst, fmt.Errorf("word %.40q: %w (%q)", piece, errNoUnknown, m.unk)
	}
	return append(dst, tok{id, 0, int32(len(piece))}), nil
}
