package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/internal/record"
)

// addSites adds the instances that the packages name in their code: kernels with type
// arguments, as in jit.Of(kernels.Scale[float32]), and calls of generated launchers. What
// stands in generic code is known only when a program runs, as are compile-time values; a
// record has both.
func (s *sources) addSites(set *record.Set, patterns []string) error {
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps,
	}, patterns...)
	if err != nil {
		return fmt.Errorf("reading packages: %w", err)
	}
	f := siteFinder{sources: s, kernels: map[string]map[string]bool{}}
	for _, p := range list {
		for _, e := range p.Errors {
			return fmt.Errorf("reading packages: %w", e)
		}
		for id, inst := range p.TypesInfo.Instances {
			f.site(set, p, id, inst)
		}
	}
	return f.err
}

type siteFinder struct {
	*sources
	kernels map[string]map[string]bool // by package
	err     error
}

// site adds the instance that an identifier stands for, if it is one of a kernel.
func (f *siteFinder) site(set *record.Set, p *packages.Package, id *ast.Ident, inst types.Instance) {
	fn, ok := p.TypesInfo.Uses[id].(*types.Func)
	if !ok || fn.Pkg() == nil || fn.Signature().Recv() != nil {
		return
	}
	kernel := f.kernelOf(fn)
	if kernel == nil {
		return
	}
	args := make([]types.Type, inst.TypeArgs.Len())
	for i := range args {
		if args[i] = inst.TypeArgs.At(i); open(args[i]) {
			return
		}
	}
	made, err := types.Instantiate(nil, kernel.Type(), args, true)
	if err != nil {
		return // a launcher of an older kernel; kiln check tells
	}
	sig := made.(*types.Signature)
	for v := range sig.Params().Variables() {
		if front.Fixed(v.Type()) {
			return
		}
	}
	path := kernel.Pkg().Path()
	req := front.Request{Pkg: path, Func: kernel.Name(), Sig: front.SignatureText(sig, path)}
	if path == f.program {
		req.Pkg = programPath
	}
	set.Add(record.Of(req))
}

// kernelOf returns the kernel that a function is, or launches.
func (f *siteFinder) kernelOf(fn *types.Func) *types.Func {
	path := fn.Pkg().Path()
	names, ok := f.kernels[path]
	if !ok && f.all[path] != nil {
		p, err := f.read(path)
		if err != nil {
			f.err = err
			return nil
		}
		if names = map[string]bool{}; p.kernels && p.registered {
			for _, name := range front.Kernels(p.Package) {
				names[name] = true
			}
		}
		f.kernels[path] = names
	}
	name := fn.Name()
	for _, prefix := range []string{"", "Launch", "Prepare", "Kernel", "launch", "prepare", "kernel"} {
		short, cut := strings.CutPrefix(name, prefix)
		if !cut || !names[short] {
			continue
		}
		k, _ := fn.Pkg().Scope().Lookup(short).(*types.Func)
		if k != nil && k.Signature().TypeParams().Len() == fn.Signature().TypeParams().Len() {
			return k
		}
	}
	return nil
}

// open reports whether a type has type parameters.
func open(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		return true
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			if open(arg) {
				return true
			}
		}
	case interface{ Elem() types.Type }:
		return open(t.Elem())
	}
	return false
}
