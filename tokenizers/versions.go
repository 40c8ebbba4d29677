package tokenizers

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// The reference has characters as several versions of Unicode know them: 8 in what it does for
// BERT, 9 for accents and scripts, 16 in regular expressions, which package pattern follows, and 17
// for lower case and digits. Those that came later count as not assigned.
var unicode8, unicode9 = rangetable.Assigned("8.0.0"), rangetable.Assigned("9.0.0")

// isMark is that of StripAccents.
func isMark(r rune) bool {
	switch r { // of another category in that version
	case 0x1CF2, 0x1CF3:
		return true
	case 0x111C9:
		return false
	}
	return r >= 0x300 && unicode.Is(unicode.M, r) && unicode.Is(unicode9, r)
}

// isNonspacing is that of a mark in BertNormalizer.
func isNonspacing(r rune) bool {
	switch r { // of another category in that version
	case 0x1734:
		return true
	case 0x1885, 0x1886, 0xA9BD, 0x111C9:
		return false
	}
	return r >= 0x300 && unicode.Is(unicode.Mn, r) && unicode.Is(unicode8, r)
}

// isOther reports whether BertNormalizer takes a character for a control, format or private one.
func isOther(r rune) bool { return unicode.Is(unicode.C, r) && unicode.Is(unicode8, r) }

// punctuation is the class of BertPreTokenizer and Punctuation, as a pattern.
func punctuation() string {
	var set strings.Builder
	set.WriteString("[!-/:-@\\[-`{-~\\x{166D}")
	each := func(lo, hi, stride rune) {
		for c := lo; c <= hi; c += stride {
			if unicode.Is(unicode8, c) {
				fmt.Fprintf(&set, "\\x{%X}", c)
			}
		}
	}
	for _, r := range unicode.P.R16 {
		each(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range unicode.P.R32 {
		each(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return set.String() + "\\x{111C9}]"
}

// toLower is that of Rust.
func toLower(r rune) rune {
	switch {
	case r < 0x1C89:
	case r == 0x1C89, r == 0xA7CC, r == 0xA7CE, r == 0xA7D2, r == 0xA7D4, r == 0xA7DA:
		return r + 1
	case r == 0xA7CB:
		return 0x264
	case r == 0xA7DC:
		return 0x19B
	case r >= 0x10D50 && r <= 0x10D65:
		return r + 0x20
	case r >= 0x16EA0 && r <= 0x16EB8:
		return r + 0x1B
	}
	return unicode.ToLower(r)
}
