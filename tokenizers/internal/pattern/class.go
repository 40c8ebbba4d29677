package pattern

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// ranges is a set of code points: pairs of first and last, ascending, with gaps
// between them.
type ranges []rune

// of returns the ranges of Unicode tables.
func of(tables ...*unicode.RangeTable) ranges {
	var r ranges
	for _, t := range tables {
		for _, x := range t.R16 {
			r = r.stride(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
		for _, x := range t.R32 {
			r = r.stride(rune(x.Lo), rune(x.Hi), rune(x.Stride))
		}
	}
	return r.tidy()
}

func (r ranges) stride(lo, hi, stride rune) ranges {
	if stride == 1 {
		return append(r, lo, hi)
	}
	for c := lo; c <= hi; c += stride {
		r = append(r, c, c)
	}
	return r
}

// tidy sorts pairs and joins those that touch.
func (r ranges) tidy() ranges {
	pairs := make([][2]rune, 0, len(r)/2)
	for i := 0; i < len(r); i += 2 {
		pairs = append(pairs, [2]rune{r[i], r[i+1]})
	}
	slices.SortFunc(pairs, func(a, b [2]rune) int { return int(a[0] - b[0]) })
	var out ranges
	for _, p := range pairs {
		if n := len(out); n > 0 && p[0] <= out[n-1]+1 {
			out[n-1] = max(out[n-1], p[1])
			continue
		}
		out = append(out, p[0], p[1])
	}
	return out
}

// not returns all other code points.
func (r ranges) not() ranges {
	var out ranges
	next := rune(0)
	for i := 0; i < len(r); i += 2 {
		if r[i] > next {
			out = append(out, next, r[i]-1)
		}
		next = r[i+1] + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, next, unicode.MaxRune)
	}
	return out
}

// and returns the code points of both.
func (r ranges) and(s ranges) ranges {
	return append(slices.Clone(r.not()), s.not()...).tidy().not()
}

// fold adds what differs from a member in case only.
func (r ranges) fold() ranges {
	out := slices.Clone(r)
	for i := 0; i < len(r); i += 2 {
		if r[i+1]-r[i] > 1<<10 {
			continue // classes of scripts and categories are not folded
		}
		for c := r[i]; c <= r[i+1]; c++ {
			for f := unicode.SimpleFold(c); f != c; f = unicode.SimpleFold(f) {
				out = append(out, f, f)
			}
		}
	}
	return out.tidy()
}

// class is a set of code points that is quick to ask: bits of ASCII, and of
// pages of 256 code points, or the ranges themselves if they are few.
type class struct {
	ascii [utf8.RuneSelf]bool
	few   ranges
	pages []*page
}

// fewRanges is up to how many ends of ranges a class has no pages.
const fewRanges = 6

type page [4]uint64

var emptyPage, fullPage = &page{}, &page{^uint64(0), ^uint64(0), ^uint64(0), ^uint64(0)}

func newClass(r ranges) *class {
	c := &class{few: r}
	if len(r) > fewRanges {
		c.pages = slices.Repeat([]*page{emptyPage}, (unicode.MaxRune+1)>>8)
		for i := 0; i < len(r); i += 2 {
			c.add(r[i], r[i+1])
		}
	}
	for i := range c.ascii {
		c.ascii[i] = c.wide(rune(i))
	}
	return c
}

func (c *class) add(lo, hi rune) {
	for p := lo >> 8; p <= hi>>8; p++ {
		first, last := max(lo, p<<8)&255, min(hi, p<<8+255)&255
		if first == 0 && last == 255 {
			c.pages[p] = fullPage
			continue
		}
		if c.pages[p] == emptyPage {
			c.pages[p] = &page{}
		}
		for x := first; x <= last; x++ {
			c.pages[p][x>>6] |= 1 << (x & 63)
		}
	}
}

// wide reports whether r, which may be ASCII, is in the set.
func (c *class) wide(r rune) bool {
	if c.pages != nil {
		return c.pages[r>>8][r>>6&3]>>(r&63)&1 != 0
	}
	for i := 0; i < len(c.few); i += 2 {
		if r >= c.few[i] && r <= c.few[i+1] {
			return true
		}
	}
	return false
}

// next returns the length of the character at the start of b if it is in the
// set, and 0 if it is not or b is empty.
func (c *class) next(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	if b[0] < utf8.RuneSelf {
		if c.ascii[b[0]] {
			return 1
		}
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if !c.wide(r) {
		return 0
	}
	return n
}

// run returns the length of the characters at the start of b, at most limit of
// them, that are in the set, and their number.
func (c *class) run(b []byte, limit int) (length, count int) {
	for length < len(b) && count < limit {
		if x := b[length]; x < utf8.RuneSelf {
			if !c.ascii[x] {
				return length, count
			}
			length++
			count++
			continue
		}
		r, n := utf8.DecodeRune(b[length:])
		if !c.wide(r) {
			return length, count
		}
		length += n
		count++
	}
	return length, count
}

var (
	space    = of(unicode.White_Space)
	digit    = categories("Nd")
	wordBase = append(categories("L", "M", "Nd", "Nl", "Pc"), of(unicode.Other_Alphabetic)...).tidy()
	// word is \w of Oniguruma, which has superscripts and fractions of Latin-1, too, but not in
	// brackets.
	word = append(ranges{0xB2, 0xB3, 0xB9, 0xB9, 0xBC, 0xBE}, wordBase...).tidy()
	// wordRust is \w of Rust's package regex, which the reference uses in places.
	wordRust = append(of(unicode.Join_Control), wordBase...).tidy()
)

var wordClass = newClass(wordRust)

// IsWord reports whether \w of Rust's package regex matches a character.
func IsWord(r rune) bool { return wordClass.wide(r) }
