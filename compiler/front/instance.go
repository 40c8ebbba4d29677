package front

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/input"
)

// instanceVar is the variable that makes go/types and go/ssa instantiate a
// generic kernel: go/ssa has no public call for it, but
//
//	var kilnInstance func(dsl.Thread, []float32) = Scale
//
// infers the type arguments and creates the instance.
const instanceVar = "kilnInstance"

// instance is the synthetic declaration for one request.
type instance struct {
	kernel  *decl // nil if the declaration is for a function that a kernel is given
	tok     *token.File
	imports []*importSpec // that the request names by their paths
}

// addInstance reaches the kernel through a synthetic declaration if it is
// generic, else directly.
func (b *build) addInstance(u *unit, kernel *decl, req Request) {
	b.inst = &instance{kernel: kernel}
	kernel.load()
	fn, ok := kernel.node.(*ast.FuncDecl)
	if !ok || fn.Type.TypeParams == nil || req.Sig == "" && len(req.TypeArgs) == 0 {
		b.reach(kernel)
		return
	}
	text, imports := instanceText(u, kernel, req)
	tree, tok, err := parseFile("instance", []byte(text), 0)
	if err != nil || !plainInstance(tree) {
		at := diag.Position{File: kernel.file.name}
		want := req.Sig + strings.Join(req.TypeArgs, ", ")
		b.Diags.Add(diag.New(at, diag.BadRequest, fmt.Sprintf("%q is not a list of types for %s", want, kernel.name), ""))
		b.reach(kernel)
		return
	}
	b.inst.tok, b.inst.imports = tok, imports
	b.reach(b.inst.decl(u, tree))
}

// instanceText declares the variable for a request, and lists the imports that
// the declaration wants besides those of the kernel.
func instanceText(u *unit, kernel *decl, req Request) (string, []*importSpec) {
	text := "package " + u.name + "; var " + instanceVar
	if req.Sig != "" {
		text += " " + req.Sig + " = " + kernel.name
	} else {
		text += " = " + kernel.name + "[" + strings.Join(req.TypeArgs, ", ") + "]"
	}
	return byImports(u.withDSL(text))
}

// dslWord is package dsl in a text.
var dslWord = regexp.MustCompile(`\bdsl\.`)

// withDSL names package dsl by its path in a package that declares something of its name.
func (u *unit) withDSL(text string) string {
	if u.decls["dsl"] == nil {
		return text
	}
	return dslWord.ReplaceAllString(text, `"`+input.DSL+`".`)
}

