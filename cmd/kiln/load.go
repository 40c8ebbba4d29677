package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
)

// sources are the packages that the go command found, with all that they
// import.
type sources struct {
	roots []string // import paths of the packages asked for
	all   map[string]*packages.Package
	read  map[string]*front.Package
}

// loadSources asks the go command for packages. Nothing is type-checked: the
// compiler's front end does that, for the declarations that kernels reach.
func loadSources(patterns []string) (*sources, error) {
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	s := &sources{all: map[string]*packages.Package{}, read: map[string]*front.Package{}}
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

// load is the loader for the front end.
func (s *sources) load(path string) (*front.Package, error) {
	if p := s.read[path]; p != nil {
		return p, nil
	}
	listed := s.all[path]
	if listed == nil {
		return compiler.Registered(path)
	}
	p := &front.Package{Path: path}
	for _, file := range listed.GoFiles {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading source of %s: %w", path, err)
		}
		p.DisplayDir = displayDir(filepath.Dir(file))
		p.Files = append(p.Files, front.File{Name: filepath.Base(file), Text: text})
	}
	s.read[path] = p
	return p, nil
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
func (s *sources) withKernels() ([]*front.Package, error) {
	var out []*front.Package
	for _, path := range s.roots {
		p, err := s.load(path)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.Files, func(f front.File) bool { return bytes.Contains(f.Text, []byte("\n//kiln:kernel")) }) {
			out = append(out, p)
		}
	}
	return out, nil
}
