package front

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// bind reaches the functions of a request. Each literal is moved into a function
// of its own, for the declaration that it stands in is host code. What bind
// cannot reach has no meaning to check: it reports false.
func (b *build) bind(funcs map[string]Func) (ok bool) {
	if len(funcs) == 0 {
		return true
	}
	ok = true
	b.bound = map[string]*binding{}
	for i, key := range slices.Sorted(maps.Keys(funcs)) {
		f := funcs[key]
		u, err := b.unit(f.Pkg)
		if err != nil {
			b.Diags.Add(diag.New(diag.Position{File: f.Pkg}, diag.NoSource, err.Error(), ""))
			ok = false
			continue
		}
		n := &binding{Func: f, unit: u, lit: f.Name == ""}
		b.bound[key] = n
		if n.lit {
			ok = b.bindLiteral(n, i) && ok
		} else {
			ok = b.bindNamed(n, i) && ok
		}
	}
	return b.apart() && ok
}

// bindNamed reaches a function of a package.
func (b *build) bindNamed(n *binding, i int) bool {
	name, args, _ := strings.Cut(n.Name, "[")
	d := n.unit.Decls[name]
	if d == nil {
		b.Diags.Add(diag.New(diag.Position{File: n.Pkg}, diag.NoKernel, fmt.Sprintf("package %s has no function %s", n.Pkg, name), ""))
		return false
	}
	d.Load()
	b.AddFile(d.Tok)
	b.AddFile(d.File.Tok)
	fn, ok := d.Node.(*ast.FuncDecl)
	if !ok {
		b.Report(d.Node.Pos(), diag.BadRequest, "", "%s is not a function", name)
		return false
	}
	n.pos, n.name, n.global = fn.Name.Pos(), n.unit.Name+"."+n.Name, n.Name
	if (d.Marks.Intrinsic || d.Marks.Dispatch) && (!b.untyped || fn.Type.TypeParams == nil) {
		return b.bindCall(n, i, fn)
	}
	switch {
	case fn.Type.TypeParams == nil && args == "" || b.untyped:
		b.reach(d)
		return true
	case n.Sig == "" && args == "":
		b.Report(n.pos, diag.BadRequest, "name an instance, such as "+name+"[float32]", "%s is generic", n.what())
		return false
	}
	return b.bindInstance(n, i, n.Name, n.Sig)
}

// bindInstance reaches a generic function by a variable of its type.
func (b *build) bindInstance(n *binding, i int, name, sig string) bool {
	n.global, n.inst = fmt.Sprintf("kilnBound%d", i), true
	text, imports := byImports(withDSL(n.unit, "package "+n.unit.Name+"; var "+n.global+" "+sig+" = "+name))
	tree, tok, err := source.ParseFile("instance", []byte(text), 0)
	if err != nil || n.lit && n.Sig == "" || !plainInstance(tree) {
		b.Report(n.pos, diag.BadRequest, "", "%q is no instance of %s", strings.TrimSpace(name+" "+n.Sig), n.what())
		return false
	}
	n.tok = tok
	in := &instance{tok: tok, imports: imports}
	d := in.decl(n.unit, tree)
	d.Name, d.File.Ord = n.global, d.File.Ord+1+i
	b.reach(d)
	return true
}

// bindCall reaches a function that is nothing but a call of one without a body: of an
// intrinsic function of package dsl, or one of those that stand for others by type.
func (b *build) bindCall(n *binding, i int, fn *ast.FuncDecl) bool {
	sig := n.Sig
	if sig == "" {
		sig = types.ExprString(fn.Type)
	}
	sig, imports := byImports(dslWord.ReplaceAllString(sig, ""))
	n.global = fmt.Sprintf("kilnBound%d", i)
	text, err := callText(n.global, n.Name, sig)
	if err != nil {
		b.Report(n.pos, diag.BadRequest, "", "%q is no instance of %s", strings.TrimSpace(n.Name+" "+n.Sig), n.what())
		return false
	}
	tree, tok, err := source.ParseFile("instance", []byte("package "+n.unit.Name+"; "+text), 0)
	if err != nil || len(tree.Decls) != 1 {
		b.Report(n.pos, diag.BadRequest, "", "%q is no instance of %s", strings.TrimSpace(n.Name+" "+n.Sig), n.what())
		return false
	}
	n.tok = tok
	f := &source.File{Name: "instance", Ord: 1<<30 + 1 + i, Package: tree.Name, Tok: tok, Imports: append(imports, libImport("float16", input.Float16))}
	b.reach(&source.Decl{Unit: n.unit, File: f, Name: n.global, Node: tree.Decls[0], Refs: source.Collect(tree.Decls[0], tree)})
	return true
}

