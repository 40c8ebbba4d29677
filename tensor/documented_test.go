package tensor_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDocumented checks that every exported name of the tensor packages has a comment
// that begins with it, and that every function and method of tensors is used in a test.
func TestDocumented(t *testing.T) {
	for _, dir := range []string{".", "stream", "file", "safetensors", "npy", "torch", "../ops", "../ops/dtype", "../ops/layout"} {
		t.Run(dir, func(t *testing.T) {
			fset := token.NewFileSet()
			var tests []string
			var files []*ast.File
			names, err := filepath.Glob(filepath.Join(dir, "*.go"))
			require.NoError(t, err)
			for _, name := range names {
				if strings.HasSuffix(name, "_test.go") {
					tests = append(tests, name)
					continue
				}
				f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
				require.NoError(t, err)
				files = append(files, f)
			}
			require.NotEmpty(t, files)
			var used map[string]bool // of others, by packages that read and write files
			if dir == "." {
				used = selected(t, tests...)
			}
			for _, f := range files {
				for _, d := range f.Decls {
					checkDecl(t, fset, d, used)
				}
			}
		})
	}
}

// selected are the names behind dots in the code of files: the methods and functions that it uses,
// and none that another name begins with or a comment mentions.
func selected(t *testing.T, files ...string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				names[s.Sel.Name] = true
			}
			return true
		})
	}
	return names
}

func checkDecl(t *testing.T, fset *token.FileSet, d ast.Decl, used map[string]bool) {
	at := func(n ast.Node) string { return fset.Position(n.Pos()).String() }
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if !d.Name.IsExported() || !exportedReceiver(d) {
			return
		}
		if !strings.HasPrefix(d.Doc.Text(), name+" ") {
			t.Errorf("%s: the comment of %s does not begin with its name", at(d), name)
		}
		if used != nil && !called[name] && !used[name] {
			t.Errorf("%s: no test uses %s", at(d), name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if doc := d.Doc.Text() + s.Doc.Text(); s.Name.IsExported() && !strings.HasPrefix(doc, s.Name.Name+" ") && !(doc != "" && s.Assign.IsValid() && len(d.Specs) > 1) {
					t.Errorf("%s: the comment of %s does not begin with its name", at(s), s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() && d.Doc.Text()+s.Doc.Text()+s.Comment.Text() == "" {
						t.Errorf("%s: %s has no comment", at(name), name.Name)
					}
				}
			}
		}
	}
}

// called are methods that other packages call by an interface, such as fmt.
var called = map[string]bool{"LogValue": true, "Format": true, "GoString": true, "Unwrap": true, "Is": true, "Error": true, "String": true}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	id, ok := x.(*ast.Ident)
	return ok && id.IsExported()
}
