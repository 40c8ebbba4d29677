package npy

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"unicode/utf8"

	"github.com/gokiln/kiln/tensor/file"
)

// WriteFile writes a .npy file, which replaces one of the name when it is whole.
func WriteFile(path string, e *file.Entry) error {
	return file.Create(path, func(w io.Writer) error { return Write(w, e) })
}

// WriteNPZFile writes a .npz file, which replaces one of the name when it is whole.
func WriteNPZFile(path string, tensors ...*file.Entry) error {
	return file.Create(path, func(w io.Writer) error { return WriteNPZ(w, tensors...) })
}

// Write writes a tensor, which may be that of another file. Its name is not written.
func Write(w io.Writer, e *file.Entry) error {
	head, err := makeHeader(e)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err = e.WriteTo(w)
	return err
}

// WriteNPZ writes an archive of tensors in their order, which are members called as
// they are with .npy. It has one tensor at a time in memory.
func WriteNPZ(w io.Writer, tensors ...*file.Entry) error {
	seen := map[string]bool{}
	for _, e := range tensors {
		var detail string
		switch {
		case seen[e.Name]:
			detail = "there are two tensors of this name"
		case !utf8.ValidString(e.Name):
			detail = "the name is not UTF-8"
		case len(e.Name) > math.MaxUint16-len(suffix):
			detail = fmt.Sprintf("a name of %d bytes", len(e.Name))
		}
		if detail != "" {
			return &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: file.ErrUnsupported, Detail: detail}
		}
		seen[e.Name] = true
	}
	out := &counter{w: w}
	z := zip.NewWriter(out)
	behind := int64(0) // of the last member, not yet written
	for _, e := range tensors {
		if err := z.Flush(); err != nil {
			return err
		}
		size, err := writeMember(z, out.n+behind, e)
		if err != nil {
			return err
		}
		if behind = 0; size >= math.MaxUint32 {
			behind = 24
		}
	}
	return z.Close()
}

// counter counts what is written.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

const (
	localHeader = 30 // bytes in front of the name of a member
	inUTF8      = 1 << 11
	sizeBehind  = 1 << 3 // the sizes are behind the bytes, and may have 64 bits there
)

// writeMember writes a member that begins at an offset, and returns its size.
func writeMember(z *zip.Writer, at int64, e *file.Entry) (uint64, error) {
	head, err := makeHeader(e)
	if err != nil {
		return 0, err
	}
	body, done, err := rowMajor(e)
	if err != nil {
		return 0, err
	}
	defer done()
	h := &zip.FileHeader{Name: e.Name + suffix, Method: zip.Store, Flags: inUTF8}
	h.CRC32 = crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, body)
	h.UncompressedSize64 = uint64(len(head) + len(body))
	h.CompressedSize64 = h.UncompressedSize64
	h.Extra = padding(at + localHeader + int64(len(h.Name)))
	if h.UncompressedSize64 >= math.MaxUint32 {
		h.Flags |= sizeBehind
	}
	w, err := z.CreateRaw(h)
	if err == nil {
		_, err = w.Write(head)
	}
	if err == nil {
		_, err = w.Write(body)
	}
	return h.UncompressedSize64, err
}

// rowMajor returns the elements, without a copy if it can.
func rowMajor(e *file.Entry) ([]byte, func(), error) {
	if !e.Layout.IsContiguous() {
		b, err := e.Bytes()
		return b, func() {}, err
	}
	v, err := e.View()
	if err != nil {
		return nil, nil, err
	}
	return v.Bytes(), v.Release, nil
}

// padding is an extra field that moves what is behind it to a multiple of 64 bytes.
func padding(at int64) []byte {
	const align, kind, least = 64, 0xd935, 6
	if at%align == 0 {
		return nil
	}
	n := least + int(align-(at+least)%align)%align
	b := binary.LittleEndian.AppendUint16(nil, kind)
	b = binary.LittleEndian.AppendUint16(b, uint16(n-4))
	b = binary.LittleEndian.AppendUint16(b, align)
	return append(b, make([]byte, n-least)...)
}
