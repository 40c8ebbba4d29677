package atomicfile

import (
	"cmp"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Rooted is the files below one directory, which is held open: whatever becomes of its path, they
// are those of this directory, and no link leads out of it. Names are the full ones, below Dir.
type Rooted struct {
	Root *os.Root
	Dir  string // as names have it
}

// within returns a name relative to the directory.
func (r Rooted) within(op, name string) (string, error) {
	rest, ok := strings.CutPrefix(name, r.Dir)
	switch {
	case ok && rest == "":
		return ".", nil
	case ok && os.IsPathSeparator(rest[0]):
		return rest[1:], nil
	}
	return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
}

// OpenFile opens a file.
func (r Rooted) OpenFile(name string, flag int, perm fs.FileMode) (Handle, error) {
	rel, err := r.within("open", name)
	if err != nil {
		return nil, err
	}
	f, err := r.Root.OpenFile(rel, flag, perm)
	if err != nil {
		return nil, err // not a Handle that is a nil file
	}
	return f, nil
}

// ReadFile reads a file.
func (r Rooted) ReadFile(name string) ([]byte, error) {
	rel, err := r.within("open", name)
	if err != nil {
		return nil, err
	}
	return r.Root.ReadFile(rel)
}

// ReadDir lists a directory, in the order of names.
func (r Rooted) ReadDir(name string) ([]fs.DirEntry, error) {
	rel, err := r.within("open", name)
	if err != nil {
		return nil, err
	}
	f, err := r.Root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, err
}

// Lstat describes a file.
func (r Rooted) Lstat(name string) (fs.FileInfo, error) {
	rel, err := r.within("lstat", name)
	if err != nil {
		return nil, err
	}
	return r.Root.Lstat(rel)
}

// Mkdir makes a directory.
func (r Rooted) Mkdir(name string, perm fs.FileMode) error {
	rel, err := r.within("mkdir", name)
	if err != nil {
		return err
	}
	return r.Root.Mkdir(rel, perm)
}

// Rename renames a file.
func (r Rooted) Rename(from, to string) error {
	a, err := r.within("rename", from)
	if err != nil {
		return err
	}
	b, err := r.within("rename", to)
	if err != nil {
		return err
	}
	return r.Root.Rename(a, b)
}

// Remove removes a file.
func (r Rooted) Remove(name string) error {
	rel, err := r.within("remove", name)
	if err != nil {
		return err
	}
	return r.Root.Remove(rel)
}

// Chtimes sets the times of a file.
func (r Rooted) Chtimes(name string, atime, mtime time.Time) error {
	rel, err := r.within("chtimes", name)
	if err != nil {
		return err
	}
	return r.Root.Chtimes(rel, atime, mtime)
}
