package front

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/constval"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/ir"
)

// Build compiles a kernel to IR. Mistakes in the kernel are a [diag.List];
// other errors say what could not be loaded.
func Build(req Request, load Loader) (m *ir.Module, err error) {
	b := newBuild(load)
	defer b.recoverInternal(req.Pkg+"."+req.Func, &err)
	u, err := b.unit(req.Pkg)
	if err != nil {
		return nil, fmt.Errorf("loading kernel package %s: %w", req.Pkg, err)
	}
	if len(b.Diags) > 0 {
		return nil, b.Diags.Err()
	}
	kernel := u.Kernel(req.Func)
	if kernel == nil {
		return nil, noKernel(u, req.Func)
	}
	kernel.Load()
	q := b.query(u, kernel, req)
	if m := b.reuse(q, req); m != nil {
		return m, nil
	}
	fn, err := b.prepare(u, kernel, req)
	if fn == nil {
		return nil, err
	}
	b.share(q, fn)
	c := b.fork(req) // b may serve others by now
	defer c.recoverInternal(req.Pkg+"."+req.Func, &err)
	m = c.lower(u, fn)
	return m, c.Diags.Err()
}

// compile runs the stages; each adds diagnostics, and the first that cannot go
// on ends the compilation.
func (b *build) compile(u *source.Unit, kernel *source.Decl, req Request) (*ir.Module, error) {
	fn, err := b.prepare(u, kernel, req)
	if fn == nil {
		return nil, err
	}
	m := b.lower(u, fn)
	return m, b.Diags.Err()
}

// prepare runs the stages up to SSA form, and returns the kernel in it.
func (b *build) prepare(u *source.Unit, kernel *source.Decl, req Request) (*ssa.Function, error) {
	b.consts = constval.New(req)
	b.addInstance(u, kernel, req)
	if !b.bind(req.Funcs) {
		return nil, b.Diags.Err()
	}
	before := len(b.Diags) // mistakes do not keep others from being found
	if b.budget(); len(b.Diags) > before {
		return nil, b.Diags.Err()
	}
	b.check()
	b.subset()
	if len(b.Diags) > 0 {
		return nil, b.Diags.Err()
	}
	b.reachDispatch()
	if len(b.Diags) == 0 {
		b.expand()
	}
	if len(b.Diags) > 0 {
		return nil, b.Diags.Err()
	}
	b.buildSSA()
	fn := b.kernelFunc(u)
	if fn == nil {
		b.ReportFix(kernel.Node.Pos(), diag.Uninferable, "name them: jit.Of("+u.Name+"."+kernel.Name+"[float32]), or kiln emit -types float32",
			"%s is generic: the request names no types for it", kernel.Name)
		return nil, b.Diags.Err()
	}
	return fn, nil
}

// noKernel explains why there is no kernel of this name.
func noKernel(u *source.Unit, name string) error {
	at := diag.Position{File: u.Path}
	d := u.Decls[name]
	if d == nil {
		names := make([]string, len(u.Kernels))
		for i, k := range u.Kernels {
			names[i] = k.Name
		}
		note := ""
		if len(names) > 0 {
			note = "the kernels of the package are " + strings.Join(names, ", ")
		}
		return diag.List{diag.New(at, diag.NoKernel, fmt.Sprintf("package %s has no kernel %s", u.Path, name), note)}
	}
	return unmarked(d).Err()
}

// unmarked reports that a function is no kernel.
func unmarked(d *source.Decl) diag.List {
	b := newBuild(nil)
	d.Load()
	b.AddFile(d.File.Tok)
	if d.Stray == "" {
		b.Report(d.Node.Pos(), diag.NotKernel, "", "%s is not marked //kiln:kernel", d.Name)
	} else {
		b.Report(d.Node.Pos(), diag.NotKernel, "", "the comment %s of %s means nothing: the mark of kernels is //kiln:kernel", d.Stray, d.Name)
	}
	return b.Diags
}

// Kernels returns the names of the functions of p marked //kiln:kernel, in
// order of the source.
func Kernels(p *Package) []string {
	u := source.Parse(p)
	names := make([]string, len(u.Kernels))
	for i, k := range u.Kernels {
		names[i] = k.Name
	}
	return names
}

// SyntaxErrors returns what the parser says of the files of p, nil if they are Go.
func SyntaxErrors(p *Package) error { return source.Parse(p).Errs.Err() }

// Check reports all mistakes in the kernels of p. A generic kernel is compiled
// for the types that its constraints list, at most sixteen of them, or for types
// of p where a constraint asks for methods; a kernel with compile-time parameters
// is compiled for two sets of values: 1 and false, 8 and true, or those of a
// comment //kiln:const above it, as in
//
//	//kiln:const tile=16,32 cfg.Fast=true
//
// A parameter of a function type stands for all functions. Function literals that
// are arguments of jit.Func are checked too, and that instances which comments
// //kiln:instances name exist; see [Instances].
//
// Packages that p
// imports come from load. If more is not nil it is called with the IR of each
// instance without mistakes and may add some; those that have no position get that of the kernel.
func Check(p *Package, load Loader, more func(*ir.Module) diag.List) diag.List {
	u := source.Parse(p)
	if len(u.Errs) > 0 {
		return u.Errs.Sorted()
	}
	find := orLoad(p, load)
	var all diag.List
	for _, d := range u.Strays {
		all = append(all, unmarked(d)...)
	}
	for _, k := range u.Kernels {
		found := checkKernel(u, k, find, more)
		if len(found) == 0 && len(k.Wants) > 0 {
			_, found = instancesOf(u, k, find)
		}
		all = append(all, found...)
	}
	all = append(all, checkLiterals(u, find)...)
	return all.Sorted()
}

