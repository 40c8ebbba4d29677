package file

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
)

// Limits that no real file meets.
const (
	// MaxRank is the most dimensions of a tensor.
	MaxRank = 64
	// MaxRepeated is the most bytes of a tensor that repeats elements, by a stride of 0:
	// a few bytes of a file can claim any size so.
	MaxRepeated = 1 << 30

	maxCount = math.MaxInt >> 4 // so that no size in bits or bytes wraps
)

// Entry is a tensor of a file. It may be used from several goroutines.
type Entry struct {
	Name   string
	DType  dtype.DType   // of what is read; Invalid if no element type can hold it, then reading is an error
	Layout layout.Layout // of what View returns; the first element is at offset 0
	Stored string        // the element type in the words of the format
	Path   string        // of the file, "" for a tensor in memory
	Offset int64         // of the first element in the file, -1 if it is not in a file or compressed there

	enc  Encoding
	blob Blob
	at   int64 // of the first element in blob, in bytes
}

// Spec is what a format found out about a tensor.
type Spec struct {
	Name     string
	Encoding Encoding
	Shape    layout.Shape
	Strides  []int // nil for row-major order without gaps
	Skip     int   // elements of Blob before the first
	Blob     Blob
	Path     string
	Offset   int64 // of Blob in the file, -1 if it is not there as it is
}

// New checks a Spec and returns its Entry.
func New(s Spec) (*Entry, error) {
	e := &Entry{Name: s.Name, DType: s.Encoding.DType, Stored: s.Encoding.Name, Path: s.Path, Offset: s.Offset, enc: s.Encoding, blob: s.Blob}
	if err := e.setLayout(s); err != nil {
		return nil, err
	}
	if !e.DType.Valid() {
		return e, e.checkBlocks(s)
	}
	per := int64(s.Encoding.Bits())
	if per%8 != 0 && (s.Skip != 0 || !e.Layout.IsContiguous()) {
		return nil, e.fault(ErrUnsupported, "%s elements share bytes and must lie in row-major order", e.Stored)
	}
	span := e.Layout.Span()
	if span == 0 {
		return e, nil // where nothing begins does not matter
	}
	if s.Skip < 0 || s.Skip > maxCount {
		return nil, e.fault(ErrFormat, "the first element is number %d of the storage", s.Skip)
	}
	e.at = e.enc.bytes(s.Skip)
	if end := e.at + e.enc.bytes(span); end > s.Blob.Size() {
		return nil, e.fault(ErrTruncated, "shape %v with strides %v from element %d on needs %d bytes, and there are %d", s.Shape, e.Layout.Strides(), s.Skip, end, s.Blob.Size())
	}
	if e.Offset >= 0 {
		e.Offset += e.at
	}
	return e, nil
}

// setLayout checks the shape and strides, before anything is computed with them.
func (e *Entry) setLayout(s Spec) error {
	if len(s.Shape) > MaxRank {
		return e.fault(ErrUnsupported, "%d dimensions, want %d at most", len(s.Shape), MaxRank)
	}
	count := uint64(1)
	for _, n := range s.Shape {
		if n < 0 {
			return e.fault(ErrFormat, "shape %v has a negative size", s.Shape)
		}
		hi, lo := bits.Mul64(count, uint64(max(n, 1)))
		if count = lo; hi != 0 || lo > maxCount {
			return e.fault(ErrFormat, "shape %v is too large", s.Shape)
		}
	}
	if s.Strides == nil {
		e.Layout = layout.Contiguous(s.Shape)
		return nil
	}
	if !fits(s.Shape, s.Strides) {
		return e.fault(ErrFormat, "strides %v of shape %v are too large", s.Strides, s.Shape)
	}
	var err error
	if e.Layout, err = layout.New(s.Shape, s.Strides, 0); err != nil {
		return e.fault(ErrFormat, "%v", err)
	}
	return nil
}

// fits reports whether a layout reaches over no more than maxCount elements.
func fits(shape layout.Shape, strides []int) bool {
	span := uint64(1)
	for i, n := range shape[:min(len(shape), len(strides))] {
		hi, lo := bits.Mul64(uint64(max(n-1, 0)), uint64(max(strides[i], 0)))
		if hi != 0 || lo > maxCount {
			return false
		}
		if span += lo; span > maxCount {
			return false
		}
	}
	return true
}

// checkBlocks checks a tensor of a quantized type. Of other types that nothing can hold the size is
// not known.
func (e *Entry) checkBlocks(s Spec) error {
	if !e.enc.Quantized() {
		return nil
	}
	if s.Skip != 0 || s.Strides != nil {
		return e.fault(ErrUnsupported, "blocks of %s must lie in row-major order", e.Stored)
	}
	if err := e.enc.divides(s.Shape); err != nil {
		return e.fault(ErrFormat, "%v", err)
	}
	n := int64(e.Layout.Count() / e.enc.Block)
	if n > math.MaxInt64/int64(e.enc.BlockBytes) {
		return e.fault(ErrFormat, "shape %v of %s is too large", s.Shape, e.Stored)
	}
	if want := n * int64(e.enc.BlockBytes); want > s.Blob.Size() {
		return e.fault(ErrTruncated, "shape %v of %s needs %d bytes, and there are %d", s.Shape, e.Stored, want, s.Blob.Size())
	}
	return nil
}

