package file

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// Blob is bytes that can be read again and again: a part of a file, or what a
// compressed part of one unpacks to.
type Blob interface {
	// Size is the number of bytes.
	Size() int64
	// View returns n bytes from off on.
	View(off, n int64) (*View, error)
}

// Source is the bytes of a file. It may be used from several goroutines.
type Source struct {
	name    string
	size    int64
	hold    *hold // on the mapping, nil without one
	cleanup runtime.Cleanup
	r       io.ReaderAt // the file; nil for bytes in memory
	closer  io.Closer
	closed  atomic.Bool
}

// Open opens a file, and maps it into memory if the system can do that: views of it copy nothing
// then. ReadAt reads the file, so that the process has no more memory than what it reads into; each
// page of a mapping that is touched counts as memory of the process. The file must not be made
// shorter while it is open.
func Open(path string) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = Fault(path, -1, ErrUnsupported, "not a regular file; read it into memory and open the bytes")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := FromReader(path, f, info.Size())
	if n := info.Size(); n > 0 && n <= math.MaxInt {
		if data, err := mapFile(f, int(n)); err == nil {
			s = mapped(path, data, unmapFile)
		}
	}
	s.r, s.closer = f, f
	return s, nil
}

// FromBytes returns a Source of bytes, which must not be changed any more. Errors call
// it by the name.
func FromBytes(name string, b []byte) *Source { return mapped(name, b, nil) }

// FromReader returns a Source of the first size bytes of r.
func FromReader(name string, r io.ReaderAt, size int64) *Source {
	return &Source{name: name, size: max(size, 0), r: r}
}

func mapped(name string, data []byte, free func([]byte)) *Source {
	m := &mapping{data: data, free: free}
	m.holds.Store(1)
	s := &Source{name: name, size: int64(len(data)), hold: &hold{m: m}}
	s.cleanup = runtime.AddCleanup(s, (*hold).release, s.hold)
	return s
}

// Name is the path or name.
func (s *Source) Name() string { return s.name }

// Size is the number of bytes.
func (s *Source) Size() int64 { return s.size }

// Close ends reading. Views that were made before stay.
func (s *Source) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.hold != nil {
		s.cleanup.Stop()
		s.hold.release()
	}
	if s.closer != nil {
		return s.closer.Close()
	}
	return nil
}

// check reports what cannot be read.
func (s *Source) check(off, n int64) error {
	switch {
	case s.closed.Load():
		return Fault(s.name, -1, os.ErrClosed, "")
	case off < 0 || n < 0:
		return Fault(s.name, off, ErrFormat, "%d bytes from there on", n)
	case off > s.size || n > s.size-off:
		return Fault(s.name, s.size, ErrTruncated, "the file ends, and %d bytes from byte %d on are wanted", n, off)
	case n > math.MaxInt:
		return Fault(s.name, off, ErrUnsupported, "%d bytes are more than this system can address", n)
	}
	return nil
}

// ReadAt fills p from off on, as io.ReaderAt has it.
func (s *Source) ReadAt(p []byte, off int64) (int, error) {
	if n := s.size - off; off >= 0 && n < int64(len(p)) {
		n, err := s.ReadAt(p[:max(n, 0)], min(off, s.size))
		if err == nil {
			err = io.EOF
		}
		return n, err
	}
	if err := s.check(off, int64(len(p))); err != nil {
		return 0, err
	}
	if s.r != nil {
		n, err := s.r.ReadAt(p, off)
		if n == len(p) {
			return n, nil
		}
		if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
			err = Fault(s.name, off+int64(n), ErrTruncated, "the file ends, and was %d bytes long when it was opened", s.size)
		}
		return n, err
	}
	h := s.hold.m.take()
	if h == nil {
		return 0, Fault(s.name, -1, os.ErrClosed, "")
	}
	defer h.release()
	return copy(p, h.m.data[off:]), nil
}

// copyMapped copies from mapped memory, whose pages may have gone with the end of the
// file.
func copyMapped(dst, src []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	copy(dst, src)
	return nil
}

// View returns n bytes from off on, without a copy if the file is mapped.
func (s *Source) View(off, n int64) (*View, error) {
	if err := s.check(off, n); err != nil {
		return nil, err
	}
	if s.hold != nil {
		if h := s.hold.m.take(); h != nil {
			return h.view(off, n), nil
		}
		return nil, Fault(s.name, -1, os.ErrClosed, "")
	}
	b := make([]byte, n)
	if _, err := s.ReadAt(b, off); err != nil {
		return nil, err
	}
	return NewView(b), nil
}

// Section is the n bytes from off on.
func (s *Source) Section(off, n int64) (Blob, error) {
	if err := s.check(off, n); err != nil {
		return nil, err
	}
	return section{s, off, n}, nil
}

type section struct {
	s       *Source
	off, sz int64
}

// ReadAt reads without a mapping, within the section.
func (s section) ReadAt(p []byte, off int64) (int, error) {
	return io.NewSectionReader(s.s, s.off, s.sz).ReadAt(p, off)
}

func (s section) Size() int64 { return s.sz }

func (s section) View(off, n int64) (*View, error) {
	if off < 0 || n < 0 || off > s.sz-n {
		return nil, Fault(s.s.name, s.off, ErrTruncated, "%d bytes from byte %d of %d", n, off, s.sz)
	}
	return s.s.View(s.off+off, n)
}

// made is a Blob whose bytes are made when they are wanted.
type made struct {
	size int64
	make func() ([]byte, error)
}

func (m made) Size() int64 { return m.size }

func (m made) View(off, n int64) (*View, error) {
	b, err := m.make()
	switch {
	case err != nil:
		return nil, err
	case int64(len(b)) != m.size:
		return nil, fmt.Errorf("%w: %d bytes were made, want %d", ErrFormat, len(b), m.size)
	}
	return &View{data: b[off : off+n : off+n]}, nil
}
