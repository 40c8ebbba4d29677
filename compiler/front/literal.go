package front

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
)

// literal is a function literal in a unit.
type literal struct {
	file *file
	node *ast.FuncLit
	decl *decl    // that it stands in, nil for a variable
	top  ast.Decl // its syntax
	name string   // outer function and number of the literal in it
}

// literal finds the literal that f names.
func (u *unit) literal(f Func) *literal {
	for l := range u.literals {
		if p := l.file.tok.Position(l.node.Pos()); p.Line == f.Line && p.Column == f.Col && path.Base(l.file.name) == f.File {
			return l
		}
	}
	return nil
}

// literals yields all function literals of a unit.
func (u *unit) literals(yield func(*literal) bool) {
	for _, f := range u.files {
		for _, top := range f.tree.Decls {
			n, more := 0, true
			name := topName(top)
			ast.Inspect(top, func(x ast.Node) bool {
				if lit, ok := x.(*ast.FuncLit); ok && more {
					n++
					more = yield(&literal{file: f, node: lit, decl: u.declOf(top), top: top, name: fmt.Sprintf("%s.func%d", name, n)})
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
func (u *unit) declOf(n ast.Decl) *decl {
	fn, ok := n.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	d := u.decls[fn.Name.Name]
	if r := receiverName(fn); r != "" {
		d = u.methods[r][fn.Name.Name]
	}
	for ; d != nil; d = d.next {
		if d.node == n {
			return d
		}
	}
	return nil
}

func (l *literal) outer() string { return l.name[:strings.LastIndexByte(l.name, '.')] }

// scope is what a literal takes from the function around it.
type scope struct {
	captured []capture
	decls    []ast.Decl // of constants and types, in order
	params   []param    // type parameters that are used
	used     map[string]bool
}

type capture struct {
	use *ast.Ident
	def token.Pos
}

type param struct {
	name       string
	constraint ast.Expr
}

// scope finds what l takes from around it, by the parser's resolution of names.
func (l *literal) scope() *scope {
	s := &scope{used: map[string]bool{}}
	seen := map[any]bool{}
	s.walk(l, l.node, seen)
	s.params = s.needed(typeParams(l))
	slices.SortFunc(s.decls, func(a, b ast.Decl) int { return int(a.Pos() - b.Pos()) })
	s.decls = slices.Compact(s.decls)
	return s
}

func (s *scope) walk(l *literal, n ast.Node, seen map[any]bool) {
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
				s.take(l, x, n != ast.Node(l.node), seen)
			}
		}
		return true
	})
}

// outside reports whether a name is declared in the function around l.
func (l *literal) outside(id *ast.Ident) bool {
	if l.file.tree.Scope.Objects[id.Name] == id.Obj {
		return false
	}
	return id.Obj.Pos() < l.node.Pos() || id.Obj.Pos() >= l.node.End()
}

// take records a name that the literal uses or, if local, a declaration that it
// needs, whose variables are fields.
func (s *scope) take(l *literal, use *ast.Ident, local bool, seen map[any]bool) {
	switch use.Obj.Kind {
	case ast.Var:
		if !local {
			s.captured = append(s.captured, capture{use, use.Obj.Pos()})
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
func (s *scope) needed(all []param) (out []param) {
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
func (l *literal) declaring(of any) (out ast.Decl) {
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
func typeParams(l *literal) (out []param) {
	fn, ok := l.top.(*ast.FuncDecl)
	if !ok {
		return nil
	}
	var list []param
	if fn.Type.TypeParams != nil {
		list = paramList(fn.Type.TypeParams)
	} else if names := receiverParams(fn); len(names) > 0 {
		d := l.file.unit.decls[receiverName(fn)]
		if d == nil {
			return nil
		}
		if g, ok := d.node.(*ast.GenDecl); ok {
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

// hoist makes a function of package level that holds the literal:
//
//	func name[T dsl.Float]() func(a T) T { const c = 1; { return func(a T) T { … } } }
//
// The literal, and the local constants and types that it uses, are the nodes of
// its file, with their positions; all else is new. The result serves to infer T,
// and is left out where there is none.
func (l *literal) hoist(name string, s *scope) (*decl, error) {
	text := "package " + l.file.pkg.Name + "; func " + name
	for i, p := range s.params {
		text += map[bool]string{true: "[", false: ", "}[i == 0] + p.name + " " + types.ExprString(p.constraint)
	}
	if len(s.params) > 0 {
		text += "]() " + types.ExprString(l.node.Type) + " {}"
	} else {
		text += "() {}"
	}
	tree, tok, err := parseFile("literal", []byte(text), parser.SkipObjectResolution)
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
		body.List = append(body.List, &ast.ReturnStmt{Return: l.node.Pos(), Results: []ast.Expr{l.node}})
	} else {
		blank := &ast.Ident{NamePos: l.node.Pos(), Name: "_"}
		body.List = append(body.List, &ast.AssignStmt{Lhs: []ast.Expr{blank}, TokPos: l.node.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{l.node}})
	}
	c := &collector{r: &refs{}, tree: l.file.tree}
	c.walk(l.node)
	for _, d := range s.decls {
		c.walk(d)
	}
	for _, p := range s.params {
		c.walk(p.constraint)
	}
	return &decl{unit: l.file.unit, file: l.file, ord: int(l.node.Pos()), name: name, node: fn, tok: tok, refs: c.r}, nil
}
