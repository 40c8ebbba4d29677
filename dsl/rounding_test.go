package dsl_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// checked is the package, type-checked from its embedded text.
type checked struct {
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	err   error
}

var check = sync.OnceValue(func() (c checked) {
	c.fset = token.NewFileSet()
	c.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	names, err := fs.Glob(dsl.API(), "*.go")
	for _, name := range names {
		text, err2 := fs.ReadFile(dsl.API(), name)
		f, err3 := parser.ParseFile(c.fset, name, text, parser.ParseComments)
		c.files = append(c.files, f)
		err = errors.Join(err, err2, err3)
	}
	conf := types.Config{Importer: importer.ForCompiler(c.fset, "source", nil)}
	_, err2 := conf.Check("github.com/gokiln/kiln/dsl", c.fset, c.files, c.info)
	c.err = errors.Join(err, err2)
	return c
})

func source(t *testing.T) (*token.FileSet, []*ast.File, *types.Info) {
	t.Helper()
	c := check()
	require.NoError(t, c.err)
	return c.fset, c.files, c.info
}

func marked(f *ast.FuncDecl, mark string) bool {
	if f.Doc == nil {
		return false
	}
	for _, c := range f.Doc.List {
		if c.Text == "//kiln:"+mark {
			return true
		}
	}
	return false
}

// kernelFuncs are the functions that the compiler compiles from their bodies.
func kernelFuncs(files []*ast.File, visit func(f *ast.FuncDecl)) {
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || marked(f, "intrinsic") || marked(f, "dispatch") || hostHelpers[f.Name.Name] {
				continue
			}
			visit(f)
		}
	}
}

// hostHelpers serve the host bodies of intrinsics only.
var hostHelpers = map[string]bool{
	"toWord": true, "fromWord": true, "boolWord": true, "printable": true, "loadWord": true, "swapWord": true, "around": true, "addHalf": true, "bf16": true,
	"isFloat32": true, "D1": true, "D2": true, "D3": true, "NewThread": true, "Bits": true,
	"API": true, "Path": true, "Source": true, "SourceOf": true, "Sources": true, "SourcesAt": true, "dirOf": true, "packageOf": true, "Open": true, "ReadDir": true,
}

// A Go compiler may fuse a product with a following sum, which would make
// results depend on the machine. It may not where a conversion rounds the
// product, so each product of floats stands alone in a conversion, or is part
// of another product that does.
func TestProductsAreRounded(t *testing.T) {
	fset, files, info := source(t)
	isFloat := func(e ast.Expr) bool {
		tv := info.Types[e]
		if tv.Type == nil || tv.Value != nil && tv.Value.Kind() != constant.Unknown {
			return false
		}
		b, ok := tv.Type.Underlying().(*types.Basic)
		return ok && b.Info()&types.IsFloat != 0
	}
	count := 0
	kernelFuncs(files, func(f *ast.FuncDecl) {
		rounded := map[ast.Expr]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if info.Types[n.Fun].IsType() {
					rounded[ast.Unparen(n.Args[0])] = true
				}
			case *ast.AssignStmt:
				if n.Tok == token.MUL_ASSIGN && isFloat(n.Lhs[0]) {
					t.Errorf("%v: %s multiplies in place; write the product in a conversion", fset.Position(n.Pos()), f.Name.Name)
				}
			case *ast.BinaryExpr:
				if n.Op != token.MUL || !isFloat(n) {
					return true
				}
				count++
				if !rounded[n] {
					t.Errorf("%v: %s has a product that is not rounded by a conversion", fset.Position(n.Pos()), f.Name.Name)
				}
				for _, e := range []ast.Expr{n.X, n.Y} { // factors need no rounding of their own
					rounded[ast.Unparen(e)] = true
				}
			case *ast.UnaryExpr:
				if rounded[n] {
					rounded[ast.Unparen(n.X)] = true
				}
			}
			return true
		})
	})
	require.Greater(t, count, 100)
}

// What the compiler compiles must keep to the language of kernels.
func TestBodiesAreKernelGo(t *testing.T) {
	fset, files, info := source(t)
	packages := map[string]bool{
		"math.Float32bits": true, "math.Float32frombits": true, "math.Float64bits": true, "math.Float64frombits": true,
		"bits.LeadingZeros64": true, "bits.TrailingZeros64": true, "bits.Mul64": true,
	}
	n := 0
	kernelFuncs(files, func(f *ast.FuncDecl) {
		n++
		bad := func(n ast.Node, what string) {
			t.Errorf("%v: %s uses %s", fset.Position(n.Pos()), f.Name.Name, what)
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit, *ast.DeferStmt, *ast.GoStmt, *ast.TypeSwitchStmt, *ast.TypeAssertExpr, *ast.SelectStmt, *ast.SendStmt:
				bad(n, "what kernels have not")
			case *ast.CompositeLit:
				bad(n, "a composite literal")
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok {
					if _, ok := info.Uses[pkg].(*types.PkgName); ok && !packages[pkg.Name+"."+n.Sel.Name] {
						bad(n, pkg.Name+"."+n.Sel.Name)
					}
				}
			case *ast.Ident:
				if v, ok := info.Uses[n].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
					bad(n, "the package variable "+n.Name)
				}
			}
			return true
		})
	})
	require.Greater(t, n, 80)
}

// Both functions behind a dispatch function exist.
func TestDispatchPairs(t *testing.T) {
	_, files, _ := source(t)
	funcs := map[string]bool{}
	var names []string
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				funcs[f.Name.Name] = true
				if marked(f, "dispatch") {
					names = append(names, f.Name.Name)
				}
			}
		}
	}
	require.Greater(t, len(names), 20)
	for _, name := range names {
		lower := strings.ToLower(name[:1]) + name[1:]
		suffixes := []string{"32", "64"}
		if name == "F32" || name == "F64" || name == "To" { // others are intrinsics
			suffixes = []string{"E4M3", "E5M2"}
		}
		for _, suffix := range suffixes {
			if !funcs[lower+suffix] {
				t.Errorf("%s has no %s%s", name, lower, suffix)
			}
		}
	}
}

// The documentation of each inexact function states the bound of the table.
func TestDocsStateBounds(t *testing.T) {
	_, files, _ := source(t)
	docs := map[string]string{}
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				docs[f.Name.Name] = f.Doc.Text()
			}
		}
	}
	for _, b := range dsltest.MathBounds() {
		want := fmt.Sprintf("Error: at most %g ulp in float32, %g ulp in float64.", b.F32, b.F64)
		if !strings.Contains(docs[b.Name], want) {
			t.Errorf("the documentation of %s does not say %q", b.Name, want)
		}
	}
}
