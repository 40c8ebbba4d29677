package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// TestCases checks the modules in testdata. A file "want" of the archive holds
// the findings; the archive's comment says what the case is about.
func TestCases(t *testing.T) {
	cases, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for _, name := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			dir, want := unpack(t, archive)
			var stdout, stderr bytes.Buffer
			status := run(dir, nil, &stdout, &stderr)
			require.Empty(t, stderr.String())
			require.Equal(t, want, stdout.String())
			require.Equal(t, want != "", status == 1, "status %d", status)
		})
	}
}

// unpack writes the files of an archive to a new module and returns its
// folder and the wanted output.
func unpack(t *testing.T, archive *txtar.Archive) (dir, want string) {
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/m\n\ngo 1.26\n"), 0o600))
	for _, f := range archive.Files {
		if f.Name == "want" {
			want = string(f.Data)
			continue
		}
		path := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, f.Data, 0o600))
	}
	return dir, want
}

// TestUnreadable checks that a package that cannot be read is not taken for a
// clean one.
func TestUnreadable(t *testing.T) {
	for name, archive := range map[string]string{
		"syntax error": "-- dsl/a.go --\npackage dsl\nfunc {\n",
		"no package":   "-- dsl/a.txt --\nnothing\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := unpack(t, txtar.Parse([]byte(archive)))
			var stdout, stderr bytes.Buffer
			require.Equal(t, 2, run(dir, []string{"./dsl"}, &stdout, &stderr))
			require.NotEmpty(t, stderr.String())
		})
	}
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"emitPTXText":  "emit ptx text",
		"HIPModule":    "hip module",
		"shipShape":    "ship shape",
		"msl_3_1":      "msl",
		`"hip:gfx942"`: "hip gfx",
		"":             "",
	} {
		require.Equal(t, want, strings.Join(words(text), " "), text)
	}
}

func TestBackendIn(t *testing.T) {
	for text, want := range map[string]string{
		"isCUDA": "cuda", "ROCmDevice": "rocm", "hipStream": "hip", "Metal": "metal", "emitMSL": "msl", "ptxText": "ptx",
		"relationship": "", "Bimetallic": "", "chip": "", "warpSize": "",
	} {
		require.Equal(t, want, backendIn(text), text)
	}
}

// TestArrowsPointOneWay checks the table itself: no folder may reach itself
// through others.
func TestArrowsPointOneWay(t *testing.T) {
	next := map[string][]string{}
	for _, a := range arrows {
		require.NotContains(t, next, a.from, "two rows for one folder")
		next[a.from] = a.to
	}
	var visit func(root, at string, path []string)
	visit = func(root, at string, path []string) {
		require.Less(t, len(path), len(arrows), "circle: %v", path)
		for _, to := range next[at] {
			if to == "*" || within(to, at) {
				continue // tops of the module; a folder's own parts
			}
			require.False(t, to == root, "circle: %v -> %s", path, to)
			visit(root, to, append(path, to))
		}
	}
	for _, a := range arrows {
		visit(a.from, a.from, []string{a.from})
	}
}
