package input

import (
	"fmt"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gokiln/kiln/dsl"
)

// Package is the source of a kernel package.
type Package struct {
	Path       string // import path
	Files      []File
	DisplayDir string // directory in positions; the import path if empty
	Tests      bool   // files named _test.go are part of the package
}

// Compiles reports whether f is a file that kernels of p may use.
func (p *Package) Compiles(f File) bool {
	return !Generated(f.Name) && (p.Tests || !strings.HasSuffix(f.Name, "_test.go"))
}

// Generated reports whether a file of this name is what the command kiln writes next to
// kernels: launchers and prebuilt code. Nothing of it is part of a kernel, so that writing
// it again changes no kernel.
func Generated(name string) bool {
	return strings.HasPrefix(name, "zz_kernels") || strings.HasPrefix(name, "zz_prebuilt")
}

// File is a source file.
type File struct {
	Name string // base name
	Text []byte
}

// Loader finds the source of a kernel package. Package dsl and the parts of
// the standard library that kernels use are built in.
type Loader func(importPath string) (*Package, error)

// Wanted evaluates the build constraint of a file. Kernel code is the same for
// all targets, so no operating system and no architecture is set.
func (f File) Wanted() bool {
	for line := range strings.Lines(string(f.Text)) {
		line = strings.TrimSpace(line)
		if constraint.IsGoBuild(line) {
			x, err := constraint.Parse(line)
			return err != nil || x.Eval(func(tag string) bool {
				return tag == "kiln" || tag == "gc" || strings.HasPrefix(tag, "go1.")
			})
		}
		if strings.HasPrefix(line, "package ") {
			break
		}
	}
	return true
}

// Registered loads the kernel packages that registered their source with
// dsl.Source.
func Registered(importPath string) (*Package, error) {
	return registered(importPath, false)
}

// RegisteredTests is Registered for a package that is being tested: its test files
// are part of it, and a path such as example.com/k_test is that of external tests.
func RegisteredTests(importPath string) (*Package, error) {
	return registered(importPath, true)
}

func registered(importPath string, tests bool) (*Package, error) {
	files, ok := dsl.SourceOf(importPath)
	if !ok {
		return nil, fmt.Errorf("package %s has no kernel source in this program: add `//go:embed *.go`, `var source embed.FS` and `var _ = dsl.Source(source)` to it", importPath)
	}
	if tests {
		return readTests(importPath, files)
	}
	return ReadPackage(importPath, files)
}

// readTests reads the files of a package together with its tests. Package
// clauses tell those inside of the package from external ones.
func readTests(importPath string, files fs.FS) (*Package, error) {
	p, err := readFiles(importPath, files, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	p.Tests = true
	external := strings.HasSuffix(importPath, "_test")
	p.Files = slices.DeleteFunc(p.Files, func(f File) bool {
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Text, parser.PackageClauseOnly)
		return err == nil && strings.HasSuffix(tree.Name.Name, "_test") != external
	})
	return p, nil
}

// ReadPackage reads the kernel source of a package: its Go files without tests.
func ReadPackage(importPath string, files fs.FS) (*Package, error) {
	return readFiles(importPath, files, func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
}

func readFiles(importPath string, files fs.FS, wanted func(name string) bool) (*Package, error) {
	names, err := fs.Glob(files, "*.go")
	if err != nil {
		return nil, fmt.Errorf("reading source of %s: %w", importPath, err)
	}
	p := &Package{Path: importPath}
	for _, name := range names {
		if !wanted(name) {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading source of %s: %w", importPath, err)
		}
		p.Files = append(p.Files, File{Name: path.Base(name), Text: text})
	}
	return p, nil
}
