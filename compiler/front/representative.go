package front

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/front/internal/source"
)

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
func representatives(u *source.Unit, fn *types.Signature) (out [][]string, guess bool) {
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
			set, guess = typesWith(u, methodNames(fn.TypeParams().At(i).Constraint()), free), true
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
func typesWith(u *source.Unit, methods []string, free []typeParam) (names []string) {
	var found []*source.Decl
	for _, d := range u.Decls {
		d.Load()
		if g, ok := d.Node.(*ast.GenDecl); ok && g.Tok == token.TYPE && mayHave(u, d.Name, g.Specs[0].(*ast.TypeSpec), methods) {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b *source.Decl) int {
		return cmp.Or(cmp.Compare(a.File.Ord, b.File.Ord), cmp.Compare(a.Ord, b.Ord))
	})
	for _, d := range found {
		for _, args := range typeArgTexts(d.Node.(*ast.GenDecl).Specs[0].(*ast.TypeSpec), free) {
			names = append(names, d.Name+args)
		}
	}
	return names
}

// mayHave reports whether a type has the methods or may have them from a field.
func mayHave(u *source.Unit, name string, spec *ast.TypeSpec, methods []string) bool {
	switch t := spec.Type.(type) {
	case *ast.InterfaceType:
		return false
	case *ast.StructType:
		if slices.ContainsFunc(t.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 }) {
			return true
		}
	}
	return spec.Assign.IsValid() || !slices.ContainsFunc(methods, func(m string) bool { return u.Methods[name][m] == nil })
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
		name := source.Ident(text)
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
