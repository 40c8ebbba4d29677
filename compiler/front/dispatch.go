package front

import (
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// reachDispatch reaches the functions behind dispatch functions: a kernel that
// calls dsl.Exp with float32 needs exp32 and not exp64. Which is known after the
// type check only, and what it reaches is checked in turn until nothing is new.
func (b *build) reachDispatch() {
	for {
		names := b.dispatched()
		before := len(b.seen)
		u := libraries[dslPath]()
		for _, name := range names {
			if d := u.decls[name]; d != nil {
				b.reach(d)
			}
		}
		if len(b.seen) == before {
			return
		}
		b.check()
	}
}

// dispatched returns the names of all functions that instances of dispatch
// functions stand for.
func (b *build) dispatched() []string {
	var names []string
	for id, inst := range b.info.Instances {
		fn, ok := b.info.Uses[id].(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != dslPath || inst.TypeArgs.Len() != 1 {
			continue
		}
		if d := libraries[dslPath]().decls[fn.Name()]; d == nil || !d.marks.dispatch {
			continue
		}
		arg := inst.TypeArgs.At(0)
		if isTypeParam(arg) {
			names = append(names, dispatchName(fn.Name(), "32"), dispatchName(fn.Name(), "64"))
		} else if w := floatWidth(arg); w != "" {
			names = append(names, dispatchName(fn.Name(), w))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// dispatchName returns the function that Name stands for at a width: Exp at 32
// is exp32.
func dispatchName(name, width string) string {
	return strings.ToLower(name[:1]) + name[1:] + width
}

func floatWidth(t types.Type) string {
	if b, ok := t.Underlying().(*types.Basic); ok {
		switch b.Kind() {
		case types.Float32:
			return "32"
		case types.Float64:
			return "64"
		}
	}
	return ""
}

// buildSSA makes the SSA form of all reached code.
func (b *build) buildSSA() {
	b.prog = ssa.NewProgram(b.fset, ssa.InstantiateGenerics|ssa.BuildSerially)
	for _, u := range b.order {
		p := b.part(u)
		p.ssa = b.prog.CreatePackage(p.pkg, p.trees, p.info, true)
	}
	for _, u := range b.order {
		b.part(u).ssa.Build()
	}
}
