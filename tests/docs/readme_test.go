package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

// readmeFiles are the files of which the README shows the Go blocks, in order: the file, and
// what comes before the block.
var readmeFiles = []struct{ name, head string }{
	{"kernels/swiglu.go", "package kernels\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n"},
	{"step.go", `package tour

import "github.com/gokiln/kiln/tensor"

`},
	{"net.go", `package tour

import (
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/loss"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

`},
	{"kernels/kernels.go", ""},
	{"gated.go", `package tour

import (
	"example.com/tutorial/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

`},
	{"gated_test.go", `package tour

import (
	"testing"

	"example.com/tutorial/kernels"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/nn"
	"github.com/gokiln/kiln/nn/optim"
	"github.com/gokiln/kiln/tensor"
)

func TestNet(t *testing.T) {
	dev, err := tensor.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	net := &Net{nn.NewLinear(2, 8), nn.NewLinear(8, 2)}
	if err := nn.Init(net, nn.On{Device: dev}); err != nil {
		t.Fatal(err)
	}
	params, err := nn.Trainable(net)
	if err != nil || len(params) != 4 {
		t.Fatal(params, err)
	}
	opt := optim.NewAdamW(params, optim.AdamW{LR: 0.05})
	x := tensor.New(dev, [][]float32{{0, 0}, {0, 1}, {1, 0}, {1, 1}})
	labels := tensor.From(dev, []int64{0, 1, 1, 0}, 4)
	for range 100 {
		if err := net.Learn(opt, x, labels); err != nil {
			t.Fatal(err)
		}
	}
	got, err := tensor.To1[int64](net.Forward(x).ArgMax(1).Cast(tensor.I64))
	if err != nil || got[0] != 0 || got[1] != 1 || got[2] != 1 || got[3] != 0 {
		t.Fatal(got, err)
	}
}

func TestStep(t *testing.T) {
	dev, err := tensor.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	w, x := tensor.NewVar(tensor.Zeros(dev, tensor.F32, 2, 1)), tensor.Eye(dev, tensor.F32, 2)
	if err := step(w, x, tensor.Ones(dev, tensor.F32, 2, 1)); err != nil {
		t.Fatal(err)
	}
}

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

// TestEnvironment compares the variables that programs and the command read with the README's table.
func TestEnvironment(t *testing.T) {
	readme, err := os.ReadFile(root + "/README.md")
	require.NoError(t, err)
	variable := regexp.MustCompile(`"(KILN_[A-Z_]+)"`)
	read := map[string]bool{}
	for _, dir := range []string{"cache", "cmd", "compiler", "internal", "jit", "ops", "runtime", "tensor"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			forTests := strings.HasSuffix(path, "_test.go") || strings.Contains(path, "tooltest") || strings.Contains(path, "opstest") || strings.Contains(path, "cudatest")
			if err != nil || forTests || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, m := range variable.FindAllStringSubmatch(string(text), -1) {
				read[m[1]] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, len(read), 20)
	for name := range read {
		assert.Contains(t, string(readme), "`"+name+"`", "a variable that programs read is not in the README's table")
	}
}
