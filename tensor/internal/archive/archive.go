package archive

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"sync/atomic"

	"github.com/gokiln/kiln/tensor/file"
)

const (
	// expansion is the most bytes that deflate makes of one.
	expansion = 1032
	encrypted = 1       // flag of a member
	piece     = 1 << 24 // taken at once for what is unpacked, before it is seen to be there
)

// Archive is an archive that was opened.
type Archive struct {
	Members []*Member // without folders, in the order of the directory
	src     *file.Source
	byName  map[string]*Member
}

// Member is a file of an archive. It is a file.Blob.
type Member struct {
	Name   string
	Offset int64 // of the bytes in the archive, -1 if they are compressed

	src     *file.Source
	zip     *zip.File
	blob    file.Blob // of the stored bytes
	checked atomic.Bool
}

// Open reads the directory of an archive.
func Open(src *file.Source) (*Archive, error) {
	r, err := zip.NewReader(src, src.Size())
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // names are not used as paths
		return nil, notZip(src, err)
	}
	a := &Archive{src: src, byName: map[string]*Member{}}
	room := uint64(src.Size())
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		if f.CompressedSize64 > room {
			return nil, a.fault(f, file.ErrFormat, "the members are larger than the archive")
		}
		room -= f.CompressedSize64
		m, err := a.member(f)
		if err != nil {
			return nil, err
		}
		if a.byName[m.Name] != nil {
			return nil, a.fault(f, file.ErrFormat, "there are two members of this name")
		}
		a.byName[m.Name] = m
		a.Members = append(a.Members, m)
	}
	return a, nil
}

// notZip says what is wrong with a file whose directory cannot be read.
func notZip(src *file.Source, err error) error {
	var fault *file.Error
	if errors.As(err, &fault) {
		return err
	}
	var magic [4]byte
	if _, e := src.ReadAt(magic[:], 0); e == nil && string(magic[:]) == "PK\x03\x04" {
		return file.Fault(src.Name(), src.Size(), file.ErrTruncated, "a zip archive without a directory at its end: %v", err)
	}
	return file.Fault(src.Name(), 0, file.ErrFormat, "no zip archive: %v", err)
}

func (a *Archive) fault(f *zip.File, kind error, format string, args ...any) error {
	return memberFault(a.src, f.Name, -1, kind, format, args...)
}

func memberFault(src *file.Source, name string, off int64, kind error, format string, args ...any) error {
	e := file.Fault(src.Name(), off, kind, format, args...)
	e.Detail = "member " + name + ": " + e.Detail
	return e
}

// member checks what the directory says of a member.
func (a *Archive) member(f *zip.File) (*Member, error) {
	off, err := f.DataOffset()
	if err != nil {
		return nil, a.fault(f, file.ErrFormat, "%v", err)
	}
	m := &Member{Name: f.Name, Offset: -1, src: a.src, zip: f}
	if int64(f.CompressedSize64) > a.src.Size()-off {
		return nil, memberFault(a.src, f.Name, a.src.Size(), file.ErrTruncated, "%d bytes should begin at byte %d", f.CompressedSize64, off)
	}
	if m.blob, err = a.src.Section(off, int64(f.CompressedSize64)); err != nil {
		return nil, err
	}
	switch {
	case f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64:
		return nil, memberFault(a.src, f.Name, off, file.ErrFormat, "stored in %d bytes, and has %d", f.CompressedSize64, f.UncompressedSize64)
	case f.Method == zip.Store:
		m.Offset = off
	case f.UncompressedSize64/expansion > f.CompressedSize64:
		return nil, memberFault(a.src, f.Name, off, file.ErrFormat, "%d bytes cannot unpack to %d", f.CompressedSize64, f.UncompressedSize64)
	}
	return m, nil
}

// Member returns the member of a name, nil if there is none.
func (a *Archive) Member(name string) *Member { return a.byName[name] }

// Size is the number of bytes when they are unpacked.
func (m *Member) Size() int64 { return int64(m.zip.UncompressedSize64) }

// Path is what errors call the file whose byte 0 is that of the member, for a compressed
// member, or of the archive.
func (m *Member) Path() (path string, base int64) {
	if m.Offset >= 0 {
		return m.src.Name(), m.Offset
	}
	return m.src.Name() + "(" + m.Name + ")", 0
}

func (m *Member) fault(kind error, format string, args ...any) error {
	return memberFault(m.src, m.Name, m.Offset, kind, format, args...)
}

// View returns n bytes from off on. The checksum is that of all: see Verify.
func (m *Member) View(off, n int64) (*file.View, error) {
	switch {
	case m.zip.Flags&encrypted != 0:
		return nil, m.fault(file.ErrUnsupported, "it is encrypted")
	case m.Offset >= 0:
		return m.blob.View(off, n)
	case m.zip.Method != zip.Deflate:
		return nil, m.fault(file.ErrUnsupported, "compression method %d; there are stored and deflated", m.zip.Method)
	case off < 0 || n < 0 || off > m.Size()-n:
		return nil, m.fault(file.ErrTruncated, "%d bytes from byte %d of %d", n, off, m.Size())
	}
	b, err := m.unpack(off, n)
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, m.fault(file.ErrTruncated, "it unpacks to less than %d bytes", m.Size())
		}
		return nil, m.fault(file.ErrFormat, "%v", err)
	}
	return file.NewView(b), nil
}

// unpack takes no more memory than there are bytes, but for a piece.
func (m *Member) unpack(off, n int64) ([]byte, error) {
	r, err := m.zip.Open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if _, err := io.CopyN(io.Discard, r, off); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Grow(int(min(n, piece)))
	if _, err := io.CopyN(&b, r, n); err != nil {
		return nil, err
	}
	if off+n == m.Size() { // the checksum is compared at the end
		var more [1]byte
		if k, err := r.Read(more[:]); k > 0 || err != io.EOF {
			return nil, errors.Join(errors.New("it unpacks to more than the directory says, or to something else"), err)
		}
	}
	return b.Bytes(), nil
}

// Verify compares the checksum of a stored member, once. That of a compressed one is
// compared whenever it is unpacked to its end.
func (m *Member) Verify() error {
	if m.Offset < 0 || m.checked.Load() {
		return nil
	}
	h := crc32.NewIEEE()
	for off := int64(0); off < m.Size(); off += piece {
		v, err := m.View(off, min(piece, m.Size()-off))
		if err != nil {
			return err
		}
		_, _ = h.Write(v.Bytes()) // a hash takes anything
		v.Release()
	}
	if sum := h.Sum32(); sum != m.zip.CRC32 {
		return m.fault(file.ErrFormat, "its checksum is %08x, and the directory says %08x", sum, m.zip.CRC32)
	}
	m.checked.Store(true)
	return nil
}
