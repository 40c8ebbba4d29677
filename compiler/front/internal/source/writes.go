package source

import (
	"fmt"
	"go/ast"
	"go/token"
)

// Written finds the writes of all code of the package, that of the host too.
func (u *Unit) Written() *Writes {
	u.writesOnce.Do(func() {
		u.writes = &Writes{Own: map[string]Write{}, Others: map[string][]Write{}}
		for _, f := range u.Files {
			s := writeScan{u: u, f: f}
			ast.Inspect(f.Tree, s.visit)
		}
	})
	return u.writes
}

type writeScan struct {
	u *Unit
	f *File
}

func (s *writeScan) visit(n ast.Node) bool {
	const assigned, addressed = "is assigned", "has its address taken"
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, x := range n.Lhs {
				s.note(x, assigned)
			}
		}
	case *ast.IncDecStmt:
		s.note(n.X, assigned)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			s.note(n.Key, assigned)
			s.note(n.Value, assigned)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.note(n.X, addressed)
		}
	case *ast.SliceExpr:
		s.note(n.X, "is sliced")
	case *ast.SelectorExpr:
		if s.byPointer(n.Sel.Name) {
			s.note(n.X, fmt.Sprintf("has its address taken by the call of method %s", n.Sel.Name))
		}
	}
	return true
}

// byPointer reports whether a type of the package has a method of this name that takes a pointer.
func (s *writeScan) byPointer(method string) bool {
	for _, methods := range s.u.Methods {
		if m := methods[method]; m != nil {
			if _, ok := m.Node.(*ast.FuncDecl).Recv.List[0].Type.(*ast.StarExpr); ok {
				return true
			}
		}
	}
	return false
}

// note records what is done to the package variable that x is, or is a part of.
func (s *writeScan) note(x ast.Expr, what string) {
	w := Write{File: s.f, What: what}
	for {
		switch e := x.(type) {
		case *ast.ParenExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.SelectorExpr:
			if id, ok := e.X.(*ast.Ident); ok && id.Obj == nil && s.u.Decls[id.Name] == nil {
				w.Pos, w.Package = e.Pos(), id.Name
				s.u.writes.Others[e.Sel.Name] = append(s.u.writes.Others[e.Sel.Name], w)
				return
			}
			x = e.X
		case *ast.Ident:
			if e.Obj != nil && s.f.Tree.Scope.Objects[e.Name] != e.Obj {
				return // a local variable
			}
			if _, known := s.u.writes.Own[e.Name]; !known {
				w.Pos = e.Pos()
				s.u.writes.Own[e.Name] = w
			}
			return
		default:
			return
		}
	}
}
