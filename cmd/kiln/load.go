package main

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/input"
)

// sources are the packages that the go command found, with all that they
// import.
type sources struct {
	roots []string // import paths of the packages asked for
	all   map[string]*packages.Package

	mu   sync.Mutex // kernels are examined concurrently
	seen map[string]*source

	program string // import path of the package main whose kernels are built, which a program knows as "main"
}

// source is a package as a program that imports it would hand it to the
// compiler.
type source struct {
	*front.Package
	all        []front.File
	dir        string   // of its files
	registered bool     // it gives its embedded files to dsl.Source
	left       []string // files with kernels that it does not give
	kernels    bool     // some file has a kernel, a literal for jit.Func, or launchers
}

// loadSources asks the go command for packages. Nothing is type-checked: the
// compiler's front end does that, for the declarations that kernels reach. Flags are
// those of go list.
func loadSources(patterns []string, flags ...string) (*sources, error) {
	list, err := packages.Load(&packages.Config{
		Mode:       packages.NeedName | packages.NeedFiles | packages.NeedEmbedFiles | packages.NeedImports | packages.NeedDeps,
		BuildFlags: flags,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	s := &sources{all: map[string]*packages.Package{}, seen: map[string]*source{}}
	for _, p := range list {
		for _, e := range p.Errors {
			if e.Kind == packages.ListError {
				return nil, fmt.Errorf("listing packages: %s", e.Msg)
			}
		}
		s.roots = append(s.roots, p.PkgPath)
	}
	packages.Visit(list, func(p *packages.Package) bool { s.all[p.PkgPath] = p; return true }, nil)
	slices.Sort(s.roots)
	return s, nil
}

// load is the loader for the front end. As in a program, a package can be
// compiled only if it registers its source; otherwise a call to fmt.Println
// would have the standard library diagnosed.
func (s *sources) load(path string) (*front.Package, error) {
	if s.all[path] == nil {
		return compiler.Registered(path)
	}
	p, err := s.read(path)
	if err != nil {
		return nil, err
	}
	if !p.registered {
		return compiler.Registered(path) // says what is missing
	}
	return p.Package, nil
}

// loadAsked is load, but a package that was asked for need not be registered.
func (s *sources) loadAsked(path string) (*front.Package, error) {
	if !slices.Contains(s.roots, path) {
		return s.load(path)
	}
	p, err := s.read(path)
	if err != nil {
		return nil, err
	}
	return p.Package, nil
}

// read returns the source of a package that the go command listed: the
// embedded files if it registers them, else all files.
func (s *sources) read(pkg string) (*source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.seen[pkg]; p != nil {
		return p, nil
	}
	listed := s.all[pkg]
	all, err := readFiles(listed.GoFiles)
	if err != nil {
		return nil, fmt.Errorf("reading source of %s: %w", pkg, err)
	}
	embedded, err := readFiles(embeddedSource(listed))
	if err != nil {
		return nil, fmt.Errorf("reading source of %s: %w", pkg, err)
	}
	p := &source{Package: &front.Package{Path: pkg, Files: all}, all: all}
	if len(listed.GoFiles) > 0 {
		p.dir = filepath.Dir(listed.GoFiles[0])
		p.DisplayDir = displayDir(p.dir)
	}
	if p.registered = len(embedded) > 0 && slices.ContainsFunc(all, registers); p.registered {
		p.Files = embedded
	} else {
		embedded = nil
	}
	for _, f := range all {
		if !hasKernel(f) {
			p.kernels = p.kernels || input.Generated(f.Name) // whose kernels may be gone
			continue
		}
		p.kernels = true
		if !slices.ContainsFunc(embedded, func(e front.File) bool { return e.Name == f.Name }) {
			p.left = append(p.left, f.Name)
		}
	}
	s.seen[pkg] = p
	return p, nil
}

// embeddedSource returns the Go files of a package that it embeds.
func embeddedSource(p *packages.Package) []string {
	var out []string
	for _, name := range p.EmbedFiles {
		if filepath.Ext(name) == ".go" && filepath.Dir(name) == filepath.Dir(p.GoFiles[0]) {
			out = append(out, name)
		}
	}
	return out
}

func readFiles(names []string) ([]front.File, error) {
	files := make([]front.File, len(names))
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		files[i] = front.File{Name: filepath.Base(name), Text: text}
	}
	return files, nil
}

// registers reports whether a file calls dsl.Source, by whatever name it
// imports package dsl.
func registers(f front.File) bool {
	return bytes.Contains(f.Text, []byte(`"github.com/gokiln/kiln/dsl"`)) && bytes.Contains(f.Text, []byte("Source("))
}

// displayDir is dir as a person in the working directory would write it.
func displayDir(dir string) string {
	wd, err := os.Getwd()
	if err != nil {
		return dir
	}
	rel, err := filepath.Rel(wd, dir)
	if err != nil || strings.HasPrefix(rel, "..") {
		return dir
	}
	return rel
}

// withKernels returns the packages asked for that hold a kernel.
func (s *sources) withKernels() ([]*source, error) {
	var out []*source
	for _, path := range s.roots {
		p, err := s.read(path)
		if err != nil {
			return nil, err
		}
		if p.kernels {
			out = append(out, p)
		}
	}
	return out, nil
}

// hasKernel reports whether a file has something to compile: a kernel, or a
// function literal that is made into a handle.
func hasKernel(f front.File) bool {
	return bytes.Contains(f.Text, []byte("\n//kiln:kernel")) || front.HasLiterals(f)
}

// unregistered reports the files whose kernels no program can compile.
func (p *source) unregistered() diag.List {
	var list diag.List
	for _, name := range p.left {
		msg := "kernels cannot be compiled: package " + p.Path + " does not register its source"
		if p.registered {
			msg = "kernels cannot be compiled: " + name + " is not among the files that package " + p.Path + " embeds"
		}
		list = append(list, diag.New(diag.Position{File: path.Join(p.DisplayDir, name)}, diag.NoSource, msg, ""))
	}
	return list
}
