package front

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// Names returns a function that names the variable which the value computed at a position
// of the source is assigned to, "" if it is none. It covers a package and the kernel
// packages that it imports, and is for people who read emitted code: positions are no
// part of what code is made of.
func Names(importPath string, load Loader) (func(ir.Pos) string, error) {
	pkgs, err := input.Reached(load, importPath)
	if err != nil {
		return nil, err
	}
	names := map[ir.Pos]string{}
	for _, p := range pkgs {
		dir := p.DisplayDir
		if dir == "" {
			dir = p.Path
		}
		for _, f := range p.Files {
			if !p.Compiles(f) {
				continue
			}
			fset := token.NewFileSet()
			tree, err := parser.ParseFile(fset, path.Join(dir, path.Base(f.Name)), f.Text, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				assigned(n, func(name *ast.Ident, at token.Pos) {
					p := fset.Position(at)
					if key := (ir.Pos{File: p.Filename, Line: p.Line, Col: p.Column}); at.IsValid() && name.Name != "_" && names[key] == "" {
						names[key] = name.Name
					}
				})
				return true
			})
		}
	}
	return func(p ir.Pos) string { return names[p] }, nil
}

// assigned calls name for the variables that a statement sets, with the position that
// go/ssa gives to the values.
func assigned(n ast.Node, name func(*ast.Ident, token.Pos)) {
	set := func(to ast.Expr, value ast.Expr) {
		if id, ok := to.(*ast.Ident); ok {
			name(id, id.Pos()) // of a variable with several values
			name(id, valuePos(value))
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if id, ok := n.Lhs[0].(*ast.Ident); ok && n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
			name(id, n.TokPos)
			return
		}
		for i := range n.Lhs {
			if len(n.Rhs) == len(n.Lhs) {
				set(n.Lhs[i], n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		for i, id := range n.Names {
			name(id, id.Pos())
			if len(n.Values) == len(n.Names) {
				set(id, n.Values[i])
			}
		}
	case *ast.IncDecStmt:
		if id, ok := n.X.(*ast.Ident); ok {
			name(id, n.TokPos)
		}
	case *ast.RangeStmt:
		for _, x := range []ast.Expr{n.Key, n.Value} {
			if id, ok := x.(*ast.Ident); ok {
				name(id, id.Pos())
			}
		}
	}
}

// valuePos returns the position that go/ssa gives the value of an expression.
func valuePos(x ast.Expr) token.Pos {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return valuePos(x.X)
	case *ast.BinaryExpr:
		return x.OpPos
	case *ast.UnaryExpr:
		return x.OpPos
	case *ast.StarExpr:
		return x.Star
	case *ast.IndexExpr:
		return x.Lbrack
	case *ast.SelectorExpr:
		return x.Sel.Pos()
	case *ast.CallExpr:
		// A conversion to the type that its operand has is nothing to go/ssa.
		if id, ok := x.Fun.(*ast.Ident); ok && len(x.Args) == 1 && types.Universe.Lookup(id.Name) != nil {
			if p := valuePos(x.Args[0]); p.IsValid() {
				return p
			}
		}
		return x.Lparen
	}
	return token.NoPos
}
