package docs

import (
	"bytes"
	"fmt"
	"io/fs"
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

// TestBackendGuideIsComplete checks that the page names every interface of package driver, and every
// file of the compiler and of the tools that knows the page's example, OpenCL.
func TestBackendGuideIsComplete(t *testing.T) {
	text, err := os.ReadFile(backendPage)
	require.NoError(t, err)
	page := string(text)
	files, err := filepath.Glob(root + "/runtime/internal/driver/*.go")
	require.NoError(t, err)
	interfaces := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range regexp.MustCompile(`(?m)^type ([A-Z]\w*) interface`).FindAllStringSubmatch(string(source), -1) {
			assert.Contains(t, page, "`"+m[1]+"`", "an interface of package driver")
			interfaces++
		}
	}
	assert.Greater(t, interfaces, 10)
	know := 0
	knows := regexp.MustCompile(`\bOpenCL\b|"opencl"|opencl\.Language`)
	for _, dir := range []string{"compiler", "cmd", "internal/kilnvet", "tests/fuzz/harness"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			rel := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(rel, "compiler/opencl/") {
				return err
			}
			source, err := os.ReadFile(path)
			code := regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(string(source), "")
			if knows.MatchString(code) {
				know++
				assert.Contains(t, page, "`"+rel+"`", "a file that knows OpenCL")
			}
			return err
		})
		require.NoError(t, err)
	}
	assert.Greater(t, know, 6)
}

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
