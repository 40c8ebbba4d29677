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
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != dslPath {
			continue
		}
		if fn.Name() == "Convert" {
			names = append(names, b.conversions(inst.TypeArgs)...)
			continue
		}
		if inst.TypeArgs.Len() != 1 {
			continue
		}
		if d := libraries[dslPath]().decls[fn.Name()]; d == nil || !d.marks.dispatch {
			continue
		}
		arg := inst.TypeArgs.At(0)
		switch w := dispatchSuffix(arg); {
		case w != "":
			names = append(names, dispatchName(fn.Name(), w))
		case isTypeParam(arg):
			names = append(names, dispatchName(fn.Name(), "32"), dispatchName(fn.Name(), "64"))
			if b.floats8 {
				names = append(names, dispatchName(fn.Name(), "E4M3"), dispatchName(fn.Name(), "E5M2"))
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
		if w := float8(arg); w != "" {
			formats = []string{w}
		} else if !isTypeParam(arg) || !b.floats8 {
			continue
		}
		for _, w := range formats {
			names = append(names, dispatchName("To", w), dispatchName("F32", w))
		}
	}
	return names
}

// dispatchName returns the function that Name stands for with a type argument:
// Exp with float32 is exp32, F32 with F8E4M3 is f32E4M3.
func dispatchName(name, suffix string) string {
	return strings.ToLower(name[:1]) + name[1:] + suffix
}

// dispatchSuffix returns what a type argument adds to the name of a dispatch
// function, "" for types that no such function exists for.
func dispatchSuffix(t types.Type) string {
	if s := float8(t); s != "" {
		return s
	}
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
