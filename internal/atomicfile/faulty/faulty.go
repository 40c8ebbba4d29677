package faulty

import (
	"io/fs"
	"time"

	"github.com/gokiln/kiln/internal/atomicfile"
)

// System is the system's own files with faults.
type System struct {
	real atomicfile.OS

	// Fault is asked at every call: open, write, sync, stat, close, read, readdir, lstat, mkdir,
	// rename, remove or chtimes, and the file. It returns the error of the call, and whether the
	// call is made all the same. A write that is not made writes half.
	Fault func(op, name string) (err error, made bool)

	// Data, if there is one, changes what is read of a file.
	Data func(name string, data []byte) []byte
}

// do makes a call, or not.
func (s System) do(op, name string, call func() error) error {
	if s.Fault != nil {
		if err, made := s.Fault(op, name); err != nil {
			if made {
				_ = call()
			}
			return err
		}
	}
	return call()
}

// OpenFile opens a file whose calls have faults too.
func (s System) OpenFile(name string, flag int, perm fs.FileMode) (h atomicfile.Handle, err error) {
	err = s.do("open", name, func() error { h, err = s.real.OpenFile(name, flag, perm); return err })
	if err != nil {
		if h != nil {
			_ = h.Close()
		}
		return nil, err
	}
	return handle{s, h, name}, nil
}

// ReadFile reads a file.
func (s System) ReadFile(name string) (data []byte, err error) {
	err = s.do("read", name, func() error { data, err = s.real.ReadFile(name); return err })
	if err == nil && s.Data != nil {
		data = s.Data(name, data)
	}
	return data, err
}

// ReadDir lists a directory.
func (s System) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = s.do("readdir", name, func() error { list, err = s.real.ReadDir(name); return err })
	return list, err
}

// Lstat describes a file.
func (s System) Lstat(name string) (info fs.FileInfo, err error) {
	err = s.do("lstat", name, func() error { info, err = s.real.Lstat(name); return err })
	return info, err
}

// Mkdir makes a directory.
func (s System) Mkdir(name string, perm fs.FileMode) error {
	return s.do("mkdir", name, func() error { return s.real.Mkdir(name, perm) })
}

// Rename renames a file; Fault is asked about its new name.
func (s System) Rename(from, to string) error {
	return s.do("rename", to, func() error { return s.real.Rename(from, to) })
}

// Remove removes a file.
func (s System) Remove(name string) error {
	return s.do("remove", name, func() error { return s.real.Remove(name) })
}

// Chtimes sets the times of a file.
func (s System) Chtimes(name string, atime, mtime time.Time) error {
	return s.do("chtimes", name, func() error { return s.real.Chtimes(name, atime, mtime) })
}

type handle struct {
	sys  System
	real atomicfile.Handle
	name string
}

func (h handle) Write(p []byte) (n int, err error) {
	err = h.sys.do("write", h.name, func() error { n, err = h.real.Write(p); return err })
	if err != nil && n == 0 {
		n, _ = h.real.Write(p[:len(p)/2])
	}
	return n, err
}

func (h handle) Read(p []byte) (n int, err error) {
	err = h.sys.do("read", h.name, func() error { n, err = h.real.Read(p); return err })
	return n, err
}

func (h handle) Stat() (info fs.FileInfo, err error) {
	err = h.sys.do("stat", h.name, func() error { info, err = h.real.Stat(); return err })
	return info, err
}

func (h handle) Sync() error { return h.sys.do("sync", h.name, h.real.Sync) }

// Close closes the file whatever the fault.
func (h handle) Close() error {
	err := h.real.Close()
	if ferr := h.sys.do("close", h.name, func() error { return nil }); ferr != nil {
		return ferr
	}
	return err
}
