package front

import (
	"go/ast"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/lower"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// lower makes the module of a kernel.
func (b *build) lower(u *source.Unit, fn *ssa.Function) *ir.Module {
	d := b.inst.kernel
	k := b.lowered(d.Name, fn)
	k.Package, k.Decl, k.FastMath, k.ConstMark = u.Path, d.Node.(*ast.FuncDecl), d.Marks.FastMath, d.Marks.Consts
	k.Funcs = map[string]*lower.Bound{}
	for key, n := range b.bound {
		k.Funcs[key] = &lower.Bound{Func: b.boundFunc(n), Pos: n.pos, Name: n.name, What: n.what()}
	}
	return lower.Module(k)
}

// lowered returns what is lowered: a function, with the code that it reaches.
func (b *build) lowered(name string, fn *ssa.Function) *lower.Kernel {
	p := lower.Program{Info: b.info, Tables: b.tables, Library: b.library, OfUser: b.ofUser}
	for _, u := range b.order {
		p.Trees = append(p.Trees, b.part(u).trees...)
		if u.Path == input.DSL {
			p.DSL = b.part(u).ssa
		}
	}
	return &lower.Kernel{Sink: &b.Sink, Program: p, Name: name, Func: fn, Consts: &b.consts}
}

// library returns what is known of a function of a package that the compiler provides.
func (b *build) library(path, recv, name string) (l lower.Library) {
	u := b.units[path]
	if u == nil || !u.Lib {
		return l
	}
	d, key := u.Decls[name], name
	if recv != "" {
		d, key = u.Methods[recv][name], recv+"."+name
	}
	l.Key = u.Name + "." + key
	if d != nil {
		l.Intrinsic, l.Dispatch = d.Marks.Intrinsic, d.Marks.Dispatch
	}
	return l
}

// ofUser reports whether the code of a package is the user's.
func (b *build) ofUser(path string) bool {
	u := b.units[path]
	return u != nil && !u.Lib
}
