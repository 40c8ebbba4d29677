package pattern

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func find(t *testing.T, p *Pattern, s string) []string {
	ends, err := p.Find(nil, []byte(s))
	require.NoError(t, err)
	var out []string
	for i := 0; i < len(ends); i += 2 {
		out = append(out, s[ends[i]:ends[i+1]])
	}
	return out
}

// TestFind has what the golden files of package tokenizers, in which the
// reference runs Oniguruma, do not.
func TestFind(t *testing.T) {
	for _, c := range []struct {
		src, text string
		want      []string
	}{
		{`a{2}`, "aaaaa", []string{"aa", "aa"}},
		{`a{2,}?b`, "aaab ab", []string{"aaab"}},
		{`a{,2}b`, "aaab", []string{"aab"}},
		{`a{b`, "a{b", []string{"a{b"}},
		{`(?>a+)a`, "aaa", nil},
		{`a++a`, "aaa", nil},
		{`(?:ab){2}+c`, "ababc", []string{"ababc"}},
		{`(a*)*b`, "aab", []string{"aab"}},
		{`(?:a|)+b`, "aab", []string{"aab"}},
		{`((a*)*x)*b`, "aaxxb", []string{"aaxxb"}},
		{`(?:a|b)*?c`, "abc", []string{"abc"}},
		{`(?i)é`, "ÉeE", []string{"É"}},
		{`x(?i:y)z`, "xYz xyZ", []string{"xYz"}},
		{`[^\W\d_]+`, "a1b_c", []string{"a", "b", "c"}},
		{`[\x41-\u0043\x{44}]+`, "ABCDE", []string{"ABCD"}},
		{`[]a]+`, "]a", []string{"]a"}},
		{`[a\-z]+`, "a-bz", []string{"a-", "z"}},
		{`\p{Greek}+|\p{L=Lu}|\p{^L}`, "αβ1", []string{"αβ", "1"}},
		{`(?<name>a)(?=b)`, "ab ac", []string{"a"}},
		{`(?<!a)b`, "ab b", []string{"b"}},
		{`\bé`, "é eé", []string{"é"}},
		{`^a|b$`, "a\nab", []string{"a", "a", "b"}},
		{`\Aa|b\z`, "aa\nbb", []string{"a", "b"}},
		{`.+`, "ab\nc", []string{"ab", "c"}},
		{`(?m).+`, "ab\nc", []string{"ab\nc"}},
		{`x*`, "axxa", []string{"", "xx", ""}},
	} {
		p, err := Compile(c.src)
		require.NoError(t, err, c.src)
		require.Equal(t, c.want, find(t, p, c.text), c.src)
		require.Equal(t, c.src, p.String())
	}
}

func TestRust(t *testing.T) {
	p, err := CompileRust(`\p{N}{1,3}+|\s++$`)
	require.NoError(t, err)
	require.Equal(t, []string{"123", "4", " "}, find(t, p, "1234 \n5"[:5]))
	p, err = CompileRust(`b$`)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, find(t, p, "b\nb"))
}

func TestRefused(t *testing.T) {
	for src, want := range map[string]string{
		`a(`: "not closed", `a)`: "not opened", `[a`: "not closed", `*a`: "nothing to repeat",
		`\1`: `escape \1`, `(?<=ab)c`: "lookbehind", `\p{Klingon}`: `property "Klingon"`,
		`(?#x)`: "group (?#", `a{3,2}`: "out of range", `a{2000}`: "out of range", `\`: "backslash",
		`[z-a]`: "later character", `(?:(?:(?:ab){900}){900}){900}`: "larger than",
		strings.Repeat("(", 300): "nested", strings.Repeat("a", maxPattern+1): "longer",
		`[[:odd:]]`: "[:odd:]", "\xff": "UTF-8", `(?i`: "not closed", `\x{zz}`: "code point",
	} {
		_, err := Compile(src)
		require.ErrorContains(t, err, want, "%.40q", src)
	}
}

func TestBudget(t *testing.T) {
	p, err := Compile(`(a|aa)+(a|aa)+(a|aa)+c`)
	require.NoError(t, err)
	_, err = p.Find(nil, []byte(strings.Repeat("a", 2000)))
	require.ErrorIs(t, err, ErrBudget)
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{`(?:ab)+?c|[^a-z\p{L}]{2,3}`, `(?i)a(?=b)|(?<!x)y\b`, `((a*)*b)*`} {
		f.Add(s, "abcab xyz éÉ")
	}
	f.Fuzz(func(t *testing.T, src, text string) {
		p, err := Compile(src)
		if err != nil {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		ends, err := p.Find(nil, []byte(text))
		if err != nil {
			return
		}
		last := 0
		for i := 0; i < len(ends); i += 2 {
			if int(ends[i]) < last || ends[i+1] < ends[i] || int(ends[i+1]) > len(text) {
				t.Fatalf("%q in %q: matches %v", src, text, ends)
			}
			last = int(ends[i+1])
		}
	})
}
