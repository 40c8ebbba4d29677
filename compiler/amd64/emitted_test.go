package amd64

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var multiplyAdds = regexp.MustCompile(`^VFN?M(ADD|SUB)(132|213|231)[PS][SD]$`)

// TestOpsAreEmitted finds operations of the assembler that no code asks for.
func TestOpsAreEmitted(t *testing.T) {
	used := map[string]bool{"NoOp": true}
	fset := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		inside := filepath.Dir(path) == "asm"
		if inside && filepath.Base(path) != "assembler.go" {
			return nil // tables, which name all operations; the assembler adds jumps and moves
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "asm" {
					used[n.Sel.Name] = true
				}
			case *ast.Ident:
				used[n.Name] = used[n.Name] || inside
			}
			return true
		})
		return nil
	}))
	file, err := parser.ParseFile(fset, filepath.Join("asm", "op.go"), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, name := range spec.Names {
				// The register allocator orders the operands of multiply-adds anew.
				if !used[name.Name] && name.Name != "numOps" && !multiplyAdds.MatchString(name.Name) {
					t.Errorf("nothing emits %s: remove it from op.go, names.go and its rows", name.Name)
				}
			}
		}
		return true
	})
}
