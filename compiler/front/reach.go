package front

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/input"
)

// reach marks d and all that it refers to. Reachability is syntactic: methods
// are reached when their type is and some reached code selects their name.
func (b *build) reach(d *decl) {
	work := []*decl{d}
	for len(work) > 0 {
		d := work[len(work)-1]
		work = work[:len(work)-1]
		for ; d != nil; d = d.next {
			if !b.seen[d] {
				b.seen[d] = true
				work = b.visit(d, work)
			}
		}
	}
}

// visit takes d into its part and appends what it refers to.
func (b *build) visit(d *decl, work []*decl) []*decl {
	d.load()
	if d.file.loadOnce != nil {
		d.file.loadOnce()
	}
	b.AddFile(d.tok)
	b.AddFile(d.file.tok)
	p := b.part(d.unit)
	p.fresh = append(p.fresh, d)
	work = b.visitRefs(d, work)
	if d.recv == "" && d.unit.methods[d.name] != nil {
		b.receiver = append(b.receiver, d)
		for name, m := range d.unit.methods[d.name] {
			if b.fields[name] {
				work = append(work, m)
			}
		}
	}
	return work
}

func (b *build) visitRefs(d *decl, work []*decl) []*decl {
	for _, id := range d.refs.names {
		work = b.name(d, id, work)
	}
	for _, id := range d.refs.weak {
		if t := d.unit.decls[id.Name]; t != nil && !t.isVar && t.marks == (marks{}) && isConst(t) {
			work = append(work, t)
		}
	}
	for _, s := range d.refs.sels {
		work = b.selected(d, s, work)
	}
	for _, name := range d.refs.fields {
		if !b.fields[name] {
			b.fields[name] = true
			for _, t := range b.receiver {
				if m := t.unit.methods[t.name][name]; m != nil {
					work = append(work, m)
				}
			}
		}
	}
	return work
}

func isConst(d *decl) bool {
	d.load()
	g, ok := d.node.(*ast.GenDecl)
	return ok && g.Tok == token.CONST
}

// name follows a package-level name.
func (b *build) name(d *decl, id *ast.Ident, work []*decl) []*decl {
	t := d.unit.decls[id.Name]
	switch {
	case t == nil:
		if types.Universe.Lookup(id.Name) == nil {
			b.dotImport(d, id)
		}
		return work
	case t.lazy == nil && t.isVar:
		if !b.usesTable(id.Pos(), id.Name, t) {
			b.quiet[id.Pos()] = true
			return work
		}
	}
	return append(work, t)
}

// dotImport explains a name that may come from an import by dot.
func (b *build) dotImport(d *decl, id *ast.Ident) {
	for _, im := range d.file.imports {
		if im.name == "." {
			b.quiet[id.Pos()] = true
			b.ReportFix(id.Pos(), diag.Import, "import the package under its name",
				"%s comes from a dot import, which kernels cannot use", id.Name)
			return
		}
	}
}

// selected follows pkg.Name.
func (b *build) selected(d *decl, s selRef, work []*decl) []*decl {
	name := s.pkg.Name
	if d.unit.decls[name] != nil {
		return b.name(d, s.pkg, work) // a variable or type of another file
	}
	im, u, err := b.findImport(d.file, name)
	if im == nil {
		return work // undefined; the type checker says so
	}
	if u == nil {
		b.outside(d, s, im.path, err)
		return work
	}
	t := u.decls[s.sel.Sel.Name]
	switch {
	case t != nil && t.lazy == nil && t.isVar && !b.usesTable(s.sel.Pos(), name+"."+s.sel.Sel.Name, t):
		b.silence(s)
		return work
	case t == nil && (im.path == input.Math || im.path == input.Bits):
		b.mathHint(s, im.path)
		return work
	}
	p := b.part(d.unit)
	if p.imports[d.file] == nil {
		p.imports[d.file] = map[string]string{}
	}
	p.imports[d.file][name] = im.path
	b.part(u)
	if t == nil {
		return work // undefined; the type checker says so
	}
	b.floats8 = b.floats8 || isFloat8(u, t)
	return append(work, t)
}

// isFloat8 reports whether d is one of dsl's 8-bit floating-point types.
func isFloat8(u *unit, d *decl) bool { return u.path == input.DSL && strings.HasPrefix(d.name, "F8") }

// silence keeps the type checker from repeating what was said about pkg.Name.
func (b *build) silence(s selRef) {
	b.quiet[s.sel.Pos()] = true
	b.quiet[s.sel.Sel.Pos()] = true
}

// outside reports the use of a package that no kernel can use.
func (b *build) outside(d *decl, s selRef, path string, err error) {
	if b.quiet[s.sel.Pos()] {
		return
	}
	b.silence(s)
	full := s.pkg.Name + "." + s.sel.Sel.Name
	switch {
	case b.synthetic(s.sel.Pos()):
		k := b.inst.kernel
		b.Report(k.node.Pos(), diag.Instantiation, "", "%s cannot be instantiated: package %s of type %s registers no kernel source", k.name, path, s.sel.Sel.Name)
	case path == "unsafe":
		b.Report(s.sel.Pos(), diag.Unsafe, "", "%s in a kernel", full)
	case err != nil && mayRegister(d.unit.path, path):
		b.Report(s.sel.Pos(), diag.NoSource, "", "%s is outside of kernel code: package %s does not register its source", full, path)
	default:
		b.Report(s.sel.Pos(), diag.Import, "", "%s is outside of kernel code", full)
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
func (b *build) mathHint(s selRef, path string) {
	b.silence(s)
	name := s.sel.Sel.Name
	full := s.pkg.Name + "." + name
	use := mathHints[name]
	if use == "" && path == input.Math && libraries[input.DSL]().decls[name] != nil {
		use = "dsl." + name
	}
	if use == "" {
		b.Report(s.sel.Pos(), diag.Import, "", "%s cannot be used in a kernel", full)
		return
	}
	b.ReportFix(s.sel.Pos(), diag.Import, "use "+use, "%s cannot be used in a kernel", full)
}
