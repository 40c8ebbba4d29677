package input

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SourceHash returns a hash of the source of a kernel package and of the kernel
// packages it imports, directly or not. It depends on import paths, file base
// names and text without comments alone, so it is the same on every machine, and
// editing a comment does not change it. Package dsl is not
// part of it: it belongs to the compiler and its version. More are packages whose
// types the kernel is instantiated with; see [Packages].
func SourceHash(importPath string, load Loader, more ...string) ([32]byte, error) {
	pkgs, err := Reached(load, append(more, importPath)...)
	if err != nil {
		return [32]byte{}, err
	}
	sum := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(pkgs)) {
		p := pkgs[path]
		files := slices.Clone(p.Files)
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		frame(sum, path)
		for _, f := range files {
			if p.Compiles(f) {
				frame(sum, f.Name)
				frame(sum, string(essence(f.Text)))
			}
		}
	}
	return [32]byte(sum.Sum(nil)), nil
}

// frame writes strings with their lengths, so that no two lists of strings
// hash alike.
func frame(w io.Writer, list ...string) {
	var n [8]byte
	for _, s := range list {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		_, _ = w.Write(n[:]) // hashes do not fail
		_, _ = io.WriteString(w, s)
	}
}

// Sum returns a hash of all that is known of a package.
func (p *Package) Sum() (sum [32]byte) {
	h := sha256.New()
	frame(h, p.Path, p.DisplayDir, strconv.FormatBool(p.Tests))
	for _, f := range p.Files {
		frame(h, f.Name)
		frame(h, string(f.Text))
	}
	h.Sum(sum[:0])
	return sum
}

// Reached returns some kernel packages and those that they import, directly or not, by
// their import paths.
func Reached(load Loader, paths ...string) (map[string]*Package, error) {
	r := reacher{load: load, pkgs: map[string]*Package{}}
	for _, path := range paths {
		p, err := load(path)
		if err == nil {
			err = r.add(path, p)
		}
		if err != nil {
			return nil, err // names the package
		}
	}
	return r.pkgs, nil
}

type reacher struct {
	load Loader
	pkgs map[string]*Package
}

// add adds a package and loads what it imports. Imports that are not kernel
// packages serve the host code of the package and do not count.
func (r *reacher) add(path string, p *Package) error {
	r.pkgs[path] = p
	for _, f := range p.Files {
		if !p.Compiles(f) {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), f.Name, f.Text, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("hashing source of %s: %w", path, err)
		}
		for _, s := range tree.Imports {
			dep := strings.Trim(s.Path.Value, "\"`")
			if r.pkgs[dep] != nil || Library(dep) {
				continue
			}
			q, err := r.load(dep)
			if err != nil || q == nil {
				continue
			}
			if err := r.add(dep, q); err != nil {
				return err
			}
		}
	}
	return nil
}
