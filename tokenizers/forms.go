package tokenizers

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unicodeForm is one of Unicode's normal forms (Unicode standard annex 15).
type unicodeForm norm.Form

func (f unicodeForm) normalize(t *text, w *writer) error {
	form := norm.Form(f)
	n := form.QuickSpan(t.b)
	if n == len(t.b) {
		return nil
	}
	w.begin(t)
	for old := t.b; ; n = form.QuickSpan(old[w.pos:]) {
		w.copy(n)
		if w.pos == len(old) {
			break
		}
		f.segment(w, clusterLength(form, old[w.pos:]))
	}
	w.end()
	return nil
}

// clusterLength returns the length of the first character and all that can change with it: also of
// more marks than the 30 that package norm takes in one.
func clusterLength(form norm.Form, b []byte) int {
	_, n := utf8.DecodeRune(b)
	for n < len(b) {
		p := form.Properties(b[n:])
		if p.BoundaryBefore() {
			break
		}
		n += p.Size()
	}
	return n
}

// formed is a character of a normal form, and which characters of the text it is for: 1 is that of
// the character before, and no more; 0 the next one; -n the next one and n behind it. These are
// given out in order, as in the reference, also where marks change places.
type formed struct {
	r      rune
	change int
	class  uint8
}

// segment writes the normal form of the next n bytes, a base and its marks.
func (f unicodeForm) segment(w *writer, n int) {
	form := norm.Form(f)
	list := decompose(form, w.t.b[w.pos:w.pos+n])
	if form == norm.NFC || form == norm.NFKC {
		list = compose(list)
	}
	w.transform(list, n)
}

// transform writes characters for the next n bytes.
func (w *writer) transform(list []formed, n int) {
	end := w.pos + n
	for _, c := range list {
		from := w.pos
		if c.change > 0 {
			_, size := utf8.DecodeLastRune(w.t.b[:from])
			w.putRune(c.r, from-size, from)
			continue
		}
		_, size := utf8.DecodeRune(w.t.b[from:end])
		w.putRune(c.r, from, from+size)
		for w.skip(size); c.change < 0; c.change++ {
			_, size := utf8.DecodeRune(w.t.b[w.pos:end])
			w.skip(size)
		}
	}
	w.skip(end - w.pos)
}

// decompose returns the decomposed characters of b, marks in their order.
func decompose(form norm.Form, b []byte) []formed {
	full := norm.NFD
	if form == norm.NFKC || form == norm.NFKD {
		full = norm.NFKD
	}
	var list []formed
	start := 0 // of marks that are not sorted yet
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		parts := b[:n]
		if !unicode.Is(laterForms, r) {
			parts = full.Bytes(b[:n])
		}
		for change := 0; len(parts) > 0; change = 1 {
			r, k := utf8.DecodeRune(parts)
			class := full.Properties(parts).CCC()
			if class == 0 {
				sortMarks(list[start:])
				start = len(list) + 1
			}
			list = append(list, formed{r, change, class})
			parts = parts[k:]
		}
		b = b[n:]
	}
	sortMarks(list[min(start, len(list)):])
	return list
}

func sortMarks(list []formed) {
	slices.SortStableFunc(list, func(a, b formed) int { return int(a.class) - int(b.class) })
}

// compose joins decomposed characters.
func compose(list []formed) []formed {
	out := list[:0]
	base, last := -1, uint8(0) // the base in out, and the class of the mark behind it that stays
	for _, c := range list {
		if base >= 0 && (last < c.class || len(out) == base+1) {
			if r, ok := composed(out[base].r, c.r); ok {
				out[base].r = r
				out[base].change += c.change - 1
				continue
			}
		}
		if c.class == 0 {
			base, last = len(out), 0
		} else {
			last = c.class
		}
		out = append(out, c)
	}
	return out
}

// composed returns the character that two make.
func composed(a, b rune) (rune, bool) {
	var buf [2 * utf8.UTFMax]byte
	pair := norm.NFC.Bytes(utf8.AppendRune(utf8.AppendRune(buf[:0], a), b))
	r, n := utf8.DecodeRune(pair)
	return r, n == len(pair) && !unicode.Is(laterForms, r)
}

// laterForms have decompositions since a version of Unicode behind that of the reference, 9.
var laterForms = &unicode.RangeTable{
	R16: []unicode.Range16{{0x32FF, 0x32FF, 1}, {0xA7F2, 0xA7F4, 1}, {0xAB69, 0xAB69, 1}},
	R32: []unicode.Range32{{0x10781, 0x10785, 1}, {0x10787, 0x107B0, 1}, {0x107B2, 0x107BA, 1},
		{0x11938, 0x11938, 1}, {0x1E030, 0x1E06D, 1}, {0x1F16C, 0x1F16C, 1}, {0x1FBF0, 0x1FBF9, 1}},
}
