package front

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/types"
	"path"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// Signature is what tools that write code for a kernel need to know of it.
type Signature struct {
	Package    string // import path, as in the types
	Kernel     string
	Pos        diag.Position // of the kernel's name
	Doc        string        // without comment markers and marks
	File       string        // base name of the source file
	Constraint string        // the //go:build line of that file, "" if it has none
	Type       *types.Signature
}

// Signatures returns the kernels of p in order of the source. Bodies are not looked at, so
// that mistakes in them do not matter; a kernel with a mistake in its signature is left
// out and reported.
func Signatures(p *Package, load Loader) ([]Signature, diag.List) {
	u := source.Parse(p)
	if len(u.Errs) > 0 {
		return nil, u.Errs.Sorted()
	}
	b := newBuild(load)
	b.units[u.Path] = u
	for _, k := range u.Kernels {
		b.reach(header(k))
	}
	b.check()
	b.headers(u)
	var out []Signature
	for _, k := range u.Kernels {
		sig := b.signature(u, k)
		fn := k.Node.(*ast.FuncDecl)
		if sig == nil || invalid(sig) {
			continue // reported
		}
		name := path.Base(k.File.Name)
		out = append(out, Signature{Package: u.Path, Kernel: k.Name, Pos: b.Position(fn.Name.Pos()), Doc: fn.Doc.Text(), File: name, Constraint: constraintOf(k.File), Type: sig})
	}
	return out, b.Diags.Sorted()
}

// header returns a declaration of a kernel that has no body to follow or to check.
func header(d *source.Decl) *source.Decl {
	d.Load()
	fn := *d.Node.(*ast.FuncDecl)
	fn.Body = &ast.BlockStmt{Lbrace: fn.Type.End(), Rbrace: fn.Type.End()}
	return &source.Decl{Unit: d.Unit, File: d.File, Ord: d.Ord, Name: d.Name, Recv: d.Recv, Marks: d.Marks, Node: &fn, Refs: source.Collect(&fn, d.File.Tree)}
}

// headers reports what no kernel may have in its signature.
func (b *build) headers(u *source.Unit) {
	c := subsetChecker{b: b}
	for _, k := range u.Kernels {
		if sig := b.signature(u, k); sig == nil || !mistyped(sig) {
			c.kernel(k.Node.(*ast.FuncDecl))
		}
	}
}

// invalid reports whether a signature is not that of a kernel.
func invalid(sig *types.Signature) bool {
	return mistyped(sig) || sig.Params().Len() == 0 || !gotype.IsThread(sig.Params().At(0).Type()) || sig.Variadic() || sig.Results().Len() > 0
}

// mistyped reports whether some type of a signature is not known.
func mistyped(sig *types.Signature) bool {
	return strings.Contains(types.TypeString(sig, nil), types.Typ[types.Invalid].Name())
}

// constraintOf returns the line that says when f is part of a build.
func constraintOf(f *source.File) string {
	for _, g := range f.Tree.Comments {
		if g.Pos() > f.Tree.Package {
			break
		}
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) {
				return c.Text
			}
		}
	}
	return ""
}

// Fixed reports whether a parameter of type t, or a part of it, is fixed when a kernel is
// compiled: compile-time values and functions.
func Fixed(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Signature); ok {
		return true
	}
	return len(fixedParts(nil, "", t)) > 0
}

// fixedParts appends the compile-time values in a parameter called name, and their types.
// They are those that a launch reads.
func fixedParts(list []fixedPart, name string, t types.Type) []fixedPart {
	if gotype.IsParam(t) {
		return list
	}
	if gotype.IsConst(t) {
		return append(list, fixedPart{name, t})
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Name() != "_" {
				list = fixedParts(list, name+"."+f.Name(), f.Type())
			}
		}
	case *types.Array:
		for i := range min(u.Len(), gotype.MaxLeaves+1) {
			n := len(list)
			list = fixedParts(list, fmt.Sprintf("%s[%d]", name, i), u.Elem())
			if len(list) == n {
				break
			}
		}
	}
	return list
}

type fixedPart struct {
	name string
	typ  types.Type
}

// Elem returns the element type of a parameter that a launch passes a slice for, nil for
// other parameters: one of a slice type, or of a type parameter for slices of one type.
func Elem(t types.Type) types.Type {
	if s, ok := t.Underlying().(*types.Slice); ok {
		return s.Elem()
	}
	if !gotype.IsParam(t) {
		return nil
	}
	var elem types.Type
	for _, one := range typeSet(t.(*types.TypeParam).Constraint()) {
		s, ok := one.Underlying().(*types.Slice)
		if !ok || elem != nil && !types.Identical(elem, s.Elem()) {
			return nil
		}
		elem = s.Elem()
	}
	return elem
}

// SignatureText writes a type of functions as package jit does in a [Request.Sig] for the
// type of a function of package pkg: what a request says is part of the key of what is
// compiled, so that all have to say the same. Types have no type parameters.
func SignatureText(sig *types.Signature, pkg string) string {
	var b strings.Builder
	b.WriteString("func(")
	textList(&b, sig.Params(), pkg)
	b.WriteString(")")
	if sig.Results().Len() > 0 {
		b.WriteString(" (")
		textList(&b, sig.Results(), pkg)
		b.WriteString(")")
	}
	return b.String()
}

func textList(b *strings.Builder, list *types.Tuple, pkg string) {
	for i := range list.Len() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(typeText(list.At(i).Type(), pkg))
	}
}

func typeText(t types.Type, pkg string) string {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return types.Typ[t.Kind()].Name() // byte is uint8
	case *types.Slice:
		return "[]" + typeText(t.Elem(), pkg)
	case *types.Pointer:
		return "*" + typeText(t.Elem(), pkg)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), typeText(t.Elem(), pkg))
	case *types.Signature:
		return SignatureText(t, pkg)
	case *types.Struct:
		fields := make([]string, t.NumFields())
		for i := range fields {
			fields[i] = t.Field(i).Name() + " " + typeText(t.Field(i).Type(), pkg)
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	case *types.Named:
		return namedText(t, pkg)
	}
	return types.TypeString(t, nil)
}

func namedText(t *types.Named, pkg string) string {
	name, from := t.Obj().Name(), t.Obj().Pkg()
	switch {
	case from == nil:
		return name
	case from.Path() == input.Float16 && name == "Float16":
		return "dsl.F16"
	case from.Path() == input.DSL:
		name = "dsl." + name
	case from.Path() != pkg:
		name = fmt.Sprintf("%q.%s", from.Path(), name)
	}
	if args := t.TypeArgs(); args.Len() > 0 {
		list := make([]string, args.Len())
		for i := range list {
			list[i] = typeText(args.At(i), pkg)
		}
		name += "[" + strings.Join(list, ",") + "]"
	}
	return name
}

// HoldsSlices reports whether a parameter of type t is a struct with slices in it, not
// counting those behind the elements of arrays and slices.
func HoldsSlices(t types.Type) bool { return gotype.HoldsSlices(t) }