// callText declares a function of a type that calls another one.
func callText(name, called, sig string) (string, error) {
	x, err := parser.ParseExpr(sig)
	if err != nil {
		return "", err
	}
	typ, ok := x.(*ast.FuncType)
	if !ok {
		return "", fmt.Errorf("%s is no type of functions", sig)
	}
	text := func(x ast.Node) string { return sig[x.Pos()-1 : x.End()-1] }
	var params, args []string
	for _, f := range typ.Params.List {
		for range max(1, len(f.Names)) {
			arg := fmt.Sprintf("a%d", len(args))
			params, args = append(params, arg+" "+text(f.Type)), append(args, arg)
		}
	}
	result, word := "", ""
	if typ.Results != nil {
		result, word = text(typ.Results), "return "
	}
	return fmt.Sprintf("func %s(%s) %s { %s%s(%s) }", name, strings.Join(params, ", "), result, word, called, strings.Join(args, ", ")), nil
}

// bindLiteral reaches a function literal.
func (b *build) bindLiteral(n *binding, i int) bool {
	lit := n.unit.Literal(n.Func)
	if lit == nil {
		at := diag.Position{File: path.Join(n.Pkg, n.File), Line: n.Line, Col: n.Col}
		b.Diags.Add(diag.New(at, diag.BadRequest, "no function literal begins here", ""))
		return false
	}
	b.AddFile(lit.File.Tok)
	n.pos, n.name = lit.Node.Pos(), n.unit.Name+"."+lit.Name
	outer := lit.Scope()
	for _, c := range outer.Captured {
		b.Report(c.Use.Pos(), diag.Capture, "", "function literal captures variable %s, which is declared at %s", c.Use.Name, b.Position(c.Def))
	}
	if len(outer.Captured) > 0 {
		return false
	}
	n.global = fmt.Sprintf("kilnLiteral%d", i)
	d, err := lit.Hoist(n.global, outer)
	if err != nil {
		b.Report(n.pos, diag.BadRequest, "", "function literal cannot be taken out of %s: %v", lit.Outer(), err)
		return false
	}
	b.AddFile(d.Tok)
	b.synth = append(b.synth, d.Tok)
	b.reach(d)
	if b.seen[lit.Decl] {
		b.Report(n.pos, diag.Recursion, "", "function literal uses %s, which it is part of", lit.Decl.Name)
		return false
	}
	if outer.Generic() && !b.untyped {
		return b.bindInstance(n, i, n.global, "func() "+n.Sig)
	}
	return true
}

// apart reports literals inside of each other: their syntax is shared, and
// can be part of one function only.
func (b *build) apart() (ok bool) {
	ok = true
	for _, x := range b.bound {
		for _, y := range b.bound {
			if x.lit && y.lit && x.Pkg == y.Pkg && x.File == y.File {
				if l, m := x.unit.Literal(x.Func), y.unit.Literal(y.Func); l != nil && m != nil && l.Node.Pos() < m.Node.Pos() && m.Node.Pos() < l.Node.End() {
					b.Report(m.Node.Pos(), diag.Unsupported, "", "function literal stands inside of another that the kernel takes too: declare one as a function")
					ok = false
				}
			}
		}
	}
	return ok
}

// boundError reports a type error of a declaration made for a bound function; it
// reports false if pos is in none.
func (b *build) boundError(e types.Error) bool {
	for _, n := range b.bound {
		if n.tok != nil && within(n.tok, e.Pos) {
			b.ReportFix(n.pos, diag.Instantiation, "use a function whose type names all of its type parameters",
				"%s cannot be instantiated: %s", n.what(), e.Msg)
			return true
		}
	}
	for _, tok := range b.synth {
		if within(tok, e.Pos) {
			b.Diags.Add(diag.New(b.Position(e.Pos), diag.TypeError, e.Msg, ""))
			return true
		}
	}
	return false
}

func within(f *token.File, pos token.Pos) bool {
	return int(pos) >= f.Base() && int(pos) <= f.Base()+f.Size()
}

// boundFunc returns the SSA function of a binding, nil if there is none because
// of a mistake.
func (b *build) boundFunc(n *binding) *ssa.Function {
	pkg := b.part(n.unit).ssa
	fn := pkg.Func(n.global)
	if n.inst {
		fn = storedFunc(pkg, n.global)
	}
	if n.lit && fn != nil {
		if len(fn.AnonFuncs) == 0 {
			return nil
		}
		fn = fn.AnonFuncs[0]
	}
	return fn
}
