package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gokiln/kiln/tokenizers"
)

// Vocabulary is the bytes of all tokens. It is made once for a tokenizer.
type Vocabulary struct {
	bytes [][]byte // nil for tokens that are not text
	ends  []int32
}

// NewVocabulary asks a tokenizer for its tokens, of which there are n: as many as a model has
// logits. Ends are those that end a text.
func NewVocabulary(t *tokenizers.Tokenizer, ends []int32, n int) (*Vocabulary, error) {
	if n < 0 || n > 1<<24 {
		return nil, bad("a vocabulary of %d tokens", n)
	}
	v := &Vocabulary{bytes: make([][]byte, n), ends: ends}
	anchor, front := anchor(t, n)
	for id := range int32(n) {
		if _, ok := t.Token(id); ok && !t.IsSpecial(id) {
			v.bytes[id] = bytesOf(t, id, anchor, front)
		}
	}
	return v, nil
}

// anchor is a token that is put in front of others, as decoders treat the first one in another way,
// and its text.
func anchor(t *tokenizers.Tokenizer, n int) (ids []int32, text string) {
	for id := range int32(n) {
		if s, err := t.Decode([]int32{id}, false); err == nil && len(s) == 1 && s[0] > ' ' && s[0] < 0x7F {
			return []int32{id}, s
		}
	}
	return nil, ""
}

// bytesOf is what a token adds to a text, nil if that is not known.
func bytesOf(t *tokenizers.Tokenizer, id int32, anchor []int32, front string) []byte {
	text, err := t.Decode(append(slices.Clone(anchor), id), false)
	if err != nil {
		return nil
	}
	text, ok := strings.CutPrefix(text, front)
	if ok && !strings.ContainsRune(text, utf8.RuneError) {
		return []byte(text)
	}
	// It is a part of a character: as a byte of SentencePiece, or in GPT-2's letters for bytes.
	token, _ := t.Token(id)
	if hex, ok := strings.CutPrefix(token, "<0x"); ok && len(hex) == 3 && hex[2] == '>' {
		if b, err := strconv.ParseUint(hex[:2], 16, 8); err == nil {
			return []byte{byte(b)}
		}
	}
	out := make([]byte, 0, len(token))
	for _, r := range token {
		b, ok := byteOf[r]
		if !ok {
			return nil
		}
		out = append(out, b)
	}
	return out
}

// byteOf is the bytes that GPT-2's letters stand for: printable ones for themselves, others for those
// from 256 on, in order.
var byteOf = func() map[rune]byte {
	m, extra := map[rune]byte{}, rune(256)
	for b := range 256 {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			m[rune(b)] = byte(b)
			continue
		}
		m[extra] = byte(b)
		extra++
	}
	return m
}()

// Constraint follows a grammar through one text: it implements that of package generate. It belongs
// to one goroutine.
type Constraint struct {
	a   *automaton
	v   *Vocabulary
	at  *state
	end bool
}

// Constrain returns a constraint at the beginning of a text.
func (g *Grammar) Constrain(v *Vocabulary) *Constraint {
	return &Constraint{a: g.lazy, v: v, at: g.lazy.start}
}

// Allowed says whether the text may go on with a token: with one that ends it where it may end.
// Behind the end those alone are allowed.
func (c *Constraint) Allowed(id int32) bool {
	if slices.Contains(c.v.ends, id) {
		return c.at.over
	}
	to := c.after(id)
	return to != nil && to != dead
}

// after is the state behind a token, nil if it is none of the vocabulary.
func (c *Constraint) after(id int32) *state {
	if id < 0 || int(id) >= len(c.v.bytes) || len(c.v.bytes[id]) == 0 || c.end {
		return nil
	}
	c.a.mu.Lock()
	defer c.a.mu.Unlock()
	s := c.at
	for _, b := range c.v.bytes[id] {
		if s = c.a.step(s, b); s == dead {
			break
		}
	}
	return s
}

// Accept goes on with a token.
func (c *Constraint) Accept(id int32) error {
	if slices.Contains(c.v.ends, id) && c.at.over {
		c.end = true
		return nil
	}
	to := c.after(id)
	if to == nil || to == dead {
		c.a.mu.Lock()
		defer c.a.mu.Unlock()
		if c.a.err != nil {
			return c.a.err
		}
		return fmt.Errorf("%w does not allow token %d", ErrGrammar, id)
	}
	c.at = to
	return nil
}

// Complete says whether the text may end here.
func (c *Constraint) Complete() bool { return c.at.over }

// Match says whether a whole text follows the grammar.
func (g *Grammar) Match(text string) bool {
	g.lazy.mu.Lock()
	defer g.lazy.mu.Unlock()
	s := g.lazy.start
	for i := range len(text) {
		s = g.lazy.step(s, text[i])
	}
	return s.over
}
