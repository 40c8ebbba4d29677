package source

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/input"
)

// Literal is a function literal in a unit.
type Literal struct {
	File *File
	Node *ast.FuncLit
	Decl *Decl    // that it stands in, nil for a variable
	top  ast.Decl // its syntax
	Name string   // outer function and number of the literal in it
}

// Literal finds the literal that f names.
func (u *Unit) Literal(f input.Func) *Literal {
	for l := range u.Literals {
		if p := l.File.Tok.Position(l.Node.Pos()); p.Line == f.Line && p.Column == f.Col && path.Base(l.File.Name) == f.File {
			return l
		}
	}
	return nil
}

// Literals yields all function literals of a unit.
func (u *Unit) Literals(yield func(*Literal) bool) {
	for _, f := range u.Files {
		for _, top := range f.Tree.Decls {
			n, more := 0, true
			name := topName(top)
			ast.Inspect(top, func(x ast.Node) bool {
				if lit, ok := x.(*ast.FuncLit); ok && more {
					n++
					more = yield(&Literal{File: f, Node: lit, Decl: u.declOf(top), top: top, Name: fmt.Sprintf("%s.func%d", name, n)})
				}
				return more
			})
			if !more {
				return
			}
		}
	}
}

// topName returns the name of what n declares, of the first if there are several.
func topName(n ast.Decl) string {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if r := receiverName(n); r != "" {
			return r + "." + n.Name.Name
		}
		return n.Name.Name
	case *ast.GenDecl:
		if len(n.Specs) > 0 {
			if v, ok := n.Specs[0].(*ast.ValueSpec); ok {
				return v.Names[0].Name
			}
		}
	}
	return "_"
}

// declOf returns the declaration that stands for the syntax n, nil for variables,
// which kernels cannot reach.
func (u *Unit) declOf(n ast.Decl) *Decl {
	fn, ok := n.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	d := u.Decls[fn.Name.Name]
	if r := receiverName(fn); r != "" {
		d = u.Methods[r][fn.Name.Name]
	}
	for ; d != nil; d = d.Next {
		if d.Node == n {
			return d
		}
	}
	return nil
}

// Outer is the name of the declaration that l stands in.
func (l *Literal) Outer() string { return l.Name[:strings.LastIndexByte(l.Name, '.')] }

// Scope is what a literal takes from the function around it.
type Scope struct {
	Captured []Capture
	decls    []ast.Decl // of constants and types, in order
	params   []param    // type parameters that are used
	used     map[string]bool
}

// Capture is a use of a variable that is declared around a literal.
type Capture struct {
	Use *ast.Ident
	Def token.Pos
}

type param struct {
	name       string
	constraint ast.Expr
}

// Generic reports whether type parameters are among it.
func (s *Scope) Generic() bool { return len(s.params) > 0 }

// Scope finds what l takes from around it, by the parser's resolution of names.
func (l *Literal) Scope() *Scope {
	s := &Scope{used: map[string]bool{}}
	seen := map[any]bool{}
	s.walk(l, l.Node, seen)
	s.params = s.needed(typeParams(l))
	slices.SortFunc(s.decls, func(a, b ast.Decl) int { return int(a.Pos() - b.Pos()) })
	s.decls = slices.Compact(s.decls)
	return s
}

func (s *Scope) walk(l *Literal, n ast.Node, seen map[any]bool) {
	keys := map[*ast.Ident]bool{} // of composite literals: names of fields, or constants
	sels := map[*ast.Ident]bool{}
	ast.Inspect(n, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.KeyValueExpr:
			if id, ok := x.Key.(*ast.Ident); ok {
				keys[id] = true
			}
		case *ast.SelectorExpr:
			sels[x.Sel] = true
		case *ast.Ident:
			if x.Obj == nil && !sels[x] {
				s.used[x.Name] = true // the parser does not resolve type parameters of receivers
			}
			if x.Obj != nil && !seen[x.Obj] && l.outside(x) && !(keys[x] && x.Obj.Kind == ast.Var) {
				seen[x.Obj] = true
				s.take(l, x, n != ast.Node(l.Node), seen)
			}
		}
		return true
	})
}

// outside reports whether a name is declared in the function around l.
func (l *Literal) outside(id *ast.Ident) bool {
	if l.File.Tree.Scope.Objects[id.Name] == id.Obj {
		return false
	}
	return id.Obj.Pos() < l.Node.Pos() || id.Obj.Pos() >= l.Node.End()
}

// take records a name that the literal uses or, if local, a declaration that it
// needs, whose variables are fields.
func (s *Scope) take(l *Literal, use *ast.Ident, local bool, seen map[any]bool) {
	switch use.Obj.Kind {
	case ast.Var:
		if !local {
			s.Captured = append(s.Captured, Capture{use, use.Obj.Pos()})
		}
	case ast.Con, ast.Typ:
		if d := l.declaring(use.Obj.Decl); d != nil {
			s.decls = append(s.decls, d)
			s.walk(l, d, seen)
		} else {
			s.used[use.Name] = true
		}
	}
}

