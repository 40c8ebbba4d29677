package front

import (
	"go/ast"
	"go/token"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// A few lines can stand for a program of any size: what doubles in each of thirty functions,
// types or literals is a thousand million times as large in the end. These limits are far above
// what kernels need, and low enough that a compilation which reaches one takes seconds.
const (
	maxBranches = 1 << 12 // of a function
	maxExpanded = 1 << 12 // of generic functions, in all
	maxTypeArg  = 1 << 9  // types that a type argument is made of
)

// budget reports declarations that are too large to be type-checked and built, before that
// is tried: both take more than proportional time for them.
func (b *build) budget() {
	s := &measurer{b: b, decls: map[*source.Decl]int{}}
	for _, u := range b.order {
		if u.Lib {
			continue
		}
		for _, d := range b.part(u).fresh {
			s.check(d)
		}
	}
}

// measurer counts the fields of types, as they are written.
type measurer struct {
	b     *build
	decls map[*source.Decl]int
}

func (s *measurer) check(d *source.Decl) {
	switch n := d.Node.(type) {
	case *ast.FuncDecl:
		if n.Body == nil {
			return
		}
		if branches := countBranches(n.Body); branches > maxBranches {
			s.b.ReportFix(n.Name.Pos(), diag.TooLarge, "look the cases up in a slice, or take parts of the function out into others",
				"function %s has %d branches, more than %d", n.Name.Name, branches, maxBranches)
		}
		s.local(d, n.Body)
	case *ast.GenDecl:
		for _, spec := range n.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				s.spec(d, t, s.fields(d, nil, t.Type))
			}
		}
	}
}

func (s *measurer) spec(d *source.Decl, t *ast.TypeSpec, fields int) {
	if fields > gotype.MaxFields {
		s.b.ReportFix(t.Name.Pos(), diag.TooLarge, "use arrays, or slices that the kernel gets, for what is repeated",
			"type %s has more than %d fields, with those of its fields", t.Name.Name, gotype.MaxFields)
	}
}

// local measures the types that are declared in a function.
func (s *measurer) local(d *source.Decl, body ast.Node) {
	known := map[string]int{}
	ast.Inspect(body, func(n ast.Node) bool {
		if t, ok := n.(*ast.TypeSpec); ok {
			known[t.Name.Name] = s.fields(d, known, t.Type)
			s.spec(d, t, known[t.Name.Name])
		}
		return true
	})
}

// fields counts the fields of a type, at most a few more than gotype.MaxFields. Elements of arrays count
// once.
func (s *measurer) fields(d *source.Decl, local map[string]int, e ast.Expr) int {
	switch e := e.(type) {
	case *ast.Ident:
		if n, ok := local[e.Name]; ok {
			return n
		}
		return s.declared(d.Unit.Decls[e.Name])
	case *ast.ParenExpr:
		return s.fields(d, local, e.X)
	case *ast.SelectorExpr:
		return s.selected(d, e)
	case *ast.ArrayType:
		if e.Len != nil {
			return s.fields(d, local, e.Elt)
		}
	case *ast.StructType:
		n := 0
		for _, f := range e.Fields.List {
			n = min(n+max(len(f.Names), 1)*s.fields(d, local, f.Type), gotype.MaxFields+1)
		}
		return max(n, 1)
	case *ast.IndexExpr:
		return s.applied(d, local, e.X, e.Index)
	case *ast.IndexListExpr:
		return s.applied(d, local, e.X, e.Indices...)
	}
	return 1
}

// applied is the fields of an instance of a generic type, if each of its fields has the type
// of the largest argument.
func (s *measurer) applied(d *source.Decl, local map[string]int, x ast.Expr, args ...ast.Expr) int {
	largest := 1
	for _, a := range args {
		largest = max(largest, s.fields(d, local, a))
	}
	return min(s.fields(d, local, x)*largest, gotype.MaxFields+1)
}

func (s *measurer) selected(d *source.Decl, e *ast.SelectorExpr) int {
	pkg, ok := e.X.(*ast.Ident)
	if !ok {
		return 1
	}
	_, u, err := s.b.findImport(d.File, pkg.Name)
	if u == nil || err != nil || u.Lib {
		return 1
	}
	return s.declared(u.Decls[e.Sel.Name])
}

func (s *measurer) declared(d *source.Decl) int {
	if d == nil || d.OfLibrary() {
		return 1
	}
	if n, ok := s.decls[d]; ok {
		return n
	}
	s.decls[d] = 1 // of a type within itself, which the type checker refuses
	d.Load()
	g, ok := d.Node.(*ast.GenDecl)
	if !ok {
		return 1
	}
	for _, spec := range g.Specs {
		if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == d.Name {
			s.decls[d] = s.fields(d, nil, t.Type)
		}
	}
	return s.decls[d]
}

// countBranches counts the statements of a function that branch or jump.
func countBranches(body ast.Node) int {
	n := 0
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.BranchStmt:
			n++
		case *ast.CaseClause:
			n += max(len(node.List), 1)
		case *ast.BinaryExpr:
			if node.Op == token.LAND || node.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}