// byImports replaces the import paths in a text by names.
func byImports(text string) (string, []*importSpec) {
	var imports []*importSpec
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

func (in *instance) decl(u *unit, tree *ast.File) *decl {
	g := tree.Decls[0].(*ast.GenDecl)
	v := g.Specs[0].(*ast.ValueSpec)
	v.Type, v.Values[0] = unqualify(v.Type, u.name), unqualify(v.Values[0], u.name)
	f := &file{name: "instance", ord: 1 << 30, pkg: tree.Name, tok: in.tok}
	f.imports = append(f.imports, libImport("dsl", input.DSL), libImport("float16", input.Float16))
	f.imports = append(f.imports, in.imports...)
	for _, d := range u.kernels {
		f.imports = append(f.imports, d.file.imports...)
	}
	return &decl{unit: u, file: f, name: instanceVar, node: g, refs: collect(g, tree)}
}

func libImport(name, path string) *importSpec {
	lit := &ast.BasicLit{Kind: token.STRING, Value: fmt.Sprintf("%q", path)}
	return &importSpec{name: name, path: path, spec: &ast.ImportSpec{Path: lit}}
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

// synthetic reports whether pos lies in the synthetic declaration.
func (b *build) synthetic(pos token.Pos) bool {
	if b.inst == nil || b.inst.tok == nil {
		return false
	}
	f := b.inst.tok
	return int(pos) >= f.Base() && int(pos) <= f.Base()+f.Size()
}

// instanceError reports a type error of the synthetic declaration at the
// kernel, which is where the user can look.
func (b *build) instanceError(e types.Error) {
	fn := b.inst.kernel.node.(*ast.FuncDecl)
	if _, rest, ok := strings.Cut(e.Msg, "cannot infer "); ok && !strings.Contains(e.Msg, "does not match") {
		param := ident(rest)
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
func (b *build) kernelFunc(u *unit) *ssa.Function {
	pkg := b.part(u).ssa
	if b.inst.tok == nil {
		fn := pkg.Func(b.inst.kernel.name)
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

// typeSet returns the types that a constraint lists, nil if it lists none.
func typeSet(t types.Type) []types.Type {
	iface, ok := t.Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var out []types.Type
	for e := range iface.EmbeddedTypes() {
		set := termTypes(e)
		if set == nil {
			continue // no restriction
		}
		if out == nil {
			out = set
			continue
		}
		out = intersect(out, set)
	}
	return out
}

func termTypes(t types.Type) []types.Type {
	if u, ok := t.(*types.Union); ok {
		var out []types.Type
		for term := range u.Terms() {
			if types.IsInterface(term.Type()) {
				out = append(out, typeSet(term.Type())...)
			} else {
				out = append(out, term.Type())
			}
		}
		return out
	}
	if types.IsInterface(t) {
		return typeSet(t)
	}
	return []types.Type{t}
}

func intersect(a, b []types.Type) []types.Type {
	out := []types.Type{}
	for _, x := range a {
		for _, y := range b {
			if types.Identical(x, y) {
				out = append(out, x)
				break
			}
		}
	}
	return out
}

// maxInstances bounds how many instances of a kernel Check builds. All types of
// dsl.Number fit.
const maxInstances = 16

// representatives returns lists of type arguments that together cover the
// types of each constraint, up to maxInstances. Where a constraint asks for
// methods they are a guess, the named types of the kernel's package.
func representatives(u *unit, fn *types.Signature) (out [][]string, guess bool) {
	var sets [][]string
	var free []typeParam // whose types are known
	n := 1
	for tp := range fn.TypeParams().TypeParams() {
		set := candidates(tp.Constraint())
		if len(set) > 0 {
			free = append(free, typeParam{tp.Obj().Name(), constraintName(tp.Constraint())})
		}
		sets = append(sets, set)
	}
	for i, set := range sets {
		if len(set) == 0 {
			set, guess = u.typesWith(methodNames(fn.TypeParams().At(i).Constraint()), free), true
			sets[i] = set
		}
		if len(set) == 0 {
			return nil, true
		}
		n = max(n, len(set))
	}
	for i := range min(n, maxInstances) {
		args := make([]string, len(sets))
		byParam := map[string]string{}
		for j, set := range sets {
			args[j] = set[i%len(set)]
			byParam[fn.TypeParams().At(j).Obj().Name()] = args[j]
		}
		for j := range args {
			args[j] = substitute(args[j], byParam)
		}
		out = append(out, args)
	}
	return out, guess
}

// candidates returns the types that a constraint lists, or two if it takes any,
// but none that lacks a method it asks for.
func candidates(constraint types.Type) (names []string) {
	set := typeSet(constraint)
	if len(set) == 0 {
		set = []types.Type{types.Typ[types.Float32], types.Typ[types.Int32]}
	}
	methods := 0
	if iface, ok := constraint.Underlying().(*types.Interface); ok {
		methods = iface.NumMethods()
	}
	for _, t := range set {
		if methods == 0 || types.Satisfies(t, constraint.Underlying().(*types.Interface)) {
			names = append(names, types.TypeString(types.Unalias(t), (*types.Package).Name))
		}
	}
	return names
}

// typeParam is a type parameter of a kernel, and the name of its constraint.
type typeParam struct{ name, constraint string }

func constraintName(t types.Type) string {
	return types.TypeString(types.Unalias(t), func(*types.Package) string { return "" })
}

func methodNames(constraint types.Type) (names []string) {
	if iface, ok := constraint.Underlying().(*types.Interface); ok {
		for m := range iface.Methods() {
			names = append(names, m.Name())
		}
	}
	return names
}

// typesWith returns the types of u that may have the methods, in order of the
// source. Generic types are written with type arguments, as in Gelu[C].
func (u *unit) typesWith(methods []string, free []typeParam) (names []string) {
	var found []*decl
	for _, d := range u.decls {
		d.load()
		if g, ok := d.node.(*ast.GenDecl); ok && g.Tok == token.TYPE && u.mayHave(d.name, g.Specs[0].(*ast.TypeSpec), methods) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *decl) int { return cmp.Or(cmp.Compare(a.file.ord, b.file.ord), cmp.Compare(a.ord, b.ord)) })
	for _, d := range found {
		for _, args := range typeArgTexts(d.node.(*ast.GenDecl).Specs[0].(*ast.TypeSpec), free) {
			names = append(names, d.name+args)
		}
	}
	return names
}

// mayHave reports whether a type has the methods or may have them from a field.
func (u *unit) mayHave(name string, spec *ast.TypeSpec, methods []string) bool {
	switch t := spec.Type.(type) {
	case *ast.InterfaceType:
		return false
	case *ast.StructType:
		if slices.ContainsFunc(t.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 }) {
			return true
		}
	}
	return spec.Assign.IsValid() || !slices.ContainsFunc(methods, func(m string) bool { return u.methods[name][m] == nil })
}

// typeArgTexts writes type arguments for a type that may do: the type parameters
// in free with the same constraints, or else float32, and the first of them.
func typeArgTexts(spec *ast.TypeSpec, free []typeParam) []string {
	if spec.TypeParams == nil {
		return []string{""}
	}
	others := []string{"float32"}
	if len(free) > 0 {
		others = append(others, free[0].name)
	}
	var texts []string
	for _, other := range others {
		var args []string
		for _, f := range spec.TypeParams.List {
			arg := other
			if i := slices.IndexFunc(free, func(p typeParam) bool { return p.constraint == unqualified(f.Type) }); i >= 0 {
				arg = free[i].name
			}
			for range f.Names {
				args = append(args, arg)
			}
		}
		texts = append(texts, "["+strings.Join(args, ", ")+"]")
	}
	return slices.Compact(texts)
}

func unqualified(x ast.Expr) string {
	if s, ok := x.(*ast.SelectorExpr); ok {
		x = s.Sel
	}
	return types.ExprString(x)
}

// substitute replaces type parameters in the text of a type, as in ~[]T.
func substitute(text string, byParam map[string]string) string {
	var b strings.Builder
	for text != "" {
		name := ident(text)
		if name == "" {
			b.WriteByte(text[0])
			text = text[1:]
			continue
		}
		if to, ok := byParam[name]; ok && to != name {
			b.WriteString(to)
		} else {
			b.WriteString(name)
		}
		text = text[len(name):]
	}
	return b.String()
}