// needed returns the type parameters that are used, in the constraints of such
// too.
func (s *Scope) needed(all []param) (out []param) {
	for range all { // each round finds one more, or none does
		for _, p := range all {
			if s.used[p.name] {
				ast.Inspect(p.constraint, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						s.used[id.Name] = true
					}
					return true
				})
			}
		}
	}
	for _, p := range all {
		if s.used[p.name] {
			out = append(out, p)
		}
	}
	return out
}

// declaring returns the local declaration that has a specification, nil for a type parameter. Of a
// group of types it is the one, of a group of constants all: they may count by
// iota.
func (l *Literal) declaring(of any) (out ast.Decl) {
	ast.Inspect(l.top, func(n ast.Node) bool {
		g, ok := n.(*ast.GenDecl)
		if !ok {
			return out == nil
		}
		for _, spec := range g.Specs {
			switch {
			case any(spec) != of:
			case g.Tok == token.TYPE && len(g.Specs) > 1:
				out = &ast.GenDecl{TokPos: spec.Pos(), Tok: g.Tok, Specs: []ast.Spec{spec}}
			default:
				out = g
			}
		}
		return true
	})
	return out
}

// typeParams returns the type parameters of the function that l stands in.
func typeParams(l *Literal) (out []param) {
	fn, ok := l.top.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	var list []param
	if fn.Type.TypeParams != nil {
		list = paramList(fn.Type.TypeParams)
	} else if names := receiverParams(fn); len(names) > 0 {
		d := l.File.Unit.Decls[receiverName(fn)]
		if d == nil {
			return nil
		}
		if g, ok := d.Node.(*ast.GenDecl); ok {
			list = paramList(g.Specs[0].(*ast.TypeSpec).TypeParams)
		}
		for i := range min(len(list), len(names)) {
			list[i].name = names[i]
		}
	}
	return list
}

func paramList(fields *ast.FieldList) (out []param) {
	if fields == nil {
		return nil
	}
	for _, f := range fields.List {
		for _, id := range f.Names {
			out = append(out, param{id.Name, f.Type})
		}
	}
	return out
}

// receiverParams returns the names of the type parameters of a receiver.
func receiverParams(n *ast.FuncDecl) (names []string) {
	if n.Recv == nil || len(n.Recv.List) == 0 {
		return nil
	}
	t := n.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	var list []ast.Expr
	switch x := t.(type) {
	case *ast.IndexExpr:
		list = []ast.Expr{x.Index}
	case *ast.IndexListExpr:
		list = x.Indices
	}
	for _, x := range list {
		if id, ok := x.(*ast.Ident); ok {
			names = append(names, id.Name)
		}
	}
	return names
}

// Hoist makes a function of package level that holds the literal:
//
//	func name[T dsl.Float]() func(a T) T { const c = 1; { return func(a T) T { … } } }
//
// The literal, and the local constants and types that it uses, are the nodes of
// its file, with their positions; all else is new. The result serves to infer T,
// and is left out where there is none.
func (l *Literal) Hoist(name string, s *Scope) (*Decl, error) {
	text := "package " + l.File.Package.Name + "; func " + name
	for i, p := range s.params {
		text += map[bool]string{true: "[", false: ", "}[i == 0] + p.name + " " + types.ExprString(p.constraint)
	}
	if len(s.params) > 0 {
		text += "]() " + types.ExprString(l.Node.Type) + " {}"
	} else {
		text += "() {}"
	}
	tree, tok, err := ParseFile("literal", []byte(text), parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	fn, ok := tree.Decls[0].(*ast.FuncDecl)
	if !ok || len(tree.Decls) != 1 {
		return nil, errors.New("its types cannot be written down")
	}
	body := fn.Body
	fn.Type.Func, body.Rbrace = l.top.Pos(), l.top.End() // by which go/ssa knows local types
	for _, d := range s.decls {
		inner := &ast.BlockStmt{Lbrace: d.Pos(), Rbrace: d.End()}
		body.List = append(body.List, &ast.DeclStmt{Decl: d}, inner)
		body = inner
	}
	if len(s.params) > 0 {
		body.List = append(body.List, &ast.ReturnStmt{Return: l.Node.Pos(), Results: []ast.Expr{l.Node}})
	} else {
		blank := &ast.Ident{NamePos: l.Node.Pos(), Name: "_"}
		body.List = append(body.List, &ast.AssignStmt{Lhs: []ast.Expr{blank}, TokPos: l.Node.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{l.Node}})
	}
	c := &collector{r: &Refs{}, tree: l.File.Tree}
	c.walk(l.Node)
	for _, d := range s.decls {
		c.walk(d)
	}
	for _, p := range s.params {
		c.walk(p.constraint)
	}
	return &Decl{Unit: l.File.Unit, File: l.File, Ord: int(l.Node.Pos()), Name: name, Node: fn, Tok: tok, Refs: c.r}, nil
}
