package input

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// A Literal is what a running program knows of a function literal: the line it
// begins on, and its type.
type Literal struct {
	File            string   // base name
	Line            int      // of the word func
	Params, Results []string // types; "" for one that is not predeclared and may be any
}

// FindLiteral finds a function literal in the source of its package. The line
// alone is enough unless it has several literals of that type.
func FindLiteral(p *Package, want Literal) (Func, error) {
	i := slices.IndexFunc(p.Files, func(f File) bool { return f.Name == want.File })
	if i < 0 {
		return Func{}, fmt.Errorf("file %s is not among the source files that package %s embeds: have its //go:embed line take it in", want.File, p.Path)
	}
	if !p.Files[i].Wanted() {
		return Func{}, fmt.Errorf("file %s of package %s has a build constraint that leaves it out of kernel code, which is the same for all targets: move the function to a file without one", want.File, p.Path)
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, want.File, p.Files[i].Text, parser.SkipObjectResolution)
	if err != nil {
		return Func{}, fmt.Errorf("reading source of %s: %w", p.Path, err)
	}
	var found []Func
	var types []*ast.FuncType
	var outer *ast.FuncDecl
	wrapped := false // the literal is inside a generic function
	ast.Inspect(tree, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		at := fset.Position(n.Pos())
		switch n := n.(type) {
		case *ast.FuncDecl:
			outer = n
		case *ast.FuncLit:
			if at.Line == want.Line && want.is(n.Type, nil) {
				found = append(found, Func{Pkg: p.Path, File: want.File, Line: at.Line, Col: at.Column})
				types = append(types, n.Type)
				wrapped = outer != nil && n.End() <= outer.End() && generic(outer)
			}
		}
		return true
	})
	if len(found) > 1 {
		found = want.among(found, types, p)
	}
	place := fmt.Sprintf("%s/%s:%d", p.Path, want.File, want.Line)
	switch {
	case len(found) == 0:
		return Func{}, fmt.Errorf("%s: no function literal of this type begins on this line; inside a generic function, an instance of a generic function cannot be told from a literal: pass it in", place)
	case len(found) > 1:
		return Func{}, fmt.Errorf("%s: %d function literals of the same type begin on this line, and a program cannot tell them apart: put each on a line of its own", place, len(found))
	case wrapped && instanceOn(fset, tree, want.Line):
		return Func{}, fmt.Errorf("%s: an instance of a generic function stands on the line of a function literal, inside a generic function, and a program cannot tell them apart: put each on a line of its own", place)
	}
	return found[0], nil
}

// among returns those of some literals that are of the type by what the package declares.
func (l Literal) among(found []Func, types []*ast.FuncType, p *Package) (left []Func) {
	names := declaredTypes(p)
	for i, t := range types {
		if l.is(t, names) {
			left = append(left, found[i])
		}
	}
	return left
}

const ownType = "type" // stands for one that is declared and no alias

// declaredTypes returns what the types that a package declares are: the name of another one
// for an alias, and "" for what is not known.
func declaredTypes(p *Package) map[string]string {
	names := map[string]string{}
	for _, f := range p.Files {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Text, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler reports it
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			if t, ok := n.(*ast.TypeSpec); ok {
				of := ownType
				if t.Assign.IsValid() {
					of = nameOf(t.Type)
				}
				if _, again := names[t.Name.Name]; again {
					of = "" // that of another function
				}
				names[t.Name.Name] = of
			}
			return true
		})
	}
	return names
}

// nameOf is the name that a type is, or "".
func nameOf(t ast.Expr) string {
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

func generic(n *ast.FuncDecl) bool {
	if n.Recv == nil || len(n.Recv.List) == 0 {
		return n.Type.TypeParams != nil
	}
	t := n.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	switch t.(type) {
	case *ast.IndexExpr, *ast.IndexListExpr:
		return true
	}
	return false
}

// is reports whether the type of a literal may be that of the function, where names, if it
// is not nil, is what types are declared as.
func (l Literal) is(t *ast.FuncType, names map[string]string) bool {
	return sameTypes(t.Params, l.Params, names) && sameTypes(t.Results, l.Results, names)
}

// sameTypes reports whether a list of parameters may have the given types.
func sameTypes(list *ast.FieldList, want []string, names map[string]string) bool {
	var have []string
	if list != nil {
		for _, f := range list.List {
			name := nameOf(f.Type)
			for range 10 { // of aliases, which may be a circle in source that does not compile
				of, declared := names[name]
				if !declared {
					break
				}
				name = of
			}
			for range max(1, len(f.Names)) {
				have = append(have, name)
			}
		}
	}
	return slices.EqualFunc(have, want, func(have, want string) bool {
		alias := map[string]string{"byte": "uint8", "rune": "int32"}
		if a := alias[have]; a != "" {
			have = a
		}
		return have == want || have == "" || want == "" || have != ownType && !predeclared(have)
	})
}

// predeclared reports whether Go declares a type of this name. Package go/types has them
// too, but is much of a program that only looks for kernels.
func predeclared(name string) bool { return slices.Contains(predeclaredTypes, name) }

var predeclaredTypes = []string{
	"any", "bool", "byte", "comparable", "complex128", "complex64", "error", "float32", "float64", "int", "int16", "int32",
	"int64", "int8", "rune", "string", "uint", "uint16", "uint32", "uint64", "uint8", "uintptr",
}

// instanceOn reports whether f[T] stands on a line and is not called. In a generic
// function the Go compiler makes a function of it that looks like a literal.
func instanceOn(fset *token.FileSet, tree *ast.File, line int) (found bool) {
	called := map[ast.Expr]bool{}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called[n.Fun] = true
		case *ast.IndexExpr, *ast.IndexListExpr:
			found = found || !called[n.(ast.Expr)] && fset.Position(n.Pos()).Line == line
		}
		return true
	})
	return found
}
