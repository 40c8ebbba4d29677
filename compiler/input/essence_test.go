package input

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEssence(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"//":                               "",
		"/":                                "/",
		"a / b // c\nd":                    "a / b\nd",
		"\t// words\n\n// more\nx":         "\n\n\nx",
		"//kiln:kernel\nfunc f() {} // no": "//kiln:kernel\nfunc f() {}",
		"//go:build x\n//line a.go:7\n":    "//go:build x\n//line a.go:7\n",
		"// +build x\n// see a:b\n":        "// +build x\n\n",
		"x /* a // b */ + y /* open":       "x /* a // b */ + y /* open",
		`s = "// no" // yes`:               `s = "// no"`,
		`s = "\"// no" // yes`:             `s = "\"// no"`,
		"s = `\"// no\n// no`// yes\ny":    "s = `\"// no\n// no`\ny",
		"c = '\"' // yes \"\nd":            "c = '\"'\nd",
		"s = \"open // no\nx // yes":       "s = \"open // no\nx",
		"s = \"":                           "s = \"",
		"s = `":                            "s = `",
		`s = "\`:                           `s = "\`,
	} {
		got := string(essence([]byte(text)))
		require.Equal(t, want, got, "%q", text)
		require.Equal(t, strings.Count(text, "\n"), strings.Count(got, "\n"), "positions are by line: %q", text)
		require.Equal(t, got, string(essence([]byte(got))), "%q", text)
	}
}
