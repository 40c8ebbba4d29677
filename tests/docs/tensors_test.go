package docs

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/internal/tooltest"
)

const tensorPage = root + "/docs/tensors.md"

// imports are what programs of the page may use, by their names.
var imports = map[string]string{
	"errors": "errors", "filepath": "path/filepath", "fmt": "fmt", "os": "os",
	"dsl": kiln + "dsl", "jit": kiln + "jit", "runtime": kiln + "runtime", "kernels": kiln + "ops/kernels",
	"tensor": kiln + "tensor", "safetensors": kiln + "tensor/safetensors",
}

const kiln = "github.com/gokiln/kiln/"

// guideMain runs the programs of the page in order.
const guideMain = `package main

import (
	"embed"
	"fmt"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tensor"
)

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

func main() {
	dev, err := tensor.Open("cpu")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for _, f := range programs {
		if err := f(dev); err != nil {
			fmt.Println(err)
		}
		fmt.Println(%q)
	}
}

var programs = []func(*tensor.Device) error{%s}
`

const separator = "== end of a program =="

// goFile is a block of the page as a file: statements are those of a function with the name.
func goFile(b Block, name string) string {
	text := b.Text
	if name != "" {
		text = fmt.Sprintf("func %s(dev *tensor.Device) error {\n%s\treturn nil\n}\n", name, text)
	}
	head := "package main\n\nimport (\n"
	for _, short := range slices.Sorted(maps.Keys(imports)) {
		if regexp.MustCompile(`\b` + short + `\.[A-Z]`).MatchString(text) {
			head += fmt.Sprintf("\t%q\n", imports[short])
		}
	}
	return head + ")\n\n" + text
}

// TestTensorGuide runs the programs of docs/tensors.md and compares what they print with the
// block below each; -update writes those blocks.
func TestTensorGuide(t *testing.T) {
	tooltest.Go(t)
	blocks, err := Blocks(tensorPage)
	require.NoError(t, err)
	files, names, outputs := map[string]string{}, "", []Block(nil)
	for i, b := range blocks {
		if b.Lang != "go" {
			continue
		}
		name := ""
		if i+1 < len(blocks) && blocks[i+1].Lang == "text" {
			name = fmt.Sprintf("program%d", i)
			names += name + ", "
			outputs = append(outputs, blocks[i+1])
		}
		files[fmt.Sprintf("example%d.go", len(files)+1)] = goFile(b, name)
	}
	require.Greater(t, len(outputs), 10)
	files["main.go"] = fmt.Sprintf(guideMain, separator, names)
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = module(t, files)
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "KILN_CACHE_DIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	printed := strings.Split(string(out), separator+"\n")
	require.Len(t, printed, len(outputs)+1)
	page, err := os.ReadFile(tensorPage)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(page), "\n")
	for i := len(outputs) - 1; i >= 0; i-- { // from the end, as lines move
		b := outputs[i]
		if *update && b.Text != printed[i] {
			from := b.Line - 1
			rest := append([]string{printed[i]}, lines[from+strings.Count(b.Text, "\n"):]...)
			lines = append(lines[:from:from], rest...)
			continue
		}
		assert.Equal(t, printed[i], b.Text, "%s:%d: run go test ./tests/docs -update", b.Page, b.Line)
	}
	if *update {
		require.NoError(t, os.WriteFile(tensorPage, []byte(strings.Join(lines, "")), 0o666))
	}
}
