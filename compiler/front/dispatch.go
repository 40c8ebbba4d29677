package front

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
)

// reachDispatch reaches the functions behind dispatch functions: a kernel that
// calls dsl.Exp with float32 needs exp32 and not exp64. Which is known after the
// type check only, and what it reaches is checked in turn until nothing is new.
func (b *build) reachDispatch() {
	for {
		names := b.dispatched()
		before := len(b.seen)
		u := source.Libraries[input.DSL]()
		for _, name := range names {
			if d := u.Decls[name]; d != nil {
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
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != input.DSL {
			continue
		}
		if fn.Name() == "Convert" {
			names = append(names, b.conversions(inst.TypeArgs)...)
			continue
		}
		if inst.TypeArgs.Len() != 1 {
			continue
		}
		if d := source.Libraries[input.DSL]().Decls[fn.Name()]; d == nil || !d.Marks.Dispatch {
			continue
		}
		arg := inst.TypeArgs.At(0)
		switch w := gotype.DispatchSuffix(arg); {
		case w != "":
			names = append(names, gotype.DispatchName(fn.Name(), w))
		case gotype.IsParam(arg):
			names = append(names, gotype.DispatchName(fn.Name(), "32"), gotype.DispatchName(fn.Name(), "64"))
			if b.floats8 {
				names = append(names, gotype.DispatchName(fn.Name(), "E4M3"), gotype.DispatchName(fn.Name(), "E5M2"))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// conversions returns the names of the functions behind dsl.Convert, which 8-bit
// floats go through.
func (b *build) conversions(args *types.TypeList) (names []string) {
	for i := range args.Len() {
		arg, formats := args.At(i), []string{"E4M3", "E5M2"}
		if w := gotype.Float8(arg); w != "" {
			formats = []string{w}
		} else if !gotype.IsParam(arg) || !b.floats8 {
			continue
		}
		for _, w := range formats {
			names = append(names, gotype.DispatchName("To", w), gotype.DispatchName("F32", w))
		}
	}
	return names
}

// buildSSA makes the SSA form of all reached code.
func (b *build) buildSSA() {
	b.prog = ssa.NewProgram(b.Fset, ssa.InstantiateGenerics|ssa.BuildSerially)
	for _, u := range b.order {
		p := b.part(u)
		p.ssa = b.prog.CreatePackage(p.pkg, p.trees, p.info, true)
	}
	for _, u := range b.order {
		b.part(u).ssa.Build()
	}
}
