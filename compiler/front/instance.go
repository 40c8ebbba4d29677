package front

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// instanceVar is the variable that makes go/types and go/ssa instantiate a
// generic kernel: go/ssa has no public call for it, but
//
//	var kilnInstance func(dsl.Thread, []float32) = Scale
//
// infers the type arguments and creates the instance.
const instanceVar = "kilnInstance"

// addInstance reaches the kernel through a synthetic declaration if it is
// generic, else directly.
func (b *build) addInstance(u *source.Unit, kernel *source.Decl, req Request) {
	b.inst = &instance{kernel: kernel}
	kernel.Load()
	fn, ok := kernel.Node.(*ast.FuncDecl)
	if !ok || fn.Type.TypeParams == nil || req.Sig == "" && len(req.TypeArgs) == 0 {
		b.reach(kernel)
		return
	}
	text, imports := instanceText(u, kernel, req)
	tree, tok, err := source.ParseFile("instance", []byte(text), 0)
	if err != nil || !plainInstance(tree) {
		at := diag.Position{File: kernel.File.Name}
		want := req.Sig + strings.Join(req.TypeArgs, ", ")
		b.Diags.Add(diag.New(at, diag.BadRequest, fmt.Sprintf("%q is not a list of types for %s", want, kernel.Name), ""))
		b.reach(kernel)
		return
	}
	b.inst.tok, b.inst.imports = tok, imports
	b.reach(b.inst.decl(u, tree))
}

// instanceText declares the variable for a request, and lists the imports that
// the declaration wants besides those of the kernel.
func instanceText(u *source.Unit, kernel *source.Decl, req Request) (string, []*source.Import) {
	text := "package " + u.Name + "; var " + instanceVar
	if req.Sig != "" {
		text += " " + req.Sig + " = " + kernel.Name
	} else {
		text += " = " + kernel.Name + "[" + strings.Join(req.TypeArgs, ", ") + "]"
	}
	return byImports(withDSL(u, text))
}

// dslWord is package dsl in a text.
var dslWord = regexp.MustCompile(`\bdsl\.`)

// withDSL names package dsl by its path in a package that declares something of its name.
func withDSL(u *source.Unit, text string) string {
	if u.Decls["dsl"] == nil {
		return text
	}
	return dslWord.ReplaceAllString(text, `"`+input.DSL+`".`)
}

// byImports replaces the import paths in a text by names.
func byImports(text string) (string, []*source.Import) {
	var imports []*source.Import
	for _, path := range input.Packages(text) {
		name := importName(path)
		text = strings.ReplaceAll(text, `"`+path+`".`, name+".")
		imports = append(imports, libImport(name, path))
	}
	return text, imports
}

// importName makes a name of an import path, another one for each.
func importName(path string) string {
	var b strings.Builder
	b.WriteString("kiln_")
	for _, c := range []byte(path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// plainInstance guards against a signature that smuggles in other Go text.
func plainInstance(tree *ast.File) bool {
	if len(tree.Decls) != 1 {
		return false
	}
	g, ok := tree.Decls[0].(*ast.GenDecl)
	if !ok || len(g.Specs) != 1 {
		return false
	}
	v, ok := g.Specs[0].(*ast.ValueSpec)
	return ok && len(v.Values) == 1
}

func (in *instance) decl(u *source.Unit, tree *ast.File) *source.Decl {
	g := tree.Decls[0].(*ast.GenDecl)
	v := g.Specs[0].(*ast.ValueSpec)
	v.Type, v.Values[0] = unqualify(v.Type, u.Name), unqualify(v.Values[0], u.Name)
	f := &source.File{Name: "instance", Ord: 1 << 30, Package: tree.Name, Tok: in.tok}
	f.Imports = append(f.Imports, libImport("dsl", input.DSL), libImport("float16", input.Float16))
	f.Imports = append(f.Imports, in.imports...)
	for _, d := range u.Kernels {
		f.Imports = append(f.Imports, d.File.Imports...)
	}
	return &source.Decl{Unit: u, File: f, Name: instanceVar, Node: g, Refs: source.Collect(g, tree)}
}

func libImport(name, path string) *source.Import {
	lit := &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", path)}
	return &source.Import{Name: name, Path: path, Spec: &ast.ImportSpec{Path: lit}}
}

// unqualify rewrites pkg.Name to Name for the kernel's own package: that is how
// reflection prints its types.
func unqualify(x ast.Expr, own string) ast.Expr {
	if x == nil {
		return nil
	}
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if id, ok := x.X.(*ast.Ident); ok && id.Name == own && own != "dsl" {
			return x.Sel
		}
	case *ast.ArrayType:
		x.Elt = unqualify(x.Elt, own)
	case *ast.StarExpr:
		x.X = unqualify(x.X, own)
	case *ast.FuncType:
		for _, f := range x.Params.List {
			f.Type = unqualify(f.Type, own)
		}
		if x.Results != nil {
			for _, f := range x.Results.List {
				f.Type = unqualify(f.Type, own)
			}
		}
	case *ast.IndexExpr:
		x.X, x.Index = unqualify(x.X, own), unqualify(x.Index, own)
	case *ast.IndexListExpr:
		x.X = unqualify(x.X, own)
		for i := range x.Indices {
			x.Indices[i] = unqualify(x.Indices[i], own)
		}
	}
	return x
}

// instanceError reports a type error of the synthetic declaration at the
// kernel, which is where the user can look.
func (b *build) instanceError(e types.Error) {
	fn := b.inst.kernel.Node.(*ast.FuncDecl)
	if _, rest, ok := strings.Cut(e.Msg, "cannot infer "); ok && !strings.Contains(e.Msg, "does not match") {
		param := source.Ident(rest)
		for _, f := range fn.Type.TypeParams.List {
			for _, id := range f.Names {
				if id.Name == param {
					b.Report(id.Pos(), diag.Uninferable, "", "type parameter %s of %s cannot be inferred", param, fn.Name.Name)
					return
				}
			}
		}
	}
	msg := strings.Replace(e.Msg, " of "+instanceVar, "", 1)
	b.Report(fn.Name.Pos(), diag.Instantiation, "", "%s cannot be instantiated: %s", fn.Name.Name, msg)
}

// kernelFunc returns the SSA function of the requested kernel, nil if it is
// generic and nothing instantiates it.
func (b *build) kernelFunc(u *source.Unit) *ssa.Function {
	pkg := b.part(u).ssa
	if b.inst.tok == nil {
		fn := pkg.Func(b.inst.kernel.Name)
		if fn == nil || fn.TypeParams().Len() > 0 {
			return nil
		}
		return fn
	}
	return storedFunc(pkg, instanceVar)
}

// storedFunc returns the function that a variable of pkg is initialised with, nil
// if there is none.
func storedFunc(pkg *ssa.Package, name string) *ssa.Function {
	for _, blk := range pkg.Func("init").Blocks {
		for _, in := range blk.Instrs {
			st, ok := in.(*ssa.Store)
			if !ok {
				continue
			}
			if g, ok := st.Addr.(*ssa.Global); ok && g.Name() == name {
				fn, _ := st.Val.(*ssa.Function)
				return fn
			}
		}
	}
	return nil
}
