package tokenizers

import (
	"fmt"
	"strings"
	"unsafe"
)

// vocab is what a model calls its tokens.
type vocab struct {
	ids    map[string]int32
	tokens []string
	known  []bool // which ids have a token
}

// Ids that a vocabulary of n tokens may have: gaps are allowed, as published
// ones have some, and no id that would take memory for nothing.
const (
	idsPerToken = 8
	freeIDs     = 1 << 18
)

// newVocab returns a vocabulary of tokens and their ids.
func newVocab(ids map[string]int64) (*vocab, error) {
	v := &vocab{ids: make(map[string]int32, len(ids))}
	top := int64(-1)
	for token, id := range ids {
		if id < 0 || id >= int64(idsPerToken*len(ids)+freeIDs) {
			return nil, fmt.Errorf("token %q has id %d, which is out of range for a vocabulary of %d",
				token, id, len(ids))
		}
		top = max(top, id)
		v.ids[token] = int32(id)
	}
	v.tokens, v.known = make([]string, top+1), make([]bool, top+1)
	for token, id := range v.ids {
		if v.known[id] {
			return nil, fmt.Errorf("tokens %q and %q have the same id %d", v.tokens[id], token, id)
		}
		v.tokens[id], v.known[id] = token, true
	}
	return v, nil
}

// token returns the token of an id.
func (v *vocab) token(id int32) (string, bool) {
	if id < 0 || int(id) >= len(v.tokens) || !v.known[id] {
		return "", false
	}
	return v.tokens[id], true
}

// id returns the id of a token, -1 if it has none.
func (v *vocab) id(token string) int32 {
	if id, ok := v.ids[token]; ok {
		return id
	}
	return -1
}

// byteTokens returns the ids of <0x00> to <0xFF>, -1 for those that are missing.
func (v *vocab) byteTokens() *[256]int32 {
	var ids [256]int32
	for i := range ids {
		ids[i] = v.id(fmt.Sprintf("<0x%02X>", i))
	}
	return &ids
}

// stringOf returns bytes that nobody changes any more as a string.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// byteRunes is the alphabet of byte-level models: a printable character for
// each byte, that of Latin-1 where it is one, else one from U+0100 on (GPT-2).
var byteRunes = func() (t [256]rune) {
	next := rune(256)
	for b := range t {
		switch {
		case b >= '!' && b <= '~', b >= 0xA1 && b <= 0xAC, b >= 0xAE:
			t[b] = rune(b)
		default:
			t[b] = next
			next++
		}
	}
	return t
}()

// runeBytes is the inverse of byteRunes, -1 where there is none.
var runeBytes = func() (t [324]int16) {
	for i := range t {
		t[i] = -1
	}
	for b, r := range byteRunes {
		t[r] = int16(b)
	}
	return t
}()

// byteString returns bytes in the byte-level alphabet.
func byteString(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(byteRunes[c])
	}
	return s.String()
}

// appendBytes appends what a token of the byte-level alphabet stands for, or
// the token itself if it is not in that alphabet.
func appendBytes(dst []byte, token string) []byte {
	n := len(dst)
	for _, r := range token {
		if int(r) >= len(runeBytes) || runeBytes[r] < 0 {
			return append(dst[:n], token...)
		}
		dst = append(dst, byte(runeBytes[r]))
	}
	return dst
}
