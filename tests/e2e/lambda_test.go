package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

// What a program knows of a function literal depends on how it was built, what is
// compiled of it does not: builds that differ in paths and inlining share the cache.
func TestLambdas(t *testing.T) {
	tooltest.Go(t)
	want := []string{
		"[-2 0 2]", "[4 6 10]", "[7 6 5]", "[3 2 3]",
		"main.square: Map with 2 slices for a function of 1 arguments",
		"lambda/bare has no kernel source in this program: add `//go:embed *.go`",
		"main/main.go:69:19: K0134: function literal captures variable captured, which is declared at main/main.go:65:2",
	}
	cache := t.TempDir()
	for i, flags := range [][]string{{}, {"-trimpath"}, {"-gcflags=-l"}} {
		program := filepath.Join(t.TempDir(), "lambda.exe")
		build := exec.Command("go", append(append([]string{"build", "-ldflags=-w", "-o", program}, flags...), "./tests/e2e/testdata/lambda")...)
		build.Dir = repo
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		out, err := build.CombinedOutput()
		require.NoError(t, err, "%s", out)

		cmd := exec.Command(program, device())
		cmd.Env = append(os.Environ(), "KILN_LOG=info", "KILN_CACHE_DIR="+cache)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err = cmd.Output()
		require.NoError(t, err, "%s%s", out, stderr.String())
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		require.Len(t, lines, len(want), "%s", out)
		for j := range want {
			assert.Contains(t, lines[j], want[j], "%v", flags)
		}
		if i == 0 {
			assert.Equal(t, 4, strings.Count(stderr.String(), "msg=compiled"), stderr.String())
		} else {
			assert.NotContains(t, stderr.String(), "msg=compiled", "%v", flags)
		}
	}
}
