package everykernel

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/ir"
)

// What one test has built is what the next one gets, positions included, until a source changes.
func TestShared(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home) // Linux
	t.Setenv("HOME", home)
	t.Setenv("LocalAppData", home)
	root := t.TempDir()
	file := filepath.Join(root, "a", "k.go")
	put := func(path, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		past := time.Now().Add(-24 * time.Hour)
		require.NoError(t, os.Chtimes(path, past, past))
	}
	built := 0
	programs := func() []*compiler.Program {
		return shared(t, readSources(t, root), func() ([]*compiler.Program, map[*compiler.Program]bool) {
			built++
			list := []*compiler.Program{{Kernel: "k", Text: "text", Positions: []ir.Pos{{File: "k.go", Line: 3, Col: 1}}}, {Kernel: "l"}}
			return list, map[*compiler.Program]bool{list[1]: true}
		})
	}
	put(filepath.Join(root, "go.mod"), "module m\n")
	put(filepath.Join(root, "go.sum"), "")
	put(filepath.Join(root, "testdata", "x.go"), "package x\n\n//kiln:kernel\n")
	put(file, "package a\n\n//kiln:kernel\nfunc K() {}\n")
	require.Equal(t, []string{filepath.Dir(file)}, readSources(t, root).folders)
	for range 3 {
		list := programs()
		require.Len(t, list, 2)
		require.False(t, covering(list[0]))
		require.True(t, covering(list[1]))
		require.Equal(t, "k text", list[0].Kernel+" "+list[0].Text)
		require.Equal(t, []ir.Pos{{File: "k.go", Line: 3, Col: 1}}, list[0].Positions)
	}
	require.Equal(t, 1, built)

	put(file, "package a\n\n//kiln:kernel\nfunc L() {}\n")
	programs()
	require.Equal(t, 2, built, "another source")
	put(filepath.Join(root, "a", "k_test.go"), "package a\n")
	programs()
	require.Equal(t, 2, built, "tests are no sources")
	put(filepath.Join(root, "b.go"), "package m\n")
	programs()
	require.Equal(t, 3, built, "another file")
	t.Setenv("KILN_EVERY_INSTANCE", map[bool]string{true: "", false: "1"}[All()])
	programs()
	require.Equal(t, 4, built, "another choice")
	require.NoError(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
	programs()
	programs()
	require.Equal(t, 6, built, "a file that is newer than the test")

	kept, err := filepath.Glob(filepath.Join(home, "*", "programs-*"))
	require.NoError(t, err)
	for _, name := range kept {
		require.NoError(t, os.WriteFile(name, []byte("broken"), 0o600))
	}
	put(file, "package a\n\n//kiln:kernel\nfunc L() {}\n")
	programs()
	require.Equal(t, 7, built, "what cannot be read is built again")
}
