package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is one package of the module under check.
type pkg struct {
	dir    string
	rel    string // import path relative to the module, "." for its root
	module string
	name   string
	fset   *token.FileSet
	files  []file
}

// file is one parsed file.
type file struct {
	name string // base name
	test bool
	ast  *ast.File
}

// listed is what the go command prints for a package.
type listed struct {
	Dir, ImportPath, Name             string
	Module                            *struct{ Path string }
	GoFiles, CgoFiles, IgnoredGoFiles []string
	TestGoFiles, XTestGoFiles         []string
	Error                             *struct{ Err string }
}

// load asks the go command for the packages and parses all their files.
func load(dir string, patterns []string) ([]*pkg, error) {
	list, err := goList(dir, patterns)
	if err != nil {
		return nil, err
	}
	var pkgs []*pkg
	var errs []error
	for _, l := range list {
		p, err := parse(l)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, errors.Join(errs...)
}

// goList runs go list without resolving imports: a rule about an import must
// not depend on whether the imported package can be found.
func goList(dir string, patterns []string) ([]listed, error) {
	cmd := exec.Command("go", append([]string{"list", "-e", "-find", "-json", "--"}, patterns...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	var list []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("output of go list: %w", err)
		}
		list = append(list, l)
	}
	return list, nil
}

// parse reads all files of a package, whatever their build constraints.
func parse(l listed) (*pkg, error) {
	names := slices.Concat(l.GoFiles, l.CgoFiles, l.IgnoredGoFiles, l.TestGoFiles, l.XTestGoFiles)
	if l.Module == nil || len(names) == 0 {
		msg := "not a package of a module"
		if l.Error != nil {
			msg = l.Error.Err
		}
		return nil, fmt.Errorf("%s: %s", l.ImportPath, msg)
	}
	p := &pkg{
		dir: l.Dir, name: l.Name, module: l.Module.Path, fset: token.NewFileSet(),
		rel: strings.TrimPrefix(strings.TrimPrefix(l.ImportPath, l.Module.Path), "/"),
	}
	if p.rel == "" {
		p.rel = "."
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
			continue // never part of a build
		}
		f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files = append(p.files, file{name: name, test: strings.HasSuffix(name, "_test.go"), ast: f})
	}
	return p, nil
}
