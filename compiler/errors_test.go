package compiler_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/target"
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
		list, _ := compiler.Check(&front.Package{Path: "k", Files: []front.File{{Name: filepath.Base(file), Text: text}}}, nil, targetsOf(t, text)...)
		var got []string
		for _, d := range list {
			got = append(got, fmt.Sprintf("%d:%d: %s: %s; %s", d.Pos.Line, d.Pos.Col, d.Code, d.Msg, d.Note))
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

var targetComment = regexp.MustCompile(`(?m)^// targets: (.*)$`)

// targetsOf returns the targets that a comment of a file names.
func targetsOf(t *testing.T, text []byte) (list []target.Target) {
	if m := targetComment.FindSubmatch(text); m != nil {
		for name := range strings.FieldsSeq(string(m[1])) {
			tgt, err := target.Parse(name)
			require.NoError(t, err)
			list = append(list, tgt)
		}
	}
	return list
}

func containsMatch(list []string, re *regexp.Regexp) bool {
	for _, s := range list {
		if re.MatchString(s) {
			return true
		}
	}
	return false
}

// elsewhere lists the codes that no single file shows, with the tests that do.
var elsewhere = map[diag.Code]string{
	diag.NoKernel:    "front/api_test.go", // a request for what is not there
	diag.BadRequest:  "front/api_test.go", // a request that is not Go
	diag.ImportCycle: "front/api_test.go", // two packages
	diag.Internal:    "front/api_test.go", // no program is meant to

	diag.Stale:        "gen/gen_test.go", // a file that a tool has written
	diag.LauncherName: "gen/gen_test.go", // the tool refuses
}

// TestCodesTested checks that every code has a wrong program: one whose ERROR
// comments name it, here or in package front, or a test.
func TestCodesTested(t *testing.T) {
	shown := map[diag.Code]bool{}
	for _, pattern := range []string{"testdata/errors/*.go", "front/testdata/errors/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range annotation.FindAllSubmatch(text, -1) {
				for _, code := range regexp.MustCompile(`K\d{4}`).FindAllString(string(m[2]), -1) {
					shown[diag.Code(code)] = true
				}
			}
		}
	}
	for _, row := range diag.Codes {
		if file, ok := elsewhere[row.Code]; ok {
			assert.False(t, shown[row.Code], "%s has a program and needs no entry in elsewhere", row.Code)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Contains(t, string(text), string(row.Code), "%s names %s (%s)", file, row.Code, row.Name)
			continue
		}
		assert.True(t, shown[row.Code], "%s (%s) has no wrong program: add one with an ERROR comment to compiler/front/testdata/errors", row.Code, row.Name)
	}
}
