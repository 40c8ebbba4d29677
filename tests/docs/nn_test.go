package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNetworkNames checks that the names of nn and its packages in the tables of docs/nn.md are there, and
// that all layers are in them.
func TestNetworkNames(t *testing.T) {
	text, err := os.ReadFile(root + "/docs/nn.md")
	require.NoError(t, err)
	folders := map[string]string{
		"tensor": "tensor", "nn": "nn", "attention": "nn/attention", "loss": "nn/loss",
		"optim": "nn/optim", "data": "nn/data", "train": "nn/train", "fn": "nn/fn",
	}
	known := map[string]map[string]bool{}
	name := regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)?)`")
	named := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		for _, m := range name.FindAllStringSubmatch(line, -1) {
			folder, ok := folders[m[1]]
			if !ok {
				continue
			}
			if known[m[1]] == nil {
				known[m[1]] = exported(t, filepath.Join(root, folder))
			}
			assert.True(t, known[m[1]][m[2]], "docs/nn.md names %s.%s, which is not there", m[1], m[2])
			if m[1] == "nn" {
				kind, _, _ := strings.Cut(strings.TrimPrefix(m[2], "New"), ".")
				named[kind] = true
			}
		}
	}
	for method := range known["nn"] {
		kind, of, _ := strings.Cut(method, ".")
		if of == "Forward" && kind != "Recurrent" && kind != "Layer" {
			assert.True(t, named[kind], "docs/nn.md has no %s", kind)
		}
	}
	require.Greater(t, len(named), 60)
}

// exported is the names that the package in a folder exports, methods behind their type and a dot.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(folder + "/*.go")
	require.NoError(t, err)
	out := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			declared(d, out)
		}
	}
	return out
}

// declared adds the names that a declaration declares.
func declared(d ast.Decl, out map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			on := d.Recv.List[0].Type
			if star, ok := on.(*ast.StarExpr); ok {
				on = star.X
			}
			switch generic := on.(type) {
			case *ast.IndexExpr:
				on = generic.X
			case *ast.IndexListExpr:
				on = generic.X
			}
			id, ok := on.(*ast.Ident)
			if !ok {
				return
			}
			name = id.Name + "." + name
		}
		out[name] = true
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				out[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range s.Names {
					out[id.Name] = true
				}
			}
		}
	}
}
