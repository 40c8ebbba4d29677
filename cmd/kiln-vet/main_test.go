package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

func TestMain(m *testing.M) { os.Exit(tooltest.Run(m)) }

const data = "../../compiler/analyzer/testdata/"

// build builds a command of this module.
func build(t *testing.T, dir string) string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), filepath.Base(dir))
	if runtime.GOOS == "windows" {
		tool += ".exe"
	}
	out, err := exec.Command("go", "build", "-o", tool, "../"+dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return tool
}

// TestGoVet runs the tool as go vet does, over packages whose kernels call into
// two others: their source has to travel through go vet's facts.
func TestGoVet(t *testing.T) {
	tool := build(t, "kiln-vet")
	vet := func(args ...string) (string, error) {
		out, err := exec.Command("go", append([]string{"vet", "-vettool=" + tool}, args...)...).CombinedOutput()
		return string(out), err
	}
	clean := "../../examples/swiglu/kernels"
	if tooltest.Whole() { // go vet gives the tool all that the program around them imports, too
		clean = "../../examples/swiglu/..."
	}
	text, err := vet(data+"lib", clean)
	require.NoError(t, err, "%s", text)

	// go vet keeps in its cache that a package has no mistakes, also when it ran the tool for the
	// facts alone (Go 1.26). Flags are part of the key: a negative number of lines prints none.
	text, err = vet(fmt.Sprintf("-c=-%d", time.Now().UnixNano()), data+"kern")
	require.Error(t, err, "%s", text)
	assert.Regexp(t, `kern\.go:42:9: K0301: barrier is not reached by all threads together; move`, text)
	assert.Regexp(t, `kern\.go:8:2: .*/deep/deep\.go:20:7: K0102: map type in a kernel`, text)
	assert.NotContains(t, text, "Quarter")
}

var finding = regexp.MustCompile(`(?m)^(?:\S*/)?(\w+\.go)(?::\d+:\d+)?: (?:(?:\S*/)?(\w+\.go):\d+:\d+: )?(K\d{4}: [^;(\n]+)`)

// TestSameAsCheck compares what kiln-vet and kiln check print for the same
// packages: code and message of every mistake, and the file that has it.
func TestSameAsCheck(t *testing.T) {
	vet, kiln := build(t, "kiln-vet"), build(t, "kiln")
	for pkg, count := range map[string]int{"kern": 3, "lib": 0, "deep": 0, "unregistered": 1, "fix": 2, "stale": 1} {
		t.Run(pkg, func(t *testing.T) {
			want := findings(exec.Command(kiln, "check", data+pkg))
			assert.Len(t, want, count)
			assert.Equal(t, want, findings(exec.Command(vet, data+pkg)))
		})
	}
}

func findings(cmd *exec.Cmd) []string {
	out, _ := cmd.CombinedOutput() // the status says only that there are some
	var list []string
	for _, m := range finding.FindAllStringSubmatch(string(out), -1) {
		file := m[1]
		if m[2] != "" {
			file = m[2]
		}
		list = append(list, file+": "+strings.TrimSpace(m[3]))
	}
	slices.Sort(list)
	return slices.Compact(list)
}
