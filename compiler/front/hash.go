package front

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"go/parser"
	"io"
	"slices"
	"strings"
)

// SourceHash returns a hash of the source of a kernel package and of the kernel
// packages it imports, directly or not. It depends on import paths, file base
// names and text without comments alone, so it is the same on every machine, and
// editing a comment does not change it. Package dsl is not
// part of it: it belongs to the compiler and its version. More are packages whose
// types the kernel is instantiated with; see [Packages].
func SourceHash(importPath string, load Loader, more ...string) ([32]byte, error) {
	h := hasher{load: load, pkgs: map[string]*Package{}}
	for _, path := range append(more, importPath) {
		if err := h.add(path); err != nil {
			return [32]byte{}, err
		}
	}
	paths := make([]string, 0, len(h.pkgs))
	for p := range h.pkgs {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	sum := sha256.New()
	for _, path := range paths {
		p := h.pkgs[path]
		files := slices.Clone(p.Files)
		slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
		frame(sum, path)
		for _, f := range files {
			if p.compiles(f) {
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

type hasher struct {
	load Loader
	pkgs map[string]*Package
}

// add loads a package and what it imports. Imports that are not kernel
// packages serve the host code of the package and do not count.
func (h *hasher) add(path string) error {
	p, err := h.load(path)
	if err != nil {
		return err // names the package
	}
	h.pkgs[path] = p
	for _, f := range p.Files {
		if !p.compiles(f) {
			continue
		}
		tree, _, err := parseFile(f.Name, f.Text, parser.ImportsOnly)
		if err != nil {
			return fmt.Errorf("hashing source of %s: %w", path, err)
		}
		for _, s := range tree.Imports {
			dep := newImport(s).path
			if h.pkgs[dep] != nil || libraries[dep] != nil {
				continue
			}
			if q, err := h.load(dep); err != nil || q == nil {
				continue
			}
			if err := h.add(dep); err != nil {
				return err
			}
		}
	}
	return nil
}
