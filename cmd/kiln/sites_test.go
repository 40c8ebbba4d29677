package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
	"github.com/gokiln/kiln/jit/record"
)

// TestSites compares the instances that are found in the code of a program with those that
// it uses when it runs.
func TestSites(t *testing.T) {
	tooltest.Go(t)
	t.Chdir("../../tests/gen/program")
	dir := t.TempDir()
	file := filepath.Join(dir, "record")
	run := exec.Command("go", "run", ".")
	run.Env = append(os.Environ(), "CGO_ENABLED=0", "KILN_JIT=", "KILN_CHECK=", "KILN_CACHE_DIR="+dir, "KILN_RECORD="+file)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var used record.Set
	require.NoError(t, used.ReadFrom(file, bytes.NewReader(text)))

	src, err := loadSources([]string{"."})
	require.NoError(t, err)
	var found record.Set
	require.NoError(t, src.addInstances(&found, []string{"."}))

	want := lines(used)
	assert.Len(t, want, 11)
	// A kernel of another package without anything to choose is no instance of this one.
	assert.Equal(t, slices.DeleteFunc(want, func(s string) bool { return s == `{"kernel":"github.com/gokiln/kiln/tests/gen/shapes.Named"}` }), lines(found))
}

// lines returns the specialisations of a set.
func lines(set record.Set) (out []string) {
	for _, s := range set.Specs() {
		s.Builds, s.Targets = nil, nil
		out = append(out, s.String())
	}
	return out
}
