package docs

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

	"github.com/gokiln/kiln/compiler/opencl"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/tests/irconf"
)

const backendPage = root + "/docs/adding-a-backend.md"

// lines counts the lines of a file, or of the Go files of a folder.
func lines(t *testing.T, path string) int {
	files := []string{path}
	if !strings.HasSuffix(path, ".go") {
		var err error
		files, err = filepath.Glob(path + "/*.go")
		require.NoError(t, err)
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		n += bytes.Count(text, []byte("\n"))
	}
	return n
}

// TestBackendGuide checks that what the guide names is there, that its lines of
// code are in the files, and that its numbers are right. With -update it writes the numbers anew.
func TestBackendGuide(t *testing.T) {
	text, err := os.ReadFile(backendPage)
	require.NoError(t, err)
	page := string(text)

	paths := regexp.MustCompile("`((?:compiler|runtime|tests|internal)/[a-z0-9_/.]+)`").FindAllStringSubmatch(page, -1)
	require.Greater(t, len(paths), 20)
	for _, m := range paths {
		_, err := os.Stat(filepath.Join(root, m[1]))
		assert.NoError(t, err)
	}

	for code, file := range map[string]string{
		"    {OpenCL, \"1.2\", openclTargets},\n":                "compiler/target/target.go",
		"    {target.OpenCL, FormatOpenCL, Small | Disjoint},\n": "compiler/code/format.go",
		"    structured(opencl.Language),\n":                     "compiler/backend.go",
	} {
		source, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		assert.Contains(t, page, code)
		assert.Contains(t, string(source), strings.TrimSpace(code), file)
	}

	tgt, err := target.Parse("opencl:1.2")
	require.NoError(t, err)
	cases := irconf.Cases()
	have, _, err := irconf.Written(opencl.Language, tgt, cases)
	require.NoError(t, err)
	sum, counts := 0, 0
	want := regexp.MustCompile("(?m)^\\| `([a-z/.]+)` \\| [0-9]+ \\|$").ReplaceAllStringFunc(page, func(row string) string {
		of := strings.Split(row, "`")[1]
		n := lines(t, filepath.Join(root, of))
		sum, counts = sum+n, counts+1
		return fmt.Sprintf("| `%s` | %d |", of, n)
	})
	require.Equal(t, 3, counts)
	want = regexp.MustCompile("It has [0-9]+ of the [0-9]+ programs of irconf").ReplaceAllString(want,
		fmt.Sprintf("It has %d of the %d programs of irconf", len(have), len(cases)))
	assert.Contains(t, want, "programs of irconf.")
	if *update {
		require.NoError(t, os.WriteFile(backendPage, []byte(want), 0o666))
	} else {
		assert.Equal(t, want, page, "run go test ./tests/docs -update")
	}
	assert.Less(t, sum, 1500)
}
