package front

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
)

// An annotation is a comment at the end of a line: ERROR, the column, and a
// regular expression for code and message.
var annotation = regexp.MustCompile(`ERROR (\d+) "((?:[^"\\]|\\.)*)"`)

type expected struct {
	line, col int
	re        *regexp.Regexp
	seen      bool
}

func annotations(t *testing.T, text []byte) []*expected {
	var out []*expected
	for i, line := range bytes.Split(text, []byte("\n")) {
		for _, m := range annotation.FindAllSubmatch(line, -1) {
			col, err := strconv.Atoi(string(m[1]))
			require.NoError(t, err)
			out = append(out, &expected{line: i + 1, col: col, re: regexp.MustCompile(string(m[2]))})
		}
	}
	return out
}

// TestErrors checks that each annotated file gives exactly its diagnostics.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.go")
	require.NoError(t, err)
	require.Greater(t, len(files), 25)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			p := &Package{Path: "example.com/k", Files: []File{{Name: filepath.Base(file), Text: text}}}
			compare(t, annotations(t, text), Check(p, nil, nil), "example.com/k/"+filepath.Base(file))
		})
	}
}

func compare(t *testing.T, want []*expected, got diag.List, file string) {
	for _, d := range got {
		match := false
		msg := fmt.Sprintf("%s: %s", d.Code, d.Msg)
		for _, w := range want {
			if !w.seen && w.line == d.Pos.Line && w.col == d.Pos.Col && (w.re.MatchString(msg) || w.re.MatchString(msg+"\nfix: "+d.Fix)) {
				match, w.seen = true, true
				break
			}
		}
		if !match || d.Pos.File != file {
			t.Errorf("unexpected: %+v", d)
		}
	}
	for _, w := range want {
		if !w.seen {
			t.Errorf("line %d: no error in column %d matching %q", w.line, w.col, w.re)
		}
	}
}
