package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/gen"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/jit/record"
)

// addSites adds the instances that the packages name in their code: kernels with type
// arguments, as in jit.Of(kernels.Scale[float32]), and calls of generated launchers, with
// their compile-time values where these are constants. Generic functions and types are
// followed with the type arguments that they are used with. What is chosen only when a
// program runs is in a record.
func (s *sources) addSites(set *record.Set, list []*packages.Package) error {
	f := &siteFinder{sources: s, set: set, kernels: map[string]map[string]launched{}, typed: map[string]*packages.Package{}, uses: s.launching(), bodies: map[string]map[*types.Func]*ast.FuncDecl{}, seen: map[string]bool{}}
	packages.Visit(list, nil, func(p *packages.Package) {
		f.typed[p.PkgPath] = p
	})
	for _, p := range list {
		for _, e := range p.Errors {
			return fmt.Errorf("reading packages: %w", e)
		}
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if fn, ok := d.(*ast.FuncDecl); !ok || !genericDecl(p, fn) {
					f.walk(scope{p: p}, d)
				}
			}
		}
	}
	return f.err
}

// typed lists the packages that patterns mean, which are among the sources, with the syntax and
// types of them and all that they import. Most of that launches nothing, as the standard library:
// its functions have no bodies, which take half of the time to read and check.
func (s *sources) typed(patterns []string) ([]*packages.Package, error) {
	uses := s.launching()
	whole := map[string]bool{}
	for path, p := range s.all {
		for _, name := range p.GoFiles {
			whole[name] = uses[path]
		}
	}
	for _, path := range s.roots { // what is wrong in them is to be told
		for _, name := range s.all[path].GoFiles {
			whole[name] = true
		}
	}
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
		ParseFile: func(fset *token.FileSet, name string, text []byte) (*ast.File, error) {
			file, err := parser.ParseFile(fset, name, text, parser.AllErrors|parser.SkipObjectResolution)
			if known, ok := whole[name]; ok && !known && file != nil {
				for _, d := range file.Decls {
					if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
						fn.Body = &ast.BlockStmt{List: []ast.Stmt{&ast.ForStmt{Body: &ast.BlockStmt{}}}} // needs no result
					}
				}
			}
			return file, err
		},
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("reading packages: %w", err)
	}
	slices.SortFunc(list, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	return list, nil
}

// launching returns the packages that may launch kernels: they import jit, by themselves or
// through others.
func (s *sources) launching() map[string]bool {
	uses := map[string]bool{}
	packages.Visit(slices.Collect(maps.Values(s.all)), nil, func(p *packages.Package) { // imports first
		uses[p.PkgPath] = p.PkgPath == jitPath
		for _, q := range p.Imports {
			uses[p.PkgPath] = uses[p.PkgPath] || uses[q.PkgPath]
		}
	})
	return uses
}

const jitPath = "github.com/gokiln/kiln/jit"

type siteFinder struct {
	*sources
	set     *record.Set
	kernels map[string]map[string]launched           // by package and function
	typed   map[string]*packages.Package             // with syntax and types
	uses    map[string]bool                          // packages that may launch: they import jit
	bodies  map[string]map[*types.Func]*ast.FuncDecl // by package
	seen    map[string]bool                          // generic functions and their type arguments
	err     error
}

// launched is a kernel, and what a function does with it.
type launched struct {
	kernel string
	verb   string // launch, prepare, or "" for what only names it
}

// scope is a piece of code, and what the type parameters around it stand for.
type scope struct {
	p     *packages.Package
	types map[*types.TypeParam]types.Type
}

func genericDecl(p *packages.Package, d *ast.FuncDecl) bool {
	fn, _ := p.TypesInfo.Defs[d.Name].(*types.Func)
	return fn != nil && (fn.Signature().TypeParams().Len() > 0 || fn.Signature().RecvTypeParams().Len() > 0)
}

// walk follows what a piece of code names.
func (f *siteFinder) walk(at scope, n ast.Node) {
	calls := map[*ast.Ident]*ast.CallExpr{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr: // comes before the name of what it calls
			if id := calledName(n); id != nil {
				calls[id] = n
			}
		case *ast.Ident:
			var args []types.Type
			for t := range at.p.TypesInfo.Instances[n].TypeArgs.Types() {
				args = append(args, substituted(t, at.types))
			}
			switch obj := at.p.TypesInfo.Uses[n].(type) {
			case *types.Func:
				f.function(at, obj.Origin(), args, calls[n])
			case *types.TypeName:
				f.methods(obj, args)
			}
		}
		return f.err == nil
	})
}

// calledName returns the name in a call of a function, with type arguments or without.
func calledName(call *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	switch x := ast.Unparen(fun).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	}
	return nil
}

// function adds a kernel, or follows a generic function.
func (f *siteFinder) function(at scope, fn *types.Func, args []types.Type, call *ast.CallExpr) {
	if fn.Pkg() == nil || fn.Signature().Recv() != nil || len(args) != fn.Signature().TypeParams().Len() || anyOpen(args) {
		return
	}
	if what, ok := f.launchedBy(fn); ok {
		if k, _ := fn.Pkg().Scope().Lookup(what.kernel).(*types.Func); k != nil && k.Signature().TypeParams().Len() == len(args) {
			f.site(at, k, args, what.verb, call)
		}
		return
	}
	if len(args) > 0 {
		f.body(fn, fn.Signature().TypeParams(), args)
	}
}

// methods follows the methods of a generic type.
func (f *siteFinder) methods(obj *types.TypeName, args []types.Type) {
	named, ok := obj.Type().(*types.Named)
	if !ok || obj.Pkg() == nil || len(args) == 0 || len(args) != named.TypeParams().Len() || anyOpen(args) {
		return
	}
	for m := range named.Methods() {
		f.body(m, m.Signature().RecvTypeParams(), args)
	}
}

