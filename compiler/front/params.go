package front

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/ir"
)

// valueMarks reads the comment above a kernel that names values for kiln check
// and kiln emit, where 1 and 8, false and true make no sense:
//
//	//kiln:const tile=16,32 cfg.Fast=true
//
// The result has the values for FillSmall and FillLarge; one value is both.
func valueMarks(text string) (values map[string][2]int64, wrong string) {
	values = map[string][2]int64{}
	for _, field := range strings.Fields(text) {
		name, list, ok := strings.Cut(field, "=")
		small, large, two := strings.Cut(list, ",")
		if !two {
			large = small
		}
		a, err1 := ParseConst(small)
		b, err2 := ParseConst(large)
		if !ok || name == "" || err1 != nil || err2 != nil {
			return nil, field
		}
		values[name] = [2]int64{a, b}
	}
	return values, ""
}

// ParseConst reads the value of a compile-time parameter: an integer as Go
// writes it, true or false.
func ParseConst(text string) (int64, error) {
	switch text {
	case "true":
		return 1, nil
	case "false":
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is neither an integer nor true or false", text)
	}
	return n, nil
}

// constants are the values of the compile-time parameters of one compilation.
type constants struct {
	given  map[string]int64
	marked map[string][2]int64 // by the comment above the kernel
	fill   Fill
	known  []string // names of the parameters, in order
	taken  map[string]bool
	text   []string // name:value, in order
}

func newConstants(req Request) constants {
	return constants{given: req.Consts, fill: req.Fill, taken: map[string]bool{}}
}

// value returns the value of the parameter called name, or numbered number.
func (c *constants) value(name, number string, t types.Type) (n int64, ok bool) {
	c.known = append(c.known, name)
	isBool := gotype.Scalar(t) == ir.Bool
	for _, key := range []string{name, number} {
		if v, given := c.given[key]; given {
			n, ok = v, true
			c.taken[key] = true
		}
	}
	pair, marked := c.marked[name]
	c.taken[name] = c.taken[name] || marked
	if !ok && c.fill != NoFill {
		n, ok = 1, true
		switch {
		case marked:
			n = pair[c.fill-FillSmall]
		case c.fill == FillLarge && !isBool:
			n = 8
		case c.fill == FillSmall && isBool:
			n = 0
		}
	}
	text := strconv.FormatInt(n, 10)
	if isBool {
		text = strconv.FormatBool(n != 0)
	}
	c.text = append(c.text, name+":"+text)
	return n, ok
}

// guessed reports whether a parameter has a value that neither the request nor the kernel names.
func (c *constants) guessed() bool {
	return slices.ContainsFunc(c.known, func(name string) bool { return !c.taken[name] })
}

// String is the part of a kernel's name that tells its specialisations apart.
func (c *constants) String() string {
	if len(c.text) == 0 {
		return ""
	}
	return "{" + strings.Join(c.text, ",") + "}"
}

// unknown returns the names that are given and that no parameter has.
func (c *constants) unknown() []string {
	var out []string
	for name := range c.given {
		if !c.taken[name] {
			out = append(out, name)
		}
	}
	for name := range c.marked {
		if !c.taken[name] {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// params makes the parameters of a kernel. It runs where the entry block is
// filled, which is where values fixed at compile time are constants.
func (f *funcLower) params(at []token.Pos) {
	b := f.l.b
	k := b.inst.kernel
	var wrong string
	if b.consts.marked, wrong = valueMarks(k.marks.consts); wrong != "" {
		b.Report(k.node.Pos(), diag.ConstValue, "the comment is written as //kiln:const tile=16,32 cfg.Fast=true", "values of compile-time parameters of kernel %s cannot be read: %s", k.name, wrong)
	}
	for i, p := range f.fn.Params {
		if gotype.IsThread(p.Type()) {
			f.env[p] = val{}
			continue
		}
		if why := gotype.BadParam(p.Type()); why != "" {
			b.ReportFix(at[i], diag.ParamType, gotype.ParamFix(why), "parameter of kernel %s is %s", k.name, why)
			f.env[p] = badVal
			continue
		}
		f.at = at[i]
		f.env[p] = f.kernelParam(p, i)
	}
	for _, name := range b.consts.unknown() {
		note := "it has none"
		if len(b.consts.known) > 0 {
			note = "it has " + strings.Join(b.consts.known, ", ")
		}
		b.Report(k.node.Pos(), diag.ConstValue, note, "kernel %s has no compile-time parameter %s", k.name, name)
	}
	f.unknownFuncs()
	f.l.m.Name += b.consts.String()
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
	f, c := p.f, &p.f.l.b.consts
	n, ok := c.value(p.name, p.number, t)
	s := gotype.Scalar(t)
	switch {
	case !ok:
		f.report(diag.ConstValue, "compile-time parameter %s of kernel %s has no value", p.name, f.l.b.inst.kernel.name)
	case s == ir.Bool && n != 0 && n != 1:
		f.report(diag.ConstValue, "%d is no value for the compile-time parameter %s, a bool", n, p.name)
	}
	return val{v: f.konst(s, uint64(n))}
}
