package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// File is a file that is being written. It is not there under its name before Commit.
type File struct {
	sys  System
	h    Handle // nil when it is closed
	name string
	temp string // "" when it is renamed or removed
	info fs.FileInfo
}

// Create begins a file that takes the place of name. The mode is less the umask's, as with
// os.OpenFile.
func Create(name string, perm fs.FileMode) (*File, error) { return CreateIn(OS{}, name, perm) }

// createTries bounds how often another temporary name is tried. One collision is a reply of
// the server that got lost; two are none that happen.
const createTries = 5

// CreateIn is Create on another System.
func CreateIn(sys System, name string, perm fs.FileMode) (*File, error) {
	for try := 1; ; try++ {
		temp := TempName(name)
		h, err := sys.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err == nil {
			return &File{sys: sys, h: h, name: name, temp: temp}, nil
		}
		if !errors.Is(err, fs.ErrExist) || try == createTries {
			return nil, err
		}
	}
}

// Write writes the file as a whole, and removes what dead writers of it left. When write or
// anything else fails, what was there stays.
func Write(name string, perm fs.FileMode, write func(io.Writer) error) error {
	f, err := Create(name, perm)
	if err != nil {
		return err
	}
	defer f.Abort()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	Sweep(name, f.Time())
	return nil
}

// Write writes to the file.
func (f *File) Write(p []byte) (int, error) { return f.h.Write(p) }

// Temp is the name that the file has before Commit.
func (f *File) Temp() string { return f.temp }

// Time is when the file was written by the clock of its file system, once it is closed.
func (f *File) Time() time.Time {
	if f.info == nil {
		return time.Time{}
	}
	return f.info.ModTime()
}

// Close ends the writing, with all bytes on the disk: a crash of the machine could else keep
// the name and lose them. Commit does it too.
func (f *File) Close() error {
	if f.h == nil {
		return nil
	}
	err := f.h.Sync()
	if err == nil {
		f.info, err = f.h.Stat()
	}
	if cerr := f.h.Close(); err == nil {
		err = cerr
	}
	f.h = nil
	return err
}

// Commit puts the file in its place. After an error it is removed.
func (f *File) Commit() error {
	if f.temp == "" {
		return fmt.Errorf("%s: %w", f.name, fs.ErrClosed)
	}
	err := f.Close()
	if err == nil {
		err = f.rename()
	}
	if err != nil {
		f.Abort()
		return err
	}
	f.temp = ""
	return nil
}

// Abort removes the file, unless it is in its place.
func (f *File) Abort() {
	if f.h != nil {
		_ = f.h.Close()
		f.h = nil
	}
	if f.temp != "" {
		_ = f.sys.Remove(f.temp)
		f.temp = ""
	}
}

// renameTries bounds how long a rename waits for readers, on systems where an open file
// cannot be replaced: 1 + 2 + … + 16 ms.
const renameTries = 5

func (f *File) rename() error {
	var err error
	for try := range renameTries {
		if err = f.sys.Rename(f.temp, f.name); err == nil || f.inPlace(err) {
			return nil
		}
		if !renameMayRetry {
			break
		}
		time.Sleep(time.Millisecond << try)
	}
	return err
}

// inPlace reports whether the file is where it should be in spite of an error: the server
// renamed it, its reply got lost, and the client's second request found no file.
func (f *File) inPlace(err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	there, err := f.sys.Lstat(f.name)
	return err == nil && os.SameFile(there, f.info)
}

// staleTries bounds how often a file that others replace is opened again.
const staleTries = 4

// ReadFile reads a file that others may replace at the same time.
func ReadFile(name string) ([]byte, error) { return ReadFileIn(OS{}, name) }

// ReadFileIn is ReadFile on another System.
func ReadFileIn(sys System, name string) (data []byte, err error) {
	for range staleTries {
		if data, err = sys.ReadFile(name); !errors.Is(err, syscall.ESTALE) {
			break
		}
	}
	return data, err
}
