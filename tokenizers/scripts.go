package tokenizers

import (
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"
)

// scripts splits where the script changes. Spaces have none, and the scripts of
// Japanese count as one with that of Chinese, as SentencePiece has it.
type scripts struct{}

// anyScript is that of spaces and of characters that have none.
const anyScript = ""

type scriptRange struct {
	lo, hi rune
	name   string
}

// scriptTable has the scripts of all characters, ascending.
var scriptTable = sync.OnceValue(func() []scriptRange {
	var t []scriptRange
	for name, table := range unicode.Scripts {
		for _, r := range table.R16 {
			t = appendStride(t, rune(r.Lo), rune(r.Hi), rune(r.Stride), name)
		}
		for _, r := range table.R32 {
			t = appendStride(t, rune(r.Lo), rune(r.Hi), rune(r.Stride), name)
		}
	}
	slices.SortFunc(t, func(a, b scriptRange) int { return int(a.lo - b.lo) })
	return t
})

func appendStride(t []scriptRange, lo, hi, stride rune, name string) []scriptRange {
	if stride == 1 {
		return append(t, scriptRange{lo, hi, name})
	}
	for c := lo; c <= hi; c += stride {
		t = append(t, scriptRange{c, c, name})
	}
	return t
}

func scriptOf(r rune) string {
	switch r {
	case 'ー':
		return "Han"
	case ' ':
		return anyScript
	}
	if !unicode.Is(unicode9, r) {
		return anyScript
	}
	t := scriptTable()
	i, ok := slices.BinarySearchFunc(t, r, func(s scriptRange, r rune) int {
		if s.hi < r {
			return -1
		}
		return int(min(max(s.lo-r, 0), 1))
	})
	if !ok {
		return anyScript
	}
	if t[i].name == "Hiragana" || t[i].name == "Katakana" {
		return "Han"
	}
	return t[i].name
}

func (scripts) split(t *text, s *state) error {
	s.pieces = s.pieces[:0]
	for _, piece := range t.pieces {
		last := anyScript
		start := int32(-1) // what is in front of the first script goes, as in the reference
		for i := piece.lo; i < piece.hi; {
			r, n := utf8.DecodeRune(t.b[i:piece.hi])
			if name := scriptOf(r); name != anyScript && name != last {
				if start >= 0 {
					s.pieces = append(s.pieces, span{start, i})
				}
				start, last = i, name
			}
			i += int32(n)
		}
		if start >= 0 {
			s.pieces = append(s.pieces, span{start, piece.hi})
		}
	}
	t.pieces, s.pieces = s.pieces, t.pieces
	return nil
}
