package lower

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// params makes the parameters of a kernel. It runs where the entry block is
// filled, which is where values fixed at compile time are constants.
func (f *funcLower) params(at []token.Pos) {
	k := f.l.k
	if wrong := k.Consts.ReadMark(k.ConstMark); wrong != "" {
		k.Report(k.Decl.Pos(), diag.ConstValue, "the comment is written as //kiln:const tile=16,32 cfg.Fast=true", "values of compile-time parameters of kernel %s cannot be read: %s", k.Name, wrong)
	}
	for i, p := range f.fn.Params {
		if gotype.IsThread(p.Type()) {
			f.env[p] = val{}
			continue
		}
		if why := gotype.BadParam(p.Type()); why != "" {
			k.ReportFix(at[i], diag.ParamType, gotype.ParamFix(why), "parameter of kernel %s is %s", k.Name, why)
			f.env[p] = badVal
			continue
		}
		f.at = at[i]
		f.env[p] = f.kernelParam(p, i)
	}
	for _, name := range k.Consts.Unknown() {
		note := "it has none"
		if known := k.Consts.Names(); len(known) > 0 {
			note = "it has " + strings.Join(known, ", ")
		}
		k.Report(k.Decl.Pos(), diag.ConstValue, note, "kernel %s has no compile-time parameter %s", k.Name, name)
	}
	f.unknownFuncs()
	f.l.m.Name += k.Consts.String()
}

func (f *funcLower) kernelParam(p *ssa.Parameter, i int) val {
	name := p.Name()
	if name == "" || name == "_" {
		name = fmt.Sprintf("arg%d", i)
	}
	if u, ok := p.Type().Underlying().(*types.Signature); ok {
		// A function is a word, of which the kernel knows all that there is to know.
		f.out.Args = append(f.out.Args, ir.Arg{Name: name, Kind: ir.ArgConst, Elem: ir.U64, Go: gotype.SignatureName(u)})
		return f.funcParam(p, name, strconv.Itoa(i))
	}
	return paramPart{f, name, strconv.Itoa(i)}.argument(p.Type())
}

// paramPart is a part of a parameter that is passed by value, with its name and
// with the number of the parameter in place of its name.
type paramPart struct {
	f            *funcLower
	name, number string
}

func (p paramPart) at(suffix string) paramPart {
	return paramPart{p.f, p.name + suffix, p.number + suffix}
}

// argument makes the arguments that a parameter of type t consists of: one, but for a
// struct that holds slices, whose fields are passed as if each were a parameter.
func (p paramPart) argument(t types.Type) (v val) {
	u, isStruct := t.Underlying().(*types.Struct)
	if isStruct && gotype.HoldsSlices(t) {
		for field := range u.Fields() {
			v.parts = append(v.parts, p.at("."+field.Name()).argument(field.Type()))
		}
		return v
	}
	out := p.f.out
	a := ir.Arg{Name: p.name, Go: gotype.Name(t), Elem: gotype.Memory(t)}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		a.Kind, a.Elem = ir.ArgSlice, gotype.Memory(u.Elem())
		v.parts = []val{{v: out.NewParam(ir.PtrTo(ir.Global, a.Elem))}, {v: out.NewParam(ir.I64)}}
	case *types.Struct, *types.Array:
		a.Kind = ir.ArgStruct
		v = p.value(t)
	default:
		if gotype.IsConst(t) && !strings.HasSuffix(p.name, "._") {
			a.Kind = ir.ArgConst
			v = p.constant(t)
			break
		}
		v.v = out.NewParam(a.Elem)
	}
	out.Args = append(out.Args, a)
	return v
}

// value makes a parameter for every scalar of a type without pointers. Those
// that are fixed at compile time have one too, since they take their room in
// the argument block, but nothing reads it.
func (p paramPart) value(t types.Type) val {
	if s := gotype.Scalar(t); s != nil {
		v := p.f.out.NewParam(s)
		if gotype.IsConst(t) && !strings.HasSuffix(p.name, "._") {
			return p.constant(t)
		}
		return val{v: v}
	}
	var out val
	switch u := t.Underlying().(type) {
	case *types.Array:
		for i := range int(u.Len()) {
			out.parts = append(out.parts, p.at(fmt.Sprintf("[%d]", i)).value(u.Elem()))
		}
	case *types.Struct:
		for field := range u.Fields() {
			out.parts = append(out.parts, p.at("."+field.Name()).value(field.Type()))
		}
	}
	return out
}

// constant returns the value of a compile-time parameter.
func (p paramPart) constant(t types.Type) val {
	f, c := p.f, p.f.l.k.Consts
	n, ok := c.Value(p.name, p.number, t)
	s := gotype.Scalar(t)
	switch {
	case !ok:
		f.report(diag.ConstValue, "compile-time parameter %s of kernel %s has no value", p.name, f.l.k.Name)
	case s == ir.Bool && n != 0 && n != 1:
		f.report(diag.ConstValue, "%d is no value for the compile-time parameter %s, a bool", n, p.name)
	}
	return val{v: f.konst(s, uint64(n))}
}
