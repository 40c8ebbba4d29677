package compiler_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
)

var annotation = regexp.MustCompile(`ERROR (\d+) "((?:[^"\\]|\\.)*)"`)

// Mistakes that the passes find, on the lines that ERROR comments name.
func TestErrorsOfPasses(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		list, _ := compiler.Check(&front.Package{Path: "k", Files: []front.File{{Name: filepath.Base(file), Text: text}}}, nil)
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprintf("%d:%d: %s: %s", d.Pos.Line, d.Pos.Col, d.Code, d.Msg))
		}
		n := 0
		for i, line := range bytes.Split(text, []byte("\n")) {
			for _, m := range annotation.FindAllSubmatch(line, -1) {
				n++
				want := regexp.MustCompile(fmt.Sprintf("^%d:%s: %s", i+1, m[1], m[2]))
				assert.True(t, containsMatch(got, want), "no diagnostic %s among %q", want, got)
			}
		}
		assert.Len(t, got, n, "%q", got)
	}
}

func containsMatch(list []string, re *regexp.Regexp) bool {
	for _, s := range list {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}
