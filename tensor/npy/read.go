package npy

import (
	"bytes"
	"errors"
	"io"
	"math/bits"
	"path/filepath"
	"strings"

	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/internal/archive"
)

const suffix = ".npy"

// Open opens a .npy file. The tensor is called as the file, without folder and .npy.
func Open(path string) (*file.Set, error) { return open(path, Read) }

// OpenNPZ opens a .npz file. The tensors are called as the members, without .npy.
func OpenNPZ(path string) (*file.Set, error) { return open(path, ReadNPZ) }

func open(path string, read func(*file.Source) (*file.Set, error)) (*file.Set, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	set, err := read(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return set, nil
}

// Read is [Open] of a file.Source. The result closes the source; an error does not.
func Read(src *file.Source) (*file.Set, error) {
	blob, err := src.Section(0, src.Size())
	if err != nil {
		return nil, err
	}
	name := strings.TrimSuffix(filepath.Base(src.Name()), suffix)
	e, err := place{path: src.Name()}.entry(name, blob, 0)
	if err != nil {
		return nil, err
	}
	set := file.NewSet(src)
	return set, set.Add(e)
}

// ReadNPZ is [OpenNPZ] of a file.Source. The result closes the source; an error does not.
// Members that are no arrays and are not called so are left out.
func ReadNPZ(src *file.Source) (*file.Set, error) {
	a, err := archive.Open(src)
	if err != nil {
		return nil, err
	}
	set := file.NewSet(src)
	for _, m := range a.Members {
		name, named := strings.CutSuffix(m.Name, suffix)
		if !named && !isArray(m) {
			continue
		}
		path, base := m.Path()
		e, err := place{path, base}.entry(name, member{m}, m.Offset)
		if err == nil {
			err = set.Add(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// isArray reports whether a member begins as an array.
func isArray(m *archive.Member) bool {
	if m.Size() < int64(len(magic)) {
		return false
	}
	v, err := m.View(0, int64(len(magic)))
	if err != nil {
		return false
	}
	defer v.Release()
	return string(v.Bytes()) == magic
}

// member is a member whose checksum is compared before it is read as a whole.
type member struct{ *archive.Member }

func (m member) View(off, n int64) (*file.View, error) {
	if off <= maxPrefix+MaxHeader && n > 0 && off+n == m.Size() {
		if err := m.Verify(); err != nil {
			return nil, err
		}
	}
	return m.Member.View(off, n)
}

// entry reads the header of an array that fills a Blob, which is at an offset of the
// file, or at none, -1.
func (p place) entry(name string, blob file.Blob, off int64) (*file.Entry, error) {
	text, begin, err := p.header(blob)
	if err != nil {
		return nil, err
	}
	h, err := p.parse(text, begin)
	if err != nil {
		return nil, err
	}
	if per := int64(h.enc.Bits() / 8); per > 0 {
		skip, rest := int64(h.size), blob.Size()-int64(h.size)
		if want, ok := h.bytes(per); ok && want < rest {
			return nil, p.fault(h.size+int(want), file.ErrFormat, "%d bytes behind the array; Decode reads several arrays that follow each other", rest-want)
		}
		blob = tail{blob, skip}
		if off >= 0 {
			off += skip
		}
	}
	return file.New(file.Spec{Name: name, Encoding: h.enc, Shape: h.shape, Strides: h.strides(), Blob: blob, Path: p.path, Offset: off})
}

// header returns the text of the header.
func (p place) header(blob file.Blob) (text []byte, begin int, err error) {
	read := func(from, to int) []byte {
		var v *file.View
		if v, err = blob.View(int64(from), int64(to-from)); err != nil {
			return nil
		}
		defer v.Release()
		return bytes.Clone(v.Bytes())
	}
	first := read(0, int(min(maxPrefix, blob.Size())))
	if err != nil {
		return nil, 0, err
	}
	begin, end, err := p.prefix(first)
	if err != nil {
		return nil, 0, err
	}
	if int64(end) > blob.Size() {
		return nil, 0, p.fault(int(blob.Size()), file.ErrTruncated, "the file ends within its header, which ends at byte %d", end)
	}
	text = read(begin, end)
	return text, begin, err
}

// bytes is the size of the elements, of so many bytes each; false if it wraps.
func (h *header) bytes(per int64) (int64, bool) {
	n := uint64(per)
	for _, d := range h.shape {
		if d == 0 {
			return 0, true
		}
	}
	for _, d := range h.shape {
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// tail is a Blob without its first bytes.
type tail struct {
	file.Blob
	skip int64
}

func (t tail) Size() int64 { return t.Blob.Size() - t.skip }

func (t tail) View(off, n int64) (*file.View, error) { return t.Blob.View(t.skip+off, n) }

// Decode reads an array from a stream, and not a byte more, so that several can follow
// each other. At the end of the stream it returns io.EOF. The tensor has no name.
func Decode(r io.Reader) (*file.Entry, error) {
	p := place{path: "stream"}
	first := make([]byte, maxPrefix-2) // the least that there is
	switch n, err := io.ReadFull(r, first); {
	case err == io.EOF:
		return nil, io.EOF
	case err == io.ErrUnexpectedEOF:
		_, _, err := p.prefix(first[:n])
		if err == nil {
			err = p.fault(n, file.ErrTruncated, "the stream ends in front of the header")
		}
		return nil, err
	case err != nil:
		return nil, err
	}
	if first[len(magic)] != 1 {
		first = append(first, 0, 0)
		if _, err := io.ReadFull(r, first[maxPrefix-2:]); err != nil {
			return nil, p.short(maxPrefix-2, err)
		}
	}
	begin, end, err := p.prefix(first)
	if err != nil {
		return nil, err
	}
	text, err := p.take(r, begin, int64(end-begin))
	if err != nil {
		return nil, err
	}
	h, err := p.parse(text, begin)
	if err != nil {
		return nil, err
	}
	if h.enc.Bits() == 0 {
		return nil, p.fault(begin, file.ErrUnsupported, "elements of type %s, whose size is not known", h.enc.Name)
	}
	n, ok := h.bytes(int64(h.enc.Bits() / 8))
	if !ok {
		return nil, p.fault(begin, file.ErrFormat, "shape %v is too large", h.shape)
	}
	body, err := p.take(r, end, n)
	if err != nil {
		return nil, err
	}
	src := file.FromBytes("", body)
	blob, err := src.Section(0, src.Size())
	if err != nil {
		return nil, err
	}
	return file.New(file.Spec{Encoding: h.enc, Shape: h.shape, Strides: h.strides(), Blob: blob, Offset: -1})
}

// take reads n bytes of the stream. Memory is allocated as they arrive,
// since the header may claim more than the stream has.
func (p place) take(r io.Reader, at int, n int64) ([]byte, error) {
	const most = 1 << 24
	var b bytes.Buffer
	b.Grow(int(min(n, most)))
	got, err := io.CopyN(&b, r, n)
	if err != nil {
		return nil, p.short(at+int(got), err)
	}
	return b.Bytes(), nil
}

func (p place) short(at int, err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return p.fault(at, file.ErrTruncated, "the stream ends")
	}
	return err
}
