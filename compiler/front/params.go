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

// isConstType reports whether values of type t are fixed when the kernel is
// compiled if they are parameters.
func isConstType(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != dslPath {
		return false
	}
	return n.Obj().Name() == "ConstInt" || n.Obj().Name() == "ConstBool"
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
	isBool := scalarType(t) == ir.Bool
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
		b.report(k.node.Pos(), diag.ConstValue, "the comment is written as //kiln:const tile=16,32 cfg.Fast=true", "values of compile-time parameters of kernel %s cannot be read: %s", k.name, wrong)
	}
	for i, p := range f.fn.Params {
		if isThread(p.Type()) {
			f.env[p] = val{}
			continue
		}
		if why := badParam(p.Type()); why != "" {
			b.reportParam(at[i], k.name, why)
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
		b.report(k.node.Pos(), diag.ConstValue, note, "kernel %s has no compile-time parameter %s", k.name, name)
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
		f.out.Args = append(f.out.Args, ir.Arg{Name: name, Kind: ir.ArgConst, Elem: ir.U64, Go: signatureName(u)})
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
	if isStruct && HoldsSlices(t) {
		for field := range u.Fields() {
			v.parts = append(v.parts, p.at("."+field.Name()).argument(field.Type()))
		}
		return v
	}
	out := p.f.out
	a := ir.Arg{Name: p.name, Go: typeName(t), Elem: memType(t)}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		a.Kind, a.Elem = ir.ArgSlice, memType(u.Elem())
		v.parts = []val{{v: out.NewParam(ir.PtrTo(ir.Global, a.Elem))}, {v: out.NewParam(ir.I64)}}
	case *types.Struct, *types.Array:
		a.Kind = ir.ArgStruct
		v = p.value(t)
	default:
		if isConstType(t) && !strings.HasSuffix(p.name, "._") {
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
	if s := scalarType(t); s != nil {
		v := p.f.out.NewParam(s)
		if isConstType(t) && !strings.HasSuffix(p.name, "._") {
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
	s := scalarType(t)
	switch {
	case !ok:
		f.report(diag.ConstValue, "compile-time parameter %s of kernel %s has no value", p.name, f.l.b.inst.kernel.name)
	case s == ir.Bool && n != 0 && n != 1:
		f.report(diag.ConstValue, "%d is no value for the compile-time parameter %s, a bool", n, p.name)
	}
	return val{v: f.konst(s, uint64(n))}
}

// badParam says what is wrong with the type of a kernel parameter, "" if
// nothing is. Type parameters pass: their instances are checked.
func badParam(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok && !isTypeParam(t) {
		return badSlice(t, s.Elem())
	}
	if s, ok := t.Underlying().(*types.Signature); ok && !s.Variadic() {
		return ""
	}
	if s, ok := t.Underlying().(*types.Struct); ok && !isTypeParam(t) && HoldsSlices(t) {
		return badField(t, "", s)
	}
	switch where, part, what := badPart(t); {
	case what != "" && where == "":
		return typeName(t) + ", " + what
	case what != "":
		return fmt.Sprintf("%s, whose part %s is %s, %s", typeName(t), where, typeName(part), what)
	}
	if n := leaves(t); n > maxLeaves {
		return fmt.Sprintf("%s, which holds more than %d numbers", typeName(t), maxLeaves)
	}
	return ""
}

// paramFixes are fixes by what is wrong with a parameter; others have the general one.
var paramFixes = []struct{ what, fix string }{
	{"a pointer", "pass a slice of one element, runtime.Slice[T] in a launch, and use x[0]; a value that the kernel only reads can be passed by itself"},
	{"a map", "pass its keys and values as two slices, sorted by the keys for a binary search, or a hash table that lies in slices"},
	{"a channel", "pass a slice for the results; threads exchange values through shared memory and barriers, or atomics"},
	{"an interface", "make the type a type parameter: func K[T I](t dsl.Thread, x T) is compiled for each type"},
	{"a function", "pass the function as a parameter of its own"},
	{"a second thread", "take the thread from the first parameter"},
}

// reportParam reports what badParam said of a parameter.
func (b *build) reportParam(pos token.Pos, kernel, why string) {
	d := diag.New(b.position(pos), diag.ParamType, fmt.Sprintf("parameter of kernel %s is %s", kernel, why), "")
	for _, row := range paramFixes {
		if strings.HasSuffix(why, row.what) {
			d.Fix = row.fix
		}
	}
	b.diags.Add(d)
}

// badField is badParam for a struct that holds slices: t, at the path where in it.
func badField(t types.Type, where string, s *types.Struct) string {
	for f := range s.Fields() {
		at, part := where+"."+f.Name(), f.Type()
		inner, isStruct := part.Underlying().(*types.Struct)
		_, isFunc := part.Underlying().(*types.Signature)
		why := ""
		switch {
		case isFunc:
			why = typeName(part) + ", a function"
		case isStruct && HoldsSlices(part):
			if why := badField(t, at, inner); why != "" {
				return why
			}
		default:
			why = badParam(part)
		}
		if why != "" {
			return fmt.Sprintf("%s, whose part %s is %s", typeName(t), at, why)
		}
	}
	return ""
}

// HoldsSlices reports whether a parameter of type t is a struct with slices in it, not
// counting those behind the elements of arrays and slices.
func HoldsSlices(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	if !ok || isTypeParam(t) {
		return false
	}
	for f := range s.Fields() {
		if _, slice := f.Type().Underlying().(*types.Slice); slice || HoldsSlices(f.Type()) {
			return true
		}
	}
	return false
}

// badSlice is badParam for slices. Their elements are memory, which a struct may
// take more of than a value can.
func badSlice(t, elem types.Type) string {
	if isTypeParam(elem) {
		return ""
	}
	if _, slices := elem.Underlying().(*types.Slice); slices {
		return typeName(t) + ", a slice of slices"
	}
	switch where, part, what := badPart(elem); {
	case what != "" && where == "":
		return typeName(t) + ", a slice of what is not a number: " + what
	case what != "":
		return fmt.Sprintf("%s, a slice of elements whose part %s is %s, %s", typeName(t), where, typeName(part), what)
	case hasConst(elem):
		return typeName(t) + ", a slice of compile-time values"
	}
	switch m := memType(elem); {
	case hasTypeParam(elem):
	case m == nil:
		return typeName(t) + ", whose elements are too large"
	case m.Size() == 0:
		return typeName(t) + ", whose elements hold nothing"
	}
	return ""
}

// hasConst reports whether a part of t is fixed when the kernel is compiled,
// which no element of a slice can be.
func hasConst(t types.Type) bool { return hasPart(t, isConstType) }

// hasTypeParam reports whether a part of t is a type parameter.
func hasTypeParam(t types.Type) bool { return hasPart(t, isTypeParam) }

// hasPart reports whether is holds for a part of t, a type without pointers.
func hasPart(t types.Type, is func(types.Type) bool) bool {
	if is(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return hasPart(u.Elem(), is)
	case *types.Struct:
		for f := range u.Fields() {
			if hasPart(f.Type(), is) {
				return true
			}
		}
	}
	return false
}

// badPart finds a part of a type that cannot be passed by value: its path, its
// type, and what it is.
func badPart(t types.Type) (where string, part types.Type, what string) {
	switch {
	case isThread(t):
		return "", t, "a second thread"
	case isTypeParam(t) || scalarType(t) != nil:
		return "", nil, ""
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		where, part, what = badPart(u.Elem())
		return "[i]" + where, part, what
	case *types.Struct:
		for f := range u.Fields() {
			if where, part, what = badPart(f.Type()); what != "" {
				return "." + f.Name() + where, part, what
			}
		}
		return "", nil, ""
	}
	return "", t, map[string]string{
		"*types.Pointer": "a pointer", "*types.Signature": "a function", "*types.Slice": "a slice",
		"*types.Interface": "an interface", "*types.Map": "a map", "*types.Chan": "a channel", "*types.Basic": "not a number or bool",
	}[kindName(t.Underlying())]
}
