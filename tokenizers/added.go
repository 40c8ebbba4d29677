package tokenizers

import (
	"bytes"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/gokiln/kiln/tokenizers/internal/pattern"
)

// addedToken is a token that is found in the text before the model sees it.
type addedToken struct {
	ID         int64  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"`
	LStrip     bool   `json:"lstrip"`
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"`
	Special    bool   `json:"special"`
}

// Bounds of added tokens; published files have thousands of short ones.
const (
	maxAdded        = 1 << 18
	maxAddedContent = 1 << 12 // bytes
)

// finder finds added tokens.
type finder struct {
	trie   *trie
	tokens []addedToken
	first  [256]bool
	only   int // the byte that all tokens start with, -1 if there are several, -2 if there is none
}

func newFinder() *finder { return &finder{trie: newTrie(16), only: -2} }

// add adds a token that is found where content, its normal form, is.
func (f *finder) add(t addedToken, content string) {
	if content == "" {
		return
	}
	f.trie.add(content, int32(len(f.tokens)))
	f.tokens = append(f.tokens, t)
	c := int(content[0])
	f.first[c] = true
	if f.only == -2 {
		f.only = c
	} else if f.only != c {
		f.only = -1
	}
}

// found is an added token in a text, or a part between them if id is -1.
type found struct {
	span
	id int32
}

// find appends the added tokens of b and what is between them.
func (f *finder) find(dst []found, b []byte, ignoreSpecial bool) []found {
	end := 0
	for pos := f.seek(b, 0); pos < len(b); {
		which, n := f.trie.longest(0, b[pos:])
		if which < 0 {
			pos = f.seek(b, pos+1)
			continue
		}
		t := &f.tokens[which]
		lo, hi := pos, pos+n
		pos = f.seek(b, hi)
		if ignoreSpecial && t.Special || t.SingleWord && insideWord(b, lo, hi) {
			continue
		}
		if lo, hi = t.strip(b, lo, hi, end); lo >= hi {
			continue // it lies in the whitespace that the token before took in
		}
		if lo > end {
			dst = append(dst, found{span{int32(end), int32(lo)}, -1})
		}
		dst = append(dst, found{span{int32(lo), int32(hi)}, int32(t.ID)})
		end = hi
	}
	if end < len(b) {
		dst = append(dst, found{span{int32(end), int32(len(b))}, -1})
	}
	return dst
}

// seek returns the next position from pos on at which a token may start.
func (f *finder) seek(b []byte, pos int) int {
	if f.only == -2 || pos >= len(b) {
		return len(b)
	}
	if f.only >= 0 {
		if i := bytes.IndexByte(b[pos:], byte(f.only)); i >= 0 {
			return pos + i
		}
		return len(b)
	}
	for pos < len(b) && !f.first[b[pos]] {
		pos++
	}
	return pos
}

// strip takes the whitespace around a token in, but not what is before end.
func (t *addedToken) strip(b []byte, lo, hi, end int) (int, int) {
	if t.LStrip {
		lo = max(len(bytes.TrimRightFunc(b[:lo], unicode.IsSpace)), end)
	}
	if t.RStrip {
		hi = len(b) - len(bytes.TrimLeftFunc(b[hi:], unicode.IsSpace))
	}
	return lo, hi
}

func insideWord(b []byte, lo, hi int) bool {
	before, _ := utf8.DecodeLastRune(b[:lo])
	after, _ := utf8.DecodeRune(b[hi:])
	return lo > 0 && pattern.IsWord(before) || hi < len(b) && pattern.IsWord(after)
}

// addTokens makes the tokens of a file known.
func (t *Tokenizer) addTokens(tokens []addedToken) error {
	if len(tokens) > maxAdded {
		return fmt.Errorf("added_tokens: %d of them, more than %d", len(tokens), maxAdded)
	}
	for i, a := range tokens {
		if a.Content == "" {
			continue
		}
		if len(a.Content) > maxAddedContent {
			return fmt.Errorf("added_tokens[%d]: %d bytes, more than %d", i, len(a.Content),
				maxAddedContent)
		}
		limit := int64(idsPerToken*len(t.model.names().tokens) + freeIDs)
		if a.ID < 0 || a.ID >= limit {
			return fmt.Errorf("added_tokens[%d]: id %d of %q is out of range", i, a.ID, a.Content)
		}
		if id := t.model.names().id(a.Content); id >= 0 {
			a.ID = int64(id) // the model's own id wins, as in the reference
		} else if id, ok := t.addedIDs[a.Content]; ok {
			a.ID = int64(id) // and the first of the same content
		}
		t.added[int32(a.ID)] = a
		t.addedIDs[a.Content] = int32(a.ID)
		if err := t.addToFinder(a); err != nil {
			return fmt.Errorf("added_tokens[%d]: %w", i, err)
		}
	}
	return nil
}

// addToFinder normalizes a token if it is looked for in normalized text.
func (t *Tokenizer) addToFinder(a addedToken) error {
	if !a.Normalized {
		t.plain.add(a, a.Content)
		return nil
	}
	n := text{b: []byte(a.Content)}
	if t.normalizer != nil {
		if err := t.normalizer.normalize(&n, &writer{}); err != nil {
			return err
		}
	}
	form := string(n.b)
	if form != a.Content {
		t.forms[int32(a.ID)] = form
	}
	t.normal.add(a, form)
	return nil
}
