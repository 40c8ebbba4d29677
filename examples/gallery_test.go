package examples

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGallery holds README.md to the folders that there are, and its files to those that exist.
func TestGallery(t *testing.T) {
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	folders, err := filepath.Glob("*/main.go")
	require.NoError(t, err)
	require.Greater(t, len(folders), 7)
	for _, f := range folders {
		name := filepath.Dir(f)
		require.Contains(t, string(text), "]("+name+")")
		require.Contains(t, string(text), "`go run ./examples/"+name+"`")
	}
	pictures := strings.Split(string(text), `<img src="`)[1:]
	require.GreaterOrEqual(t, len(pictures), 5)
	for _, p := range pictures {
		file, _, _ := strings.Cut(p, `"`)
		require.FileExists(t, file)
	}
}

// TestShort counts the lines of code of the examples that are to be read in one sitting.
func TestShort(t *testing.T) {
	for _, name := range []string{"flow", "life", "nbody", "raytracer"} {
		files, err := filepath.Glob(name + "/*.go")
		require.NoError(t, err)
		kernels, err := filepath.Glob(name + "/kernels/*.go")
		require.NoError(t, err)
		require.NotEmpty(t, kernels)
		total := 0
		for _, f := range append(files, kernels...) {
			if !strings.HasSuffix(f, "_test.go") {
				total += lines(t, f)
			}
		}
		t.Logf("%s: %d lines", name, total)
		require.Less(t, total, 150, name)
	}
}

// lines counts those that are neither empty nor a comment.
func lines(t *testing.T, file string) (n int) {
	t.Helper()
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Scan() {
		if line := strings.TrimSpace(s.Text()); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	require.NoError(t, s.Err())
	return n
}
