package main

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGoVet runs the tool as go vet does, over packages whose kernels call into
// two others: their source has to travel through go vet's facts.
func TestGoVet(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "kiln-vet")
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	vet := func(pkgs ...string) (string, error) {
		out, err := exec.Command("go", append([]string{"vet", "-vettool=" + tool}, pkgs...)...).CombinedOutput()
		return string(out), err
	}
	const data = "../../compiler/analyzer/testdata/"

	text, err := vet(data+"lib", "../../examples/swiglu/...")
	require.NoError(t, err, "%s", text)

	text, err = vet(data + "kern")
	require.Error(t, err)
	assert.Regexp(t, `kern\.go:42:9: K0301: barrier is not reached by all threads together; move`, text)
	assert.Regexp(t, `kern\.go:8:2: .*/deep/deep\.go:20:7: K0102: map type in a kernel`, text)
	assert.NotContains(t, text, "Quarter")
}