// body walks through a generic function, once for each list of type arguments.
func (f *siteFinder) body(fn *types.Func, params *types.TypeParamList, args []types.Type) {
	path := fn.Pkg().Path()
	p := f.typed[path]
	key := fn.FullName() + fmt.Sprint(args)
	if p == nil || !f.uses[path] || params.Len() != len(args) || f.seen[key] {
		return
	}
	f.seen[key] = true
	if f.bodies[path] == nil {
		f.bodies[path] = map[*types.Func]*ast.FuncDecl{}
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if d, ok := d.(*ast.FuncDecl); ok {
					if fn, ok := p.TypesInfo.Defs[d.Name].(*types.Func); ok {
						f.bodies[path][fn] = d
					}
				}
			}
		}
	}
	if d := f.bodies[path][fn]; d != nil && len(f.seen) < maxFollowed {
		at := scope{p, map[*types.TypeParam]types.Type{}}
		for i, t := range args {
			at.types[params.At(i)] = t
		}
		f.walk(at, d)
	}
}

// maxFollowed bounds functions that instantiate themselves with ever larger types.
const maxFollowed = 10_000

// site adds an instance of a kernel, if all that it is compiled with is known.
func (f *siteFinder) site(at scope, kernel *types.Func, args []types.Type, verb string, call *ast.CallExpr) {
	sig := kernel.Signature()
	path := kernel.Pkg().Path()
	req := front.Request{Pkg: f.launchedAs(path), Func: kernel.Name()}
	if len(args) > 0 {
		made, err := types.Instantiate(nil, sig, args, true)
		if err != nil {
			return // a launcher of an older kernel; kiln check tells
		}
		sig = made.(*types.Signature)
		req.Sig = front.SignatureText(sig, path)
	}
	if f.values(at, sig, verb, call, &req) {
		f.set.Add(record.Of(req))
	}
}

// launchedAs is what a running program calls a package.
func (f *siteFinder) launchedAs(path string) string {
	if path == f.program {
		return programPath
	}
	return path
}

// launchedBy returns the kernel that a function is, or launches.
func (f *siteFinder) launchedBy(fn *types.Func) (launched, bool) {
	path := fn.Pkg().Path()
	names, ok := f.kernels[path]
	if !ok {
		names = map[string]launched{}
		f.kernels[path] = names
		if err := f.readLaunchers(path, names); err != nil {
			f.err = err
		}
	}
	what, ok := names[fn.Name()]
	return what, ok
}

func (f *siteFinder) readLaunchers(path string, names map[string]launched) error {
	if p := f.typed[path]; p == nil || p.Imports[dslPath] == nil || f.all[path] == nil {
		return nil // no package of kernels
	}
	p, err := f.read(path)
	if err != nil || !p.kernels || !p.registered {
		return err
	}
	for _, name := range front.Kernels(p.Package) {
		names[name] = launched{kernel: name}
	}
	for _, file := range p.all {
		if !input.Generated(file.Name) {
			continue
		}
		list, err := gen.Launchers(file.Text)
		if err != nil {
			return err
		}
		for name, kernel := range list {
			what := launched{kernel: kernel}
			switch {
			case strings.HasPrefix(strings.ToLower(name), "launch"):
				what.verb = "launch"
			case strings.HasPrefix(strings.ToLower(name), "prepare"):
				what.verb = "prepare"
			}
			names[name] = what
		}
	}
	return nil
}

func anyOpen(list []types.Type) bool {
	for _, t := range list {
		if open(t) {
			return true
		}
	}
	return false
}

// open reports whether a type has type parameters.
func open(t types.Type) bool {
	found := false
	substitute(t, func(p *types.TypeParam) types.Type { found = true; return p })
	return found
}

func substituted(t types.Type, by map[*types.TypeParam]types.Type) types.Type {
	return substitute(t, func(p *types.TypeParam) types.Type {
		if to := by[p]; to != nil {
			return to
		}
		return p
	})
}

// substitute replaces the type parameters in a type that kernels can have.
func substitute(t types.Type, by func(*types.TypeParam) types.Type) types.Type {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return by(t)
	case *types.Slice:
		return types.NewSlice(substitute(t.Elem(), by))
	case *types.Pointer:
		return types.NewPointer(substitute(t.Elem(), by))
	case *types.Array:
		return types.NewArray(substitute(t.Elem(), by), t.Len())
	case *types.Struct:
		fields, tags := make([]*types.Var, t.NumFields()), make([]string, t.NumFields())
		for i := range fields {
			v := t.Field(i)
			fields[i], tags[i] = types.NewField(v.Pos(), v.Pkg(), v.Name(), substitute(v.Type(), by), v.Embedded()), t.Tag(i)
		}
		return types.NewStruct(fields, tags)
	case *types.Signature:
		return types.NewSignatureType(nil, nil, nil, substituteAll(t.Params(), by), substituteAll(t.Results(), by), t.Variadic())
	case *types.Named:
		var args []types.Type
		for arg := range t.TypeArgs().Types() {
			args = append(args, substitute(arg, by))
		}
		if len(args) == 0 {
			return t
		}
		if made, err := types.Instantiate(nil, t.Origin(), args, false); err == nil {
			return made
		}
	}
	return t
}

func substituteAll(list *types.Tuple, by func(*types.TypeParam) types.Type) *types.Tuple {
	vars := make([]*types.Var, list.Len())
	for i := range vars {
		v := list.At(i)
		vars[i] = types.NewParam(v.Pos(), v.Pkg(), v.Name(), substitute(v.Type(), by))
	}
	return types.NewTuple(vars...)
}
