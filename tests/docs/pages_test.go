package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/internal/tooltest"
)

// module writes a module with the files, which uses this one, and returns its
// folder.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	abs, err := filepath.Abs(root)
	require.NoError(t, err)
	mod, err := os.ReadFile(filepath.Join(abs, "go.mod"))
	require.NoError(t, err)
	sum, err := os.ReadFile(filepath.Join(abs, "go.sum"))
	require.NoError(t, err)
	_, requires, _ := strings.Cut(string(mod), "\nrequire")
	dir := t.TempDir()
	files["go.mod"] = "module example.com/tutorial\n\ngo 1.26\n\nrequire github.com/gokiln/kiln v0.0.0\n\nreplace github.com/gokiln/kiln => " +
		filepath.ToSlash(abs) + "\n\ntool github.com/gokiln/kiln/cmd/kiln\n\nrequire" + requires
	files["go.sum"] = string(sum)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// TestTutorial extracts the module of the tutorial and runs every command that
// it shows.
func TestTutorial(t *testing.T) {
	tooltest.Go(t)
	blocks, err := Blocks(root + "/docs/tutorial.md")
	require.NoError(t, err)
	files := map[string]string{}
	for _, b := range blocks {
		if b.Lang == "go" {
			require.NotEmpty(t, b.File(), "%s:%d: a block of Go without a file name", b.Page, b.Line)
			require.NotContains(t, files, b.File())
			files[b.File()] = b.Text
		}
	}
	dir := module(t, files)
	env := append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "KILN_CACHE_DIR="+t.TempDir(), "KILN_DUMP=", "KILN_DUMP_DIR=")
	ran := 0
	for _, b := range blocks {
		for _, c := range b.Commands() {
			cmd := exec.Command(c.Args[0], c.Args[1:]...)
			cmd.Dir, cmd.Env = dir, env
			out, err := cmd.CombinedOutput()
			text := strings.TrimSuffix(string(out), "exit status 1\n")
			assert.True(t, c.Matches(text), "%s:%d: %q prints\n%s(%v)", b.Page, c.Line, c.Args, out, err)
			ran++
		}
	}
	assert.GreaterOrEqual(t, ran, 6)
	assert.FileExists(t, filepath.Join(dir, "kernels.MatMulTiled.ptx-sm_90.html"))
}

// TestExamples compiles the Go of the other pages: kernels as they stand, and
// what is neither a file nor a declaration as the body of a kernel's caller is
// not allowed there.
func TestExamples(t *testing.T) {
	for _, page := range []string{"coming-from.md", "semantics.md"} {
		blocks, err := Blocks(root + "/docs/" + page)
		require.NoError(t, err)
		n := 0
		for _, b := range blocks {
			if b.Lang != "go" {
				continue
			}
			n++
			t.Run(fmt.Sprintf("%s:%d", page, b.Line), func(t *testing.T) {
				text := "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n" + b.Text
				p := &front.Package{Path: "k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}
				list, kernels := compiler.Check(p, nil)
				assert.Empty(t, list, "%+v", list)
				assert.Positive(t, kernels, "no kernel in\n%s", text)
			})
		}
		assert.Positive(t, n, page)
	}
}

// TestLinks checks that links between pages lead somewhere.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, root+"/README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, target := range links(string(text)) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), target))
			assert.NoError(t, err, "%s", page)
		}
	}
}

// TestPaths checks that the files and folders of this repository that pages name are there.
func TestPaths(t *testing.T) {
	pages, err := filepath.Glob(root + "/docs/*.md")
	require.NoError(t, err)
	more, err := filepath.Glob(root + "/*.md")
	require.NoError(t, err)
	path := regexp.MustCompile("`((?:bench|cache|cmd|compiler|dsl|examples|internal|jit|ops|prebuilt|runtime|tensor|tests)/[a-z0-9_/.]+)`")
	invented := []string{"compiler/pass/twice.go", "compiler/pass/testdata/twice.ir"} // a pass that nobody needs
	n := 0
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range path.FindAllStringSubmatch(string(text), -1) {
			n++
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil && !slices.Contains(invented, m[1]) {
				t.Errorf("%s names %s, which is not there", page, m[1])
			}
		}
	}
	require.Greater(t, n, 150)
}

// TestWidth keeps lines of prose within 100 columns. Code, tables, addresses and generated pages are as wide as
// they are.
func TestWidth(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"/*.md", "/docs/*.md", "/bench/*.md", "/bench/*/*.md", "/examples/*.md", "/examples/*/*.md"} {
		more, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		pages = append(pages, more...)
	}
	require.Greater(t, len(pages), 15)
	for _, page := range pages {
		if base := filepath.Base(page); base == "reference.md" || base == "diagnostics.md" {
			continue // generated
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, line := range wide(string(text)) {
			assert.Fail(t, "a line of prose has more than 100 columns", "%s:%d: %s", page, i, line)
		}
	}
	assert.Len(t, wide(strings.Repeat("word ", 25)+"\n```\n"+strings.Repeat("code ", 25)+"\n```\n"), 1)
}

func TestBlocks(t *testing.T) {
	page := filepath.Join(t.TempDir(), "p.md")
	require.NoError(t, os.WriteFile(page, []byte("# P\n```go\n// a/b.go\npackage b\n```\n```console\n$ go run ./b\none …\n$ true\n```\n"), 0o644))
	blocks, err := Blocks(page)
	require.NoError(t, err)
	require.Len(t, blocks, 2)
	assert.Equal(t, "a/b.go", blocks[0].File())
	assert.Equal(t, 3, blocks[0].Line)
	assert.Empty(t, blocks[0].Commands())
	c := blocks[1].Commands()
	require.Len(t, c, 2)
	assert.Equal(t, Command{Line: 7, Args: []string{"go", "run", "./b"}, Output: "one …\n"}, c[0])
	assert.True(t, c[0].Matches("one 1.5 s\n"))
	assert.False(t, c[0].Matches("one 1\ntwo\n"))
	assert.True(t, c[1].Matches(""))
	assert.Empty(t, Block{Lang: "go", Text: "// a comment.go of words\n"}.File())

	require.NoError(t, os.WriteFile(page, []byte("```go\n"), 0o644))
	_, err = Blocks(page)
	assert.ErrorContains(t, err, "block without end")
	_, err = Blocks(page + ".none")
	assert.ErrorContains(t, err, "reading page")
}
