package front

import (
	"go/ast"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// lower makes the module of a kernel.
func (b *build) lower(u *unit, fn *ssa.Function) *ir.Module {
	d := b.inst.kernel
	k := b.lowered(d.name, fn)
	k.pkg, k.decl, k.fastmath, k.constMark = u.path, d.node.(*ast.FuncDecl), d.marks.fastmath, d.marks.consts
	k.funcs = map[string]*bound{}
	for key, n := range b.bound {
		k.funcs[key] = &bound{fn: b.boundFunc(n), pos: n.pos, name: n.name, what: n.what()}
	}
	return moduleOf(k)
}

// lowered returns what is lowered: a function, with the code that it reaches.
func (b *build) lowered(name string, fn *ssa.Function) *kernel {
	p := program{info: b.info, tables: b.tables, library: b.library, ofUser: b.ofUser}
	for _, u := range b.order {
		p.trees = append(p.trees, b.part(u).trees...)
		if u.path == input.DSL {
			p.dsl = b.part(u).ssa
		}
	}
	return &kernel{Sink: &b.Sink, program: p, name: name, fn: fn, consts: &b.consts}
}

// library returns what is known of a function of a package that the compiler provides.
func (b *build) library(path, recv, name string) (l library) {
	u := b.units[path]
	if u == nil || !u.lib {
		return l
	}
	d, key := u.decls[name], name
	if recv != "" {
		d, key = u.methods[recv][name], recv+"."+name
	}
	l.key = u.name + "." + key
	if d != nil {
		l.intrinsic, l.dispatch = d.marks.intrinsic, d.marks.dispatch
	}
	return l
}

// ofUser reports whether the code of a package is the user's.
func (b *build) ofUser(path string) bool {
	u := b.units[path]
	return u != nil && !u.lib
}
