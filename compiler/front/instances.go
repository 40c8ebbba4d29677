package front

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/ir"
)

// Instances returns the requests for what is to be compiled ahead of the kernels of p, in
// order of the source and each once. Comment lines above a kernel say it:
//
//	//kiln:instances T=float32,dsl.BF16 tile=8,16
//	//kiln:instances T=float64 tile=4
//	//kiln:kernel
//	func Blur[T dsl.Float](t dsl.Thread, out, in []T, tile dsl.ConstInt) { … }
//
// A line gives values to each type parameter, each compile-time parameter (or, as in
// cfg.Tile=8, field of one) and each parameter of a function type, and asks for all
// combinations; the example has five instances. Types are written as for
// [Request.TypeArgs] and may name type parameters of the same line, as in F=Gelu[T];
// functions are those of the package, or of another after its import path and a dot. A
// kernel without any of these parameters has one instance, and needs no comment.
//
// The requests are those that package jit makes for a launch of the same instance, so that
// they have the same key; for a program the path of p has to be "main". Mistakes are a
// [diag.List].
func Instances(p *Package, load Loader) ([]Request, error) {
	u := source.Parse(p)
	if len(u.Errs) > 0 {
		return nil, u.Errs.Sorted()
	}
	find := orLoad(p, load)
	var out []Request
	var all diag.List
	for _, k := range u.Kernels {
		reqs, list := instancesOf(u, k, find)
		out, all = append(out, reqs...), append(all, list...)
	}
	return out, all.Sorted().Err()
}

// orLoad is a loader that knows p.
func orLoad(p *Package, load Loader) Loader {
	return func(path string) (*Package, error) {
		switch {
		case path == p.Path:
			return p, nil
		case load == nil:
			return nil, fmt.Errorf("package %s is not a kernel package", path)
		}
		return load(path)
	}
}

// wantedInstances is what the comments above one kernel ask for.
type wantedInstances struct {
	u    *source.Unit
	k    *source.Decl
	load Loader
	sig  *types.Signature
	b    *build // of the signature

	types map[string]*types.Signature // by type arguments; nil for wrong ones
	out   []Request
	seen  map[string]bool
}

// instancesOf returns what the comments above a kernel ask for.
func instancesOf(u *source.Unit, k *source.Decl, load Loader) (reqs []Request, list diag.List) {
	b := newBuild(load)
	var err error
	defer func() {
		if d, ok := err.(diag.List); ok {
			list = d
		}
	}()
	defer b.recoverInternal(u.Path+"."+k.Name, &err)
	b.units[u.Path] = u
	b.reach(header(k))
	b.check()
	sig := b.signature(u, k)
	if len(b.Diags) > 0 || sig == nil || invalid(sig) {
		return nil, b.Diags
	}
	w := &wantedInstances{u: u, k: k, load: load, sig: sig, b: b, types: map[string]*types.Signature{}, seen: map[string]bool{}}
	for _, c := range k.Wants {
		w.line(c.Pos(), parseWanted(c))
	}
	if len(k.Wants) == 0 && sig.TypeParams().Len() == 0 && !slices.ContainsFunc(slices.Collect(sig.Params().Variables()), func(v *types.Var) bool { return Fixed(v.Type()) }) {
		w.out = append(w.out, Request{Pkg: u.Path, Func: k.Name})
	}
	return w.out, b.Diags.Sorted()
}

// wantedField is name=value,value of a comment.
type wantedField struct {
	name   string
	pos    token.Pos
	values []wantedValue
}

type wantedValue struct {
	text string
	pos  token.Pos
}

// parseWanted takes a comment apart. Blanks end a field and commas a value, but not inside of
// brackets and quotes; two slashes begin a remark.
func parseWanted(c *ast.Comment) (fields []wantedField) {
	text, _, _ := strings.Cut(c.Text, " // ")
	depth, quoted := 0, false
	begin, inField := len(source.InstancesMark), false
	var f *wantedField
	end := func(i int) {
		if f != nil && inField {
			f.values = append(f.values, wantedValue{text[begin:i], c.Pos() + token.Pos(begin)})
		} else if i > begin { // no equals sign
			fields = append(fields, wantedField{name: text[begin:i], pos: c.Pos() + token.Pos(begin)})
		}
		begin = i + 1
	}
	for i := begin; i < len(text); i++ {
		switch ch := text[i]; {
		case ch == '"':
			quoted = !quoted
		case quoted:
		case ch == '(' || ch == '[' || ch == '{':
			depth++
		case ch == ')' || ch == ']' || ch == '}':
			depth--
		case depth > 0 && inField:
		case ch == '=' && !inField:
			fields = append(fields, wantedField{name: text[begin:i], pos: c.Pos() + token.Pos(begin)})
			f, inField, begin = &fields[len(fields)-1], true, i+1
		case ch == ',' && inField:
			end(i)
		case ch == ' ' || ch == '\t':
			end(i)
			f, inField = nil, false
		}
	}
	end(len(text))
	return fields
}

