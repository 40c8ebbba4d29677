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
	var text []byte
	for _, path := range slices.Sorted(maps.Keys(pkgs)) {
		p := pkgs[path]
		files := slices.Clone(p.Files)
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		frame(sum, path)
		for _, f := range files {
			if p.Compiles(f) {
				text = appendEssence(text[:0], f.Text)
				frame(sum, f.Name)
				frame(sum, text)
			}
		}
	}
	return [32]byte(sum.Sum(nil)), nil
}

// frame writes a string with its length, so that no two lists of strings hash alike.
func frame[T ~string | ~[]byte](w io.Writer, s T) {
	var n [8]byte
	binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
	_, _ = w.Write(n[:]) // hashes do not fail
	_, _ = w.Write([]byte(s))
}

// Sum returns a hash of all that is known of a package.
func (p *Package) Sum() (sum [32]byte) {
	h := sha256.New()
	for _, s := range []string{p.Path, p.DisplayDir, strconv.FormatBool(p.Tests)} {
		frame(h, s)
	}
	for _, f := range p.Files {
		frame(h, f.Name)
		frame(h, f.Text)
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