// divides is an error if the last dimension of a shape is not a whole number of blocks.
func (e Encoding) divides(s layout.Shape) error {
	last := 1
	if len(s) > 0 {
		last = s[len(s)-1]
	}
	if last%e.Block != 0 {
		return fmt.Errorf("rows of %d elements, and a block of %s has %d: shape %v", last, e.Name, e.Block, s)
	}
	return nil
}

// FromBlocks returns an Entry for a tensor of a quantized type, whose bytes are made when the Entry
// is read or written: the blocks in row-major order.
func FromBlocks(name string, enc Encoding, s layout.Shape, read func() ([]byte, error)) (*Entry, error) {
	f := &Error{Offset: -1, Tensor: name, Err: ErrUnsupported, Detail: enc.Name + " is no quantized type"}
	if !enc.Quantized() {
		return nil, f
	}
	b := made{make: read}
	if s.Check() == nil && s.Count() <= maxCount && enc.divides(s) == nil {
		b.size = enc.bytes(s.Count())
	}
	return New(Spec{Name: name, Encoding: enc, Shape: s, Blob: b, Offset: -1})
}

// FromMemory returns an Entry for elements in memory, in row-major order and with the
// least significant byte first, to write it into a file. The bytes must not change.
func FromMemory(name string, d dtype.DType, s layout.Shape, b []byte) (*Entry, error) {
	return inMemory(name, d, s, section{FromBytes("", b), 0, int64(len(b))})
}

// FromFunc is [FromMemory] of bytes that are made when the Entry is read or written,
// so that of a large model only one tensor at a time needs to be in memory.
func FromFunc(name string, d dtype.DType, s layout.Shape, read func() ([]byte, error)) (*Entry, error) {
	b := made{make: read}
	if s.Check() == nil && s.Count() <= maxCount {
		b.size = int64(d.Bytes(s.Count()))
	}
	return inMemory(name, d, s, b)
}

func inMemory(name string, d dtype.DType, s layout.Shape, b Blob) (*Entry, error) {
	e, err := New(Spec{Name: name, Encoding: As(d.String(), d), Shape: s, Blob: b, Offset: -1})
	switch {
	case err != nil:
		return nil, err
	case !d.Valid():
		return nil, e.fault(ErrUnsupported, "no element type")
	case b.Size() != e.Size():
		return nil, e.fault(ErrFormat, "%d bytes for %v of %s, want %d", b.Size(), s, d, e.Size())
	}
	return e, nil
}

func (e *Entry) fault(err error, format string, args ...any) *Error {
	f := Fault(e.Path, e.Offset, err, format, args...)
	f.Tensor = e.Name
	return f
}

// wrap adds the tensor to an error of reading.
func (e *Entry) wrap(err error) error {
	var f *Error
	if errors.As(err, &f) {
		if f.Tensor != "" {
			return err
		}
		g := *f
		if g.Tensor = e.Name; g.Path == "" {
			g.Path, g.Offset = e.Path, e.Offset
		}
		return &g
	}
	return &Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: err}
}

// Shape is the size of each dimension.
func (e *Entry) Shape() layout.Shape { return e.Layout.Shape() }

// Encoding is how the file stores the elements.
func (e *Entry) Encoding() Encoding { return e.enc }

// Size is the size of the elements in bytes, without gaps: as View returns them, or Raw those of a
// quantized type. It is 0 if the size of the type is not known.
func (e *Entry) Size() int64 {
	if e.enc.Quantized() {
		return e.enc.bytes(e.Layout.Count())
	}
	return As("", e.DType).bytes(e.Layout.Count())
}

// Raw returns the bytes as the file has them, of a tensor in row-major order without gaps, and
// copies nothing if the file is mapped. It is how quantized types are read: [Entry.Encoding] has the
// size of a block, and the order of the bytes in its fields.
func (e *Entry) Raw() (*View, error) {
	switch {
	case !e.enc.Quantized() && !e.DType.Valid():
		return nil, e.fault(ErrUnsupported, "%s", e.enc.unsupported())
	case !e.Layout.IsContiguous():
		return nil, e.fault(ErrUnsupported, "raw bytes of strides %v", e.Layout.Strides())
	}
	v, err := e.blob.View(e.at, e.enc.bytes(e.Layout.Count()))
	if err != nil {
		return nil, e.wrap(err)
	}
	return v, nil
}

// ReaderAt returns what View would return, or Raw of a quantized type, to be read in parts: as many
// bytes as their views have. Memory of the process is what they are read into only, not the pages of
// a mapped file. It is nil for elements that are converted, unpacked or made.
func (e *Entry) ReaderAt() *io.SectionReader {
	blob, ok := e.blob.(io.ReaderAt)
	n := int64(0)
	switch {
	case !ok:
		return nil
	case e.enc.Quantized():
		n = e.enc.bytes(e.Layout.Count())
	case !e.DType.Valid() || e.enc.converts():
		return nil
	default:
		n = e.enc.bytes(e.Layout.Span())
	}
	return io.NewSectionReader(blob, e.at, n)
}

