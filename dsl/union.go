package dsl

import (
	"errors"
	"io"
	"io/fs"
	"sort"
)

// union is two file trees as one. Files of the first hide those of the second.
type union [2]fs.FS

// Open opens a file of either tree, and directories with the entries of both.
func (u union) Open(name string) (fs.File, error) {
	first, err := u[0].Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return u[1].Open(name)
	}
	if err != nil {
		return nil, err
	}
	if info, err := first.Stat(); err != nil || !info.IsDir() {
		return first, err
	}
	entries, err := u.ReadDir(name)
	return &unionDir{first, entries}, err
}

// ReadDir lists the entries of both trees, sorted by name.
func (u union) ReadDir(name string) ([]fs.DirEntry, error) {
	first, err := fs.ReadDir(u[0], name)
	second, err2 := fs.ReadDir(u[1], name)
	if err != nil && err2 != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, e := range first {
		seen[e.Name()] = true
	}
	for _, e := range second {
		if !seen[e.Name()] {
			first = append(first, e)
		}
	}
	sort.Slice(first, func(i, j int) bool { return first[i].Name() < first[j].Name() })
	return first, nil
}

// unionDir is an open directory of a union.
type unionDir struct {
	fs.File
	rest []fs.DirEntry
}

// ReadDir is [fs.ReadDirFile].
func (d *unionDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		n = len(d.rest)
	} else if len(d.rest) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(d.rest))
	head := d.rest[:n]
	d.rest = d.rest[n:]
	return head, nil
}