// checkKernel compiles one kernel: as it stands, which for a generic one stops
// after the checks that need no types, then for representative types.
func checkKernel(u *source.Unit, k *source.Decl, load Loader, more func(*ir.Module) diag.List) diag.List {
	b, list := checkFilled(u, k, nil, load, more)
	sig := b.signature(u, k)
	if sig == nil || sig.TypeParams().Len() == 0 {
		return list
	}
	for _, d := range list {
		if d.Code != diag.Uninferable || !b.awaitsTypes(d) {
			return list // the instances would repeat it
		}
	}
	return b.checkInstances(u, k, sig, load, more)
}

// Representative returns type arguments that a generic kernel can be compiled
// with, the first that Check takes; none for a kernel that is not generic, or that
// cannot be compiled with any.
func Representative(p *Package, kernel string, load Loader) []string {
	u := source.Parse(p)
	i := slices.IndexFunc(u.Kernels, func(k *source.Decl) bool { return k.Name == kernel })
	if i < 0 || len(u.Errs) > 0 {
		return nil
	}
	k := u.Kernels[i]
	b, _ := checkFilled(u, k, nil, load, nil)
	sig := b.signature(u, k)
	if sig == nil || sig.TypeParams().Len() == 0 {
		return nil
	}
	all, _ := representatives(u, sig)
	for _, args := range all {
		if _, found := checkFilled(u, k, args, load, nil); len(found) == 0 {
			return args
		}
	}
	return nil
}

// checkInstances compiles a generic kernel for representative types.
func (b *build) checkInstances(u *source.Unit, k *source.Decl, sig *types.Signature, load Loader, more func(*ir.Module) diag.List) (list diag.List) {
	args, guess := representatives(u, sig)
	fits := false
	for _, args := range args {
		_, found := checkFilled(u, k, args, load, more)
		if guess && slices.ContainsFunc(found, func(d diag.Diagnostic) bool { return d.Code == diag.Instantiation }) {
			continue
		}
		fits = true
		list = append(list, found...)
	}
	if !fits {
		name := k.Node.(*ast.FuncDecl).Name
		msg := fmt.Sprintf("%s cannot be instantiated: no type of package %s has the methods of its constraints", name.Name, u.Path)
		d := diag.New(b.Position(name.Pos()), diag.Instantiation, msg, "a generic kernel is checked with types of its package")
		d.Fix = "declare a type with these methods in the package, if only to check the kernel with it"
		list.Add(d)
	}
	return list
}

// checkFilled compiles a kernel, twice if it has compile-time parameters. The
// first build is returned.
func checkFilled(u *source.Unit, k *source.Decl, types []string, load Loader, more func(*ir.Module) diag.List) (*build, diag.List) {
	req := Request{Pkg: u.Path, Func: k.Name, TypeArgs: types, Fill: FillSmall}
	b := newBuild(load)
	b.units[u.Path] = u
	list := b.attempt(u, k, req, more)
	if len(b.consts.Names()) > 0 {
		large := newBuild(load)
		large.units[u.Path] = u
		req.Fill = FillLarge
		other := large.attempt(u, k, req, more)
		if b.consts.Guessed() {
			list, other = ofVariants(list, other), ofVariants(other, list)
		}
		list = append(list, other...)
	}
	return b, list
}

// ofVariants returns list without what is a mistake for some values of the compile-time parameters
// only, if other, which was found for other values, does not have it: nobody may want these values.
func ofVariants(list, other diag.List) (out diag.List) {
	for _, d := range list {
		ofValues := d.Code == diag.AlwaysOutOfRange || d.Code == diag.EndlessLoop
		same := func(o diag.Diagnostic) bool { return o.Pos == d.Pos && o.Code == d.Code }
		if !ofValues || slices.ContainsFunc(other, same) {
			out = append(out, d)
		}
	}
	return out
}

// attempt compiles and returns diagnostics only.
func (b *build) attempt(u *source.Unit, k *source.Decl, req Request, more func(*ir.Module) diag.List) diag.List {
	m, err := b.compileSafely(u, k, req)
	if list, ok := err.(diag.List); ok {
		return list
	}
	if err != nil {
		return diag.List{diag.New(diag.Position{File: u.Path}, diag.NoSource, err.Error(), "")}
	}
	if more == nil {
		return nil
	}
	found := more(m)
	for i, d := range found {
		if d.Pos == (diag.Position{}) {
			found[i].Pos = b.Position(k.Node.Pos())
		}
	}
	return found
}

func (b *build) compileSafely(u *source.Unit, k *source.Decl, req Request) (m *ir.Module, err error) {
	defer b.recoverInternal(req.Pkg+"."+req.Func, &err)
	return b.compile(u, k, req)
}

// awaitsTypes reports whether d only says that a generic kernel was compiled
// without types.
func (b *build) awaitsTypes(d diag.Diagnostic) bool {
	return d.Pos == b.Position(b.inst.kernel.Node.Pos())
}
