package input

import "bytes"

// essence returns a source text without what cannot matter to a kernel or to the
// positions in it: the words of comments that run to the end of their line. Directives
// stay (//kiln:kernel, //go:build, //line), and so do the line's end and comments in
// the middle of a line, since other text on the line has its column behind them.
func essence(text []byte) []byte { return appendEssence(make([]byte, 0, len(text)), text) }

// appendEssence appends the essence of a text.
func appendEssence(out, text []byte) []byte {
	begin := len(out)
	for len(text) > 0 {
		plain := 0
		for plain < len(text) && !opens[text[plain]] {
			plain++
		}
		out, text = append(out, text[:plain]...), text[plain:]
		if len(text) == 0 {
			break
		}
		piece := text[:lexeme(text)]
		if text = text[len(piece):]; len(piece) > 1 && piece[0] == '/' && piece[1] == '/' && !directive(piece) {
			out = append(out[:begin], bytes.TrimRight(out[begin:], " \t")...) // gofmt aligns comments
		} else {
			out = append(out, piece...)
		}
	}
	return out
}

// opens has the bytes that comments and quoted texts begin with.
var opens = [256]bool{'/': true, '`': true, '"': true, '\'': true}

// lexeme returns the length of the comment or the quoted text that b begins with, or 1.
func lexeme(b []byte) int {
	switch {
	case bytes.HasPrefix(b, []byte("//")):
		return until(b, 0, "\n")
	case bytes.HasPrefix(b, []byte("/*")):
		n := until(b, 2, "*/")
		return min(n+2, len(b))
	case b[0] == '`':
		return min(until(b, 1, "`")+1, len(b))
	case b[0] == '"' || b[0] == '\'':
		for i := 1; i < len(b); i++ {
			switch b[i] {
			case '\\':
				i++
			case b[0]:
				return i + 1
			case '\n': // not Go; the parser will say so
				return i
			}
		}
		return len(b)
	}
	return 1
}

// until returns where the first end in b[from:] begins, or the length of b.
func until(b []byte, from int, end string) int {
	if i := bytes.Index(b[from:], []byte(end)); i >= 0 {
		return from + i
	}
	return len(b)
}

// directive reports whether a comment is for a tool: //name:, without a space.
func directive(comment []byte) bool {
	word, _, _ := bytes.Cut(comment[2:], []byte(" "))
	return bytes.HasPrefix(comment, []byte("//line ")) ||
		bytes.HasPrefix(bytes.TrimLeft(comment[2:], " \t"), []byte("+build")) || bytes.Contains(word, []byte(":"))
}
