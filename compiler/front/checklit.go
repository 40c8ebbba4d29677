package front

import (
	"bytes"
	"go/ast"
	"path"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/lower"
	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// jitPath is the package where function literals become handles.
const jitPath = "github.com/gokiln/kiln/jit"

// compilers are the functions, by import path and name, whose argument is
// compiled if it is a function literal.
var compilers = map[string]string{jitPath: "Func"}

// checkLiterals reports mistakes in the function literals of u that are made
// into kernel functions on the spot, as in jit.Func(func(x float32) float32 …).
func checkLiterals(u *source.Unit, load Loader) (list diag.List) {
	var asked map[*ast.FuncLit]bool
	for _, f := range u.Files {
		asked = compiled(f, asked)
	}
	if len(asked) == 0 {
		return nil
	}
	for l := range u.Literals {
		if asked[l.Node] {
			b := newBuild(load)
			b.units[u.Path] = u
			at := l.File.Tok.Position(l.Node.Pos())
			f := Func{Pkg: u.Path, File: path.Base(l.File.Name), Line: at.Line, Col: at.Column}
			list = append(list, b.attemptFunc(f)...)
		}
	}
	return list
}

// HasLiterals reports whether a file has function literals that [Check] looks at.
func HasLiterals(f File) bool {
	if !bytes.Contains(f.Text, []byte(`"`+jitPath+`"`)) {
		return false
	}
	for _, f := range source.Parse(&Package{Files: []File{f}}).Files {
		if len(compiled(f, nil)) > 0 {
			return true
		}
	}
	return false
}

// compiled adds the literals of a file that are arguments of compilers.
func compiled(f *source.File, to map[*ast.FuncLit]bool) map[*ast.FuncLit]bool {
	names := map[string]string{} // of imports -> function
	for _, im := range f.Imports {
		if fn := compilers[im.Path]; fn != "" && im.Name == "" {
			names[path.Base(im.Path)] = fn
		} else if fn != "" {
			names[im.Name] = fn
		}
	}
	if len(names) == 0 {
		return to
	}
	if to == nil {
		to = map[*ast.FuncLit]bool{}
	}
	ast.Inspect(f.Tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		id, ok := sel.X.(*ast.Ident)
		lit, isLit := ast.Unparen(call.Args[0]).(*ast.FuncLit)
		if ok && isLit && id.Obj == nil && names[id.Name] == sel.Sel.Name {
			to[lit] = true
		}
		return true
	})
	return to
}

// CheckFunc reports all mistakes in a function that kernels are to be compiled
// with, as a [diag.List].
func CheckFunc(f Func, load Loader) error { return newBuild(load).attemptFunc(f).Sorted().Err() }

// attemptFunc compiles a function as far as it can be without a kernel.
func (b *build) attemptFunc(f Func) (list diag.List) {
	var err error
	defer func() {
		if d, ok := err.(diag.List); ok {
			list = d
		}
	}()
	defer b.recoverInternal(f.String(), &err)
	b.untyped = f.Sig == ""
	if !b.bind(map[string]Func{"": f}) {
		return b.Diags
	}
	b.check()
	b.subset()
	if len(b.Diags) > 0 {
		return b.Diags
	}
	if b.reachDispatch(); len(b.Diags) > 0 {
		return b.Diags
	}
	b.buildSSA()
	n := b.bound[""]
	if fn := b.boundFunc(n); fn != nil && instantiated(fn) {
		lower.Func(b.lowered(n.name, fn))
	}
	return b.Diags
}

// instantiated reports whether fn has types, of its own and around it.
func instantiated(fn *ssa.Function) bool {
	for ; fn != nil; fn = fn.Parent() {
		if fn.TypeParams().Len() > len(fn.TypeArgs()) {
			return false
		}
	}
	return true
}
