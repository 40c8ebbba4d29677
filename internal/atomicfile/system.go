package atomicfile

import (
	"io"
	"io/fs"
	"os"
	"time"
)

// System is the calls that whole files take. Tests put a worse file system behind it than
// the machine has.
type System interface {
	OpenFile(name string, flag int, perm fs.FileMode) (Handle, error)
	ReadFile(name string) ([]byte, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	Lstat(name string) (fs.FileInfo, error)
	Mkdir(name string, perm fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
	Chtimes(name string, atime, mtime time.Time) error
}

// Handle is an open file.
type Handle interface {
	io.Reader
	io.Writer
	Stat() (fs.FileInfo, error)
	Sync() error
	Close() error
}

// OS is the system's own files.
type OS struct{}

// OpenFile is os.OpenFile.
func (OS) OpenFile(name string, flag int, perm fs.FileMode) (Handle, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a Handle that is a nil file
	}
	return f, nil
}

// ReadFile is os.ReadFile.
func (OS) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }

// ReadDir is os.ReadDir.
func (OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// Lstat is os.Lstat.
func (OS) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

// Mkdir is os.Mkdir.
func (OS) Mkdir(name string, perm fs.FileMode) error { return os.Mkdir(name, perm) }

// Rename is os.Rename.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove is os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

// Chtimes is os.Chtimes.
func (OS) Chtimes(name string, atime, mtime time.Time) error { return os.Chtimes(name, atime, mtime) }
