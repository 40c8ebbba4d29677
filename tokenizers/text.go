package tokenizers

import (
	"unicode/utf8"
)

// span is a range of bytes of the original text.
type span struct{ lo, hi int32 }

// text is a part of the input that normalizers change and pre-tokenizers split into pieces, of each of
// which a model makes tokens.
type text struct {
	b []byte
	// at has the bytes of the original that each byte of b is from. If it is nil, b is the
	// original from base on.
	at     []span
	base   int32
	pieces []span // ranges of b
	mapped bool   // characters of the byte-level alphabet are still to be put for bytes
}

// origin returns the bytes of the original that byte i of the text is from:
// those of the whole character.
func (t *text) origin(i int) span {
	if t.at != nil {
		return t.at[i]
	}
	lo := i
	for lo > 0 && i-lo < utf8.UTFMax-1 && !utf8.RuneStart(t.b[lo]) {
		lo--
	}
	_, n := utf8.DecodeRune(t.b[lo:])
	return span{t.base + int32(lo), t.base + int32(max(lo+n, i+1))}
}

// sub returns the part of t from lo to hi.
func (t *text) sub(lo, hi int) text {
	s := text{b: t.b[lo:hi], base: t.base + int32(lo)}
	if t.at != nil {
		s.at = t.at[lo:hi]
	}
	return s
}

// writer makes a new version of a text. It goes through the old one with a
// cursor, so that each new byte knows which of the original it is from.
type writer struct {
	bufs  [2][]byte
	ats   [2][]span
	turn  int
	track bool // whether origins are asked for

	t   *text
	dst []byte
	at  []span
	pos int // cursor in t.b
}

// begin starts a new version of t.
func (w *writer) begin(t *text) {
	w.turn ^= 1
	w.t, w.pos = t, 0
	w.dst, w.at = w.bufs[w.turn][:0], w.ats[w.turn][:0]
}

// end puts the new version in the place of the old one.
func (w *writer) end() {
	w.bufs[w.turn], w.ats[w.turn] = w.dst, w.at
	w.t.b = w.dst
	w.t.at = nil
	if w.track {
		w.t.at = w.at
		if w.at == nil {
			w.t.at = []span{}
		}
	}
	w.t = nil
}

// copy takes the next n bytes over.
func (w *writer) copy(n int) {
	w.dst = append(w.dst, w.t.b[w.pos:w.pos+n]...)
	if w.track {
		for i := w.pos; i < w.pos+n; i++ {
			w.at = append(w.at, w.t.origin(i))
		}
	}
	w.pos += n
}

// skip leaves the next n bytes out.
func (w *writer) skip(n int) { w.pos += n }

// put writes s as standing for the bytes from..to of the old text.
func (w *writer) put(s string, from, to int) {
	w.dst = append(w.dst, s...)
	if !w.track {
		return
	}
	var o span
	if to > from {
		o = span{w.t.origin(from).lo, w.t.origin(to - 1).hi}
	} else if from > 0 {
		o = w.t.origin(from - 1)
	} else if len(w.t.b) > 0 {
		o.lo = w.t.origin(0).lo
		o.hi = o.lo
	}
	for range len(s) {
		w.at = append(w.at, o)
	}
}

// drop takes the last n bytes that were written back.
func (w *writer) drop(n int) {
	w.dst = w.dst[:len(w.dst)-n]
	if w.track {
		w.at = w.at[:len(w.at)-n]
	}
}

// putRune is put of a character.
func (w *writer) putRune(r rune, from, to int) {
	var buf [utf8.UTFMax]byte
	w.put(string(buf[:utf8.EncodeRune(buf[:], r)]), from, to)
}

// repaired appends text to dst with the replacement character in the place of
// each part that is not UTF-8, as the field's decoders do (Unicode 15, section
// 3.9, "substitution of maximal subparts").
func repaired(dst []byte, at []span, s string) ([]byte, []span) {
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			n = brokenLength(s[i:])
		}
		start := len(dst)
		dst = utf8.AppendRune(dst, r)
		for range len(dst) - start {
			at = append(at, span{int32(i), int32(i + n)})
		}
		i += n
	}
	return dst, at
}

// brokenLength returns how many of the bytes at the start of s, which is not
// UTF-8, one replacement character stands for: those that a character could
// have begun with.
func brokenLength[T string | []byte](s T) int {
	lo, hi, need := byte(0x80), byte(0xBF), 0
	switch c := s[0]; {
	case c >= 0xC2 && c <= 0xDF:
		need = 1
	case c >= 0xE0 && c <= 0xEF:
		need = 2
	case c >= 0xF0 && c <= 0xF4:
		need = 3
	}
	switch s[0] {
	case 0xE0:
		lo = 0xA0
	case 0xED:
		hi = 0x9F
	case 0xF0:
		lo = 0x90
	case 0xF4:
		hi = 0x8F
	}
	n := 1
	for n <= need && n < len(s) && s[n] >= lo && s[n] <= hi {
		lo, hi = 0x80, 0xBF
		n++
	}
	return n
}

// valid returns b as a string of UTF-8, with replacement characters as needed.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+8)
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			n = brokenLength(b[i:])
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return string(out)
}
