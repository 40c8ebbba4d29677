package front

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// reach marks d and all that it refers to. Reachability is syntactic: methods
// are reached when their type is and some reached code selects their name.
func (b *build) reach(d *source.Decl) {
	work := []*source.Decl{d}
	for len(work) > 0 {
		d := work[len(work)-1]
		work = work[:len(work)-1]
		for ; d != nil; d = d.Next {
			if !b.seen[d] {
				b.seen[d] = true
				work = b.visit(d, work)
			}
		}
	}
}

// visit takes d into its part and appends what it refers to.
func (b *build) visit(d *source.Decl, work []*source.Decl) []*source.Decl {
	d.Load()
	if d.File.LoadOnce != nil {
		d.File.LoadOnce()
	}
	b.AddFile(d.Tok)
	b.AddFile(d.File.Tok)
	p := b.part(d.Unit)
	p.fresh = append(p.fresh, d)
	work = b.visitRefs(d, work)
	if d.Recv == "" && d.Unit.Methods[d.Name] != nil {
		b.receiver = append(b.receiver, d)
		for name, m := range d.Unit.Methods[d.Name] {
			if b.fields[name] {
				work = append(work, m)
			}
		}
	}
	return work
}

func (b *build) visitRefs(d *source.Decl, work []*source.Decl) []*source.Decl {
	for _, id := range d.Refs.Names {
		work = b.name(d, id, work)
	}
	for _, id := range d.Refs.Weak {
		if t := d.Unit.Decls[id.Name]; t != nil && !t.IsVar && t.Marks == (source.Marks{}) && isConst(t) {
			work = append(work, t)
		}
	}
	for _, s := range d.Refs.Sels {
		work = b.selected(d, s, work)
	}
	for _, name := range d.Refs.Fields {
		if !b.fields[name] {
			b.fields[name] = true
			for _, t := range b.receiver {
				if m := t.Unit.Methods[t.Name][name]; m != nil {
					work = append(work, m)
				}
			}
		}
	}
	return work
}

func isConst(d *source.Decl) bool {
	d.Load()
	g, ok := d.Node.(*ast.GenDecl)
	return ok && g.Tok == token.CONST
}

// name follows a package-level name.
func (b *build) name(d *source.Decl, id *ast.Ident, work []*source.Decl) []*source.Decl {
	t := d.Unit.Decls[id.Name]
	switch {
	case t == nil:
		if types.Universe.Lookup(id.Name) == nil {
			b.dotImport(d, id)
		}
		return work
	case !t.OfLibrary() && t.IsVar:
		if !b.usesTable(id.Pos(), id.Name, t) {
			b.quiet[id.Pos()] = true
			return work
		}
	}
	return append(work, t)
}

// dotImport explains a name that may come from an import by dot.
func (b *build) dotImport(d *source.Decl, id *ast.Ident) {
	for _, im := range d.File.Imports {
		if im.Name == "." {
			b.quiet[id.Pos()] = true
			b.ReportFix(id.Pos(), diag.Import, "import the package under its name",
				"%s comes from a dot import, which kernels cannot use", id.Name)
			return
		}
	}
}

// selected follows pkg.Name.
func (b *build) selected(d *source.Decl, s source.SelRef, work []*source.Decl) []*source.Decl {
	name := s.Package.Name
	if d.Unit.Decls[name] != nil {
		return b.name(d, s.Package, work) // a variable or type of another file
	}
	im, u, err := b.findImport(d.File, name)
	if im == nil {
		return work // undefined; the type checker says so
	}
	if u == nil {
		b.outside(d, s, im.Path, err)
		return work
	}
	t := u.Decls[s.Sel.Sel.Name]
	switch {
	case t != nil && !t.OfLibrary() && t.IsVar && !b.usesTable(s.Sel.Pos(), name+"."+s.Sel.Sel.Name, t):
		b.silence(s)
		return work
	case t == nil && (im.Path == input.Math || im.Path == input.Bits):
		b.mathHint(s, im.Path)
		return work
	}
	p := b.part(d.Unit)
	if p.imports[d.File] == nil {
		p.imports[d.File] = map[string]string{}
	}
	p.imports[d.File][name] = im.Path
	b.part(u)
	if t == nil {
		return work // undefined; the type checker says so
	}
	b.floats8 = b.floats8 || isFloat8(u, t)
	return append(work, t)
}

// isFloat8 reports whether d is one of dsl's 8-bit floating-point types.
func isFloat8(u *source.Unit, d *source.Decl) bool {
	return u.Path == input.DSL && strings.HasPrefix(d.Name, "F8")
}

// silence keeps the type checker from repeating what was said about pkg.Name.
func (b *build) silence(s source.SelRef) {
	b.quiet[s.Sel.Pos()] = true
	b.quiet[s.Sel.Sel.Pos()] = true
}

// outside reports the use of a package that no kernel can use.
func (b *build) outside(d *source.Decl, s source.SelRef, path string, err error) {
	if b.quiet[s.Sel.Pos()] {
		return
	}
	b.silence(s)
	full := s.Package.Name + "." + s.Sel.Sel.Name
	switch {
	case b.synthetic(s.Sel.Pos()):
		k := b.inst.kernel
		b.Report(k.Node.Pos(), diag.Instantiation, "", "%s cannot be instantiated: package %s of type %s registers no kernel source", k.Name, path, s.Sel.Sel.Name)
	case path == "unsafe":
		b.Report(s.Sel.Pos(), diag.Unsafe, "", "%s in a kernel", full)
	case err != nil && mayRegister(d.Unit.Path, path):
		b.Report(s.Sel.Pos(), diag.NoSource, "", "%s is outside of kernel code: package %s does not register its source", full, path)
	default:
		b.Report(s.Sel.Pos(), diag.Import, "", "%s is outside of kernel code", full)
	}
}

// mayRegister tells packages of modules from those of the standard library,
// which will never be kernel packages: their paths begin with a host name, or
// as that of the package that imports them.
func mayRegister(importer, path string) bool {
	first, _, _ := strings.Cut(path, "/")
	own, _, _ := strings.Cut(importer, "/")
	return strings.Contains(first, ".") || first == own
}

// mathHint reports a function of math that is not an intrinsic.
func (b *build) mathHint(s source.SelRef, path string) {
	b.silence(s)
	name := s.Sel.Sel.Name
	full := s.Package.Name + "." + name
	use := source.MathHints[name]
	if use == "" && path == input.Math && source.Libraries[input.DSL]().Decls[name] != nil {
		use = "dsl." + name
	}
	if use == "" {
		b.Report(s.Sel.Pos(), diag.Import, "", "%s cannot be used in a kernel", full)
		return
	}
	b.ReportFix(s.Sel.Pos(), diag.Import, "use "+use, "%s cannot be used in a kernel", full)
}
