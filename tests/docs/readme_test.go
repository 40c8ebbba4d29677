package docs

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

// readmeFiles are the files of which the README shows the Go blocks without imports,
// in order: the file, and what comes before the block. The first is whole.
var readmeFiles = []struct{ name, head string }{
	{"kernels/kernels.go", ""},
	{"gated.go", `package tour

import (
	"example.com/tutorial/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

`},
	{"fit.go", `package tour

import "github.com/gokiln/kiln/tensor"

`},
	{"gated_test.go", `package tour

import (
	"testing"

	"example.com/tutorial/kernels"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

func TestGated(t *testing.T) {
	got, err := gated("cpu", []float32{0, 1}, []float32{5, 2})
	if err != nil || got[0] != 0 || got[1] != 1.4621172 {
		t.Fatal(got, err)
	}
}

`},
}

// TestReadme builds and runs the program of the README.
func TestReadme(t *testing.T) {
	tooltest.Go(t)
	blocks, err := Blocks(root + "/README.md")
	require.NoError(t, err)
	files := map[string]string{}
	n := 0
	for _, b := range blocks {
		if b.Lang != "go" {
			continue
		}
		require.Less(t, n, len(readmeFiles), "%s:%d: a block that no file is known for", b.Page, b.Line)
		files[readmeFiles[n].name] = readmeFiles[n].head + b.Text
		n++
	}
	require.Len(t, files, len(readmeFiles))
	dir := module(t, files)
	cmd := exec.Command("go", "test", "./...")
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "KILN_CACHE_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, 1, strings.Count(string(out), "ok  "), "%s", out)
}