func (w *wantedInstances) report(at token.Pos, note, format string, args ...any) {
	w.b.Report(at, diag.BadInstances, note, format, args...)
}

// line adds all combinations of what one comment lists.
func (w *wantedInstances) line(at token.Pos, fields []wantedField) {
	if !w.known(at, fields) {
		return
	}
	pick := make([]int, len(fields))
	for {
		w.one(at, fields, pick)
		i := len(pick) - 1
		for ; i >= 0; i-- { // the last field changes first
			if pick[i]++; pick[i] < len(fields[i].values) {
				break
			}
			pick[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// known reports fields that the kernel does not have, and type parameters that have none.
func (w *wantedInstances) known(at token.Pos, fields []wantedField) bool {
	before := len(w.b.Diags)
	seen := map[string]bool{}
	for _, f := range fields {
		switch {
		case len(f.values) == 0:
			w.report(f.pos, "", "%q in the comment //kiln:instances of kernel %s is not name=value,value", f.name, w.k.Name)
		case slices.ContainsFunc(f.values, func(v wantedValue) bool { return v.text == "" }):
			w.report(f.pos, "", "an empty value for %s in the comment //kiln:instances of kernel %s", f.name, w.k.Name)
		case seen[f.name]:
			w.report(f.pos, "", "%s is listed twice in a comment //kiln:instances of kernel %s", f.name, w.k.Name)
		case !w.typeParam(f.name) && w.param(f.name) < 0:
			w.report(f.pos, "it has "+w.names(), "kernel %s has no parameter %s that is fixed when it is compiled", w.k.Name, f.name)
		}
		seen[f.name] = true
	}
	for tp := range w.sig.TypeParams().TypeParams() {
		if name := tp.Obj().Name(); !seen[name] {
			w.report(at, "", "the comment //kiln:instances of kernel %s names no types for %s", w.k.Name, name)
		}
	}
	return len(w.b.Diags) == before
}

func (w *wantedInstances) typeParam(name string) bool {
	for tp := range w.sig.TypeParams().TypeParams() {
		if tp.Obj().Name() == name {
			return true
		}
	}
	return false
}

// param returns the index of the parameter that a field begins with, by its name or number;
// -1 if nothing in it can be fixed.
func (w *wantedInstances) param(field string) int {
	base := field
	if i := strings.IndexAny(field, ".["); i >= 0 {
		base = field[:i]
	}
	for i := 1; i < w.sig.Params().Len(); i++ {
		v := w.sig.Params().At(i)
		if base == paramName(v, i) || base == strconv.Itoa(i) {
			if Fixed(v.Type()) || gotype.HasParam(v.Type()) {
				return i
			}
		}
	}
	return -1
}

func paramName(v *types.Var, i int) string {
	if v.Name() == "" || v.Name() == "_" {
		return fmt.Sprintf("arg%d", i)
	}
	return v.Name()
}

// names lists what a comment can give values to.
func (w *wantedInstances) names() string {
	var names []string
	for tp := range w.sig.TypeParams().TypeParams() {
		names = append(names, tp.Obj().Name())
	}
	for i := 1; i < w.sig.Params().Len(); i++ {
		v := w.sig.Params().At(i)
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			names = append(names, paramName(v, i))
		}
		for _, part := range fixedParts(nil, paramName(v, i), v.Type()) {
			names = append(names, part.name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// one adds the instance with the values picked of the fields.
func (w *wantedInstances) one(at token.Pos, fields []wantedField, pick []int) {
	chosen, byParam := map[string]wantedValue{}, map[string]string{}
	for i, f := range fields {
		chosen[f.name] = f.values[pick[i]]
		if w.typeParam(f.name) {
			byParam[f.name] = substitute(f.values[pick[i]].text, byParam)
		}
	}
	req := Request{Pkg: w.u.Path, Func: w.k.Name}
	sig := w.sig
	if sig.TypeParams().Len() > 0 {
		var args []string
		from := at
		for tp := range sig.TypeParams().TypeParams() {
			args = append(args, byParam[tp.Obj().Name()])
			if sig.TypeParams().Len() == 1 {
				from = chosen[tp.Obj().Name()].pos
			}
		}
		if sig = w.instance(from, args); sig == nil {
			return
		}
		req.Sig = SignatureText(sig, w.u.Path)
	}
	if !w.fixed(at, sig, chosen, &req) {
		return
	}
	key := req.Sig + " " + fmt.Sprint(req.Consts) // maps are printed in order
	for _, name := range slices.Sorted(maps.Keys(req.Funcs)) {
		key += " " + name + "=" + req.Funcs[name].String()
	}
	if !w.seen[key] {
		w.seen[key] = true
		w.out = append(w.out, req)
	}
}

// instance returns the type of the kernel with type arguments, nil if there is none.
func (w *wantedInstances) instance(at token.Pos, args []string) *types.Signature {
	key := strings.Join(args, "; ")
	if sig, ok := w.types[key]; ok {
		return sig
	}
	w.types[key] = nil
	b := newBuild(w.load)
	b.units[w.u.Path] = w.u
	b.seen[w.k] = true // without its body
	b.reach(header(w.k))
	b.addInstance(w.u, w.k, Request{Pkg: w.u.Path, Func: w.k.Name, TypeArgs: args})
	b.check()
	if len(b.Diags) > 0 {
		w.report(at, "", "kernel %s has no instance [%s]: %s", w.k.Name, strings.Join(args, ", "), strings.TrimPrefix(b.Diags[0].Msg, w.k.Name+" cannot be instantiated: "))
		return nil
	}
	obj := b.parts[w.u].pkg.Scope().Lookup(instanceVar)
	if obj == nil {
		return nil
	}
	w.types[key], _ = obj.Type().(*types.Signature)
	return w.types[key]
}

// fixed takes the values of parameters that are fixed when an instance is compiled.
func (w *wantedInstances) fixed(at token.Pos, sig *types.Signature, chosen map[string]wantedValue, req *Request) bool {
	before := len(w.b.Diags)
	used := map[string]bool{}
	take := func(name, number string) (wantedValue, bool) {
		for _, n := range []string{name, number} {
			if v, ok := chosen[n]; ok {
				used[n] = true
				return v, true
			}
		}
		w.report(at, "", "the comment //kiln:instances of kernel %s gives no value to %s", w.k.Name, name)
		return wantedValue{}, false
	}
	for i := 1; i < sig.Params().Len(); i++ {
		v, number := sig.Params().At(i), strconv.Itoa(i)
		name := paramName(w.sig.Params().At(i), i)
		if fn, ok := v.Type().Underlying().(*types.Signature); ok {
			if val, ok := take(name, number); ok {
				w.function(val, number, fn, req)
			}
			continue
		}
		for _, part := range fixedParts(nil, "", v.Type()) {
			if val, ok := take(name+part.name, number+part.name); ok {
				w.constant(val, number+part.name, part.typ, req)
			}
		}
	}
	for name, v := range chosen {
		if !used[name] && !w.typeParam(name) {
			w.report(v.pos, "it has "+w.names(), "kernel %s has no compile-time parameter %s", w.k.Name, name)
		}
	}
	return len(w.b.Diags) == before
}

func (w *wantedInstances) constant(v wantedValue, number string, t types.Type, req *Request) {
	n, err := constval.Parse(v.text)
	switch {
	case err != nil:
		w.report(v.pos, "", "%v", err)
		return
	case gotype.Scalar(t) == ir.Bool && n != 0 && n != 1:
		w.report(v.pos, "", "%d is no value for a compile-time bool", n)
		return
	}
	if req.Consts == nil {
		req.Consts = map[string]int64{}
	}
	req.Consts[number] = n
}

// function takes a function of this package, or of another by its import path.
func (w *wantedInstances) function(v wantedValue, number string, typ *types.Signature, req *Request) {
	u, name := w.u, v.text
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
		path := name[:dot]
		name = name[dot+1:]
		other, err := w.b.unit(path)
		if err != nil {
			w.report(v.pos, "", "%v", err)
			return
		}
		u = other
	}
	d := u.Decls[name]
	var fn *ast.FuncDecl
	if d != nil && !d.OfLibrary() {
		fn, _ = d.Node.(*ast.FuncDecl)
	}
	if fn == nil {
		w.report(v.pos, "an instance of a generic function is that for the type of the parameter, without brackets", "package %s has no function %s", u.Path, name)
		return
	}
	f := Func{Pkg: u.Path, Name: name}
	if fn.Type.TypeParams != nil {
		f.Sig = SignatureText(typ, u.Path)
	}
	if req.Funcs == nil {
		req.Funcs = map[string]Func{}
	}
	req.Funcs[number] = f
}

// ParseConst reads the value of a compile-time parameter: an integer as Go
// writes it, true or false.
func ParseConst(text string) (int64, error) { return constval.Parse(text) }
