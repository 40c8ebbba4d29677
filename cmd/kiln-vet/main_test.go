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

// TestCommands builds the tool and kiln, and runs them.
func TestCommands(t *testing.T) {
	dir := t.TempDir()
	out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir+string(filepath.Separator), ".", "../kiln").CombinedOutput()
	require.NoError(t, err, "%s", out)
	vet, kiln := filepath.Join(dir, "kiln-vet"), filepath.Join(dir, "kiln")
	if runtime.GOOS == "windows" {
		vet, kiln = vet+".exe", kiln+".exe"
	}
	t.Run("go vet", func(t *testing.T) { testGoVet(t, vet) })
	t.Run("kiln check", func(t *testing.T) { testSameAsCheck(t, vet, kiln) })
}

// testGoVet runs the tool as go vet does, over packages whose kernels call into
// two others: their source has to travel through go vet's facts.
func testGoVet(t *testing.T, tool string) {
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

// testSameAsCheck compares what kiln-vet and kiln check print for the same
// packages: code and message of every mistake, and the file that has it.
func testSameAsCheck(t *testing.T, vet, kiln string) {
	var packages []string
	for _, pkg := range []string{"kern", "lib", "deep", "unregistered", "fix", "stale"} {
		packages = append(packages, data+pkg)
	}
	want := findings(exec.Command(kiln, append([]string{"check"}, packages...)...))
	assert.Len(t, want, 7)
	assert.Equal(t, want, findings(exec.Command(vet, packages...)))
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
