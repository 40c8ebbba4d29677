package docs

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestQuantizedNames checks that the names of packages in docs/quantized.md are there, and that it
// has all that package quantized exports, and all formats.
func TestQuantizedNames(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/quantized.md")
	require.NoError(t, err)
	options, err := os.ReadFile(root + "/nn/load.go")
	require.NoError(t, err)
	known := map[string]map[string]bool{}
	for _, folder := range []string{
		"tensor", "tensor/file", "nn", "quantized", "quantized/format", "quantized/gguf", "quantized/ggml",
		"quantized/imatrix", "quantized/recipe", "quantized/qnn", "quantized/checkpoint",
	} {
		known[filepath.Base(folder)] = exported(t, filepath.Join(root, folder))
	}
	named := map[string]bool{}
	name := regexp.MustCompile(`\b([a-z]+)\.([A-Z]\w*(?:\.[A-Z]\w*)?)`)
	for _, m := range name.FindAllStringSubmatch(string(text), -1) {
		all, ok := known[m[1]]
		if !ok {
			continue
		}
		kind, field, _ := strings.Cut(m[2], ".")
		there := all[m[2]] || kind == "LoadOptions" && strings.Contains(string(options), "\t"+field+" ")
		assert.True(t, there, "docs/quantized.md names %s, which is not there", m[0])
		named[m[0]] = true
	}
	for what := range known["quantized"] {
		first, last, _ := strings.Cut(what, ".")
		if !ast.IsExported(first) || last != "" && !ast.IsExported(last) {
			continue
		}
		if what != "Tensor" && what != "Tensor.Err" && what != "Tensor.Free" {
			assert.True(t, named["quantized."+what], "docs/quantized.md has no quantized.%s", what)
		}
	}
	for what := range known["format"] {
		if of, ok := strings.CutPrefix(what, "Block"); ok && of != "" && !strings.Contains(of, ".") {
			assert.Contains(t, string(text), of, "docs/quantized.md has no format %s", of)
		}
	}
	require.Greater(t, len(named), 60)
}