// View returns the elements as the file has them, to be read by Layout: with the least
// significant byte first. It copies nothing if the file is mapped and needs no
// conversion; the bytes may then begin at any address, whatever the element type.
func (e *Entry) View() (*View, error) {
	if !e.DType.Valid() {
		return nil, e.fault(ErrUnsupported, "%s", e.enc.unsupported())
	}
	n := e.Layout.Span()
	v, err := e.blob.View(e.at, e.enc.bytes(n))
	if err == nil {
		v, err = e.enc.decode(v, e.Layout)
	}
	if err != nil {
		return nil, e.wrap(err)
	}
	return v, nil
}

// Bytes returns the elements in row-major order without gaps, in memory of their own; those of a
// quantized type as blocks.
func (e *Entry) Bytes() ([]byte, error) {
	if !e.Layout.IsContiguous() {
		if err := e.checkRepeated(); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		b.Grow(int(e.Size()))
		_, err := e.WriteTo(&b)
		return b.Bytes(), err
	}
	v, err := e.stored()
	if err != nil {
		return nil, err
	}
	if v.fresh {
		return v.data, nil
	}
	defer v.Release()
	b := make([]byte, len(v.data))
	if err := copyMapped(b, v.data); err != nil {
		return nil, e.fault(ErrTruncated, "the file was changed while it was open: %v", err)
	}
	return b, nil
}

func (e *Entry) checkRepeated() error {
	if e.Layout.Count() > e.Layout.Span() && e.Size() > MaxRepeated {
		return e.fault(ErrUnsupported, "%d elements repeat to %d bytes, more than %d; read it by View and Layout", e.Layout.Span(), e.Size(), MaxRepeated)
	}
	return nil
}

// stored is View, or Raw of a quantized type.
func (e *Entry) stored() (*View, error) {
	if e.enc.Quantized() {
		return e.Raw()
	}
	return e.View()
}

// WriteTo writes the elements in row-major order without gaps, those of a quantized type as blocks.
func (e *Entry) WriteTo(w io.Writer) (int64, error) {
	if err := e.checkRepeated(); err != nil {
		return 0, err
	}
	v, err := e.stored()
	if err != nil {
		return 0, err
	}
	defer v.Release()
	if e.Layout.IsContiguous() {
		n, err := w.Write(v.data)
		return int64(n), err
	}
	size := e.DType.Size()
	length, starts := e.Layout.Blocks()
	out := bufio.NewWriterSize(w, 1<<16)
	written := int64(0)
	for i := range starts {
		n, err := out.Write(v.data[i*size : (i+length)*size])
		if written += int64(n); err != nil {
			return written, err
		}
	}
	return written, out.Flush()
}

// Narrow is the part of dimension d from start on, n long. Only what lies between its
// first and last element is read. Of a quantized type it must be whole blocks, one behind the other.
func (e *Entry) Narrow(d, start, n int) (*Entry, error) {
	if !e.DType.Valid() && !e.enc.Quantized() {
		return nil, e.fault(ErrUnsupported, "%s", e.enc.unsupported())
	}
	l, err := e.Layout.Narrow(d, start, n)
	if err != nil {
		return nil, e.fault(err, "")
	}
	part, per := *e, e.enc.Bits()
	if e.enc.Quantized() {
		if off := l.Offset(); l.Count() > 0 && (!l.IsContiguous() || off%e.enc.Block != 0 || e.enc.divides(l.Shape()) != nil) {
			return nil, e.fault(ErrUnsupported, "start %d, length %d of dimension %d: the part must be whole blocks of %s that follow each other", start, n, d, e.Stored)
		}
		per = 8 // whole bytes
	}
	if off := l.Offset(); l.Count() > 0 {
		if per%8 != 0 && (!l.IsContiguous() || off*per%8 != 0 || l.Count()*per%8 != 0) {
			return nil, e.fault(ErrUnsupported, "start %d, length %d of dimension %d: %s elements share bytes, and the part must begin and end with whole ones", start, n, d, e.DType)
		}
		skip := e.enc.bytes(off)
		if part.at += skip; part.Offset >= 0 {
			part.Offset += skip
		}
	}
	part.Layout, err = layout.New(l.Shape(), l.Strides(), 0)
	return &part, err
}

// Values returns the elements of an Entry in row-major order. T must be their type.
func Values[T dtype.Element](e *Entry) ([]T, error) {
	if d := dtype.Of[T](); d != e.DType && e.DType.Valid() {
		return nil, e.fault(fmt.Errorf("%w: element type", ErrUnsupported), "%s, not %s", e.DType, d)
	}
	if e.enc.Quantized() {
		return nil, e.fault(ErrUnsupported, "%s", e.enc.unsupported())
	}
	b, err := e.Bytes()
	if err != nil {
		return nil, err
	}
	out := make([]T, e.Layout.Count())
	_, err = binary.Decode(b, binary.LittleEndian, out)
	return out, err
}
