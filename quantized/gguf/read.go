package gguf

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/internal/scan"
	"github.com/gokiln/kiln/tensor/file"
)

// Limits of files.
const (
	MaxRank  = 4       // dimensions of a tensor
	MaxLen   = 1 << 30 // bytes of a string, and elements of an array
	MaxDepth = 64      // of arrays within each other
)

const (
	magic        = "GGUF"
	swappedMagic = "FUGG" // as a file with the most significant byte first may begin
	newest       = 3
)

// File is the tensors and metadata of a file, or of all files that a model is split into.
type File struct {
	*file.Set // the tensors; as text, Metadata has the values that are no arrays

	Meta       *Metadata // of the first file, must not be changed
	Version    int       // 1, 2 or 3
	BigEndian  bool      // the most significant byte comes first
	Alignment  int64     // tensors begin at multiples of it
	DataOffset int64     // the byte of the first file at which its tensors begin
}

// Open opens a file, which is mapped into memory if the system can. If the metadata says that it is
// one of several files of a model, as model-00001-of-00003.gguf, all are opened.
func Open(path string) (*File, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	f, err := Read(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	switch n, err := Get[uint64](f.Meta, keySplitCount); {
	case errors.Is(err, ErrKey):
	case err != nil:
		err = file.Fault(path, -1, file.ErrFormat, "%v", err)
		return nil, errors.Join(err, f.Close())
	case n > 1:
		return openSplit(path, f, n)
	}
	return f, nil
}

// Read reads the header of one file. The result closes the source; an error does not.
func Read(src *file.Source) (*File, error) {
	r := &reader{Reader: scan.New(src), src: src, f: &File{Set: file.NewSet(src), Meta: &Metadata{}}}
	tensors, keys := r.head()
	r.metadata(keys)
	infos := r.infos(tensors)
	if r.Err() == nil {
		r.add(infos)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	for k, v := range r.f.Meta.All() {
		if v.typ != Array {
			r.f.Set.Metadata()[k] = v.String()
		}
	}
	return r.f, nil
}

// reader reads a header.
type reader struct {
	*scan.Reader
	src   *file.Source
	f     *File
	align int64 // where the value of the alignment is, 0 if there is none
}

// head reads what a file begins with, and returns the numbers of tensors and keys.
func (r *reader) head() (tensors, keys uint64) {
	m := string(r.Take(int64(len(magic)), "magic number"))
	if r.Err() == nil && m != magic && m != swappedMagic {
		r.Fail(0, file.ErrFormat, "the file begins with %q, want %q; is this a GGUF file?", m, magic)
	}
	at := r.Pos()
	version := r.Uint32("version")
	if version != 0 && version&0xffff == 0 { // of few versions, only the other order has such a number
		r.Order = binary.BigEndian
		version = version>>24 | version>>8&0xff00
		r.f.BigEndian = true
	}
	if r.Err() == nil && (version < 1 || version > newest) {
		r.Fail(at, file.ErrUnsupported, "version %d, want 1 to %d", version, newest)
	}
	r.f.Version = int(version)
	at = r.Pos()
	tensors = r.length("number of tensors")
	keys = r.length("number of keys")
	r.Fits(at+int64(r.lengthSize()), keys, uint64(r.lengthSize()+4+1), "keys")
	r.Fits(at, tensors, uint64(r.lengthSize()+4+4+8), "tensors")
	return tensors, keys
}

// lengthSize is the number of bytes of lengths and sizes.
func (r *reader) lengthSize() int {
	if r.f.Version == 1 {
		return 4
	}
	return 8
}

// length reads a length, count or size.
func (r *reader) length(what string) uint64 {
	if r.lengthSize() == 4 {
		return uint64(r.Uint32(what))
	}
	return r.Uint64(what)
}

// str reads a string of at most so many bytes.
func (r *reader) str(what string, most uint64) string {
	at := r.Pos()
	n := r.length(what)
	if r.Err() == nil && n > most {
		r.Fail(at, file.ErrFormat, "%s of %d bytes, want %d at most", what, n, most)
	}
	if !r.Fits(at, n, 1, what) {
		return ""
	}
	return string(r.Take(int64(n), what))
}

// metadata reads keys and values.
func (r *reader) metadata(n uint64) {
	for range n {
		at := r.Pos()
		key := r.str("key", MaxKey)
		_, twice := r.f.Meta.values[key]
		switch {
		case r.Err() != nil:
			return
		case key == "":
			r.Fail(at, file.ErrFormat, "an empty key")
		case twice:
			r.Fail(at, file.ErrFormat, "duplicate key %q", key)
		}
		if key == KeyAlignment {
			r.align = r.Pos()
		}
		v := r.value(key)
		if r.Err() != nil {
			return
		}
		r.f.Meta.Set(key, v)
	}
}

// info is what a header says of a tensor.
type info struct {
	name   string
	at     int64 // in the header
	shape  layout.Shape
	typ    format.Type
	offset uint64
}

// infos reads the list of tensors.
func (r *reader) infos(n uint64) []info {
	var list []info
	for range n {
		t := r.info()
		if r.Err() != nil {
			return nil
		}
		list = append(list, t)
	}
	return list
}

func (r *reader) info() info {
	t := info{at: r.Pos()}
	t.name = r.str("name of a tensor", MaxLen)
	at := r.Pos()
	rank := r.Uint32("number of dimensions")
	if r.Err() == nil && rank > MaxRank {
		r.failTensor(t, at, file.ErrFormat, "%d dimensions, want %d at most", rank, MaxRank)
		return t
	}
	at = r.Pos()
	t.shape = make(layout.Shape, rank)
	for i := range t.shape {
		n := r.length("size of a dimension")
		if n > math.MaxInt {
			r.failTensor(t, at, file.ErrFormat, "dimension %d of %d", i, n)
			return t
		}
		t.shape[len(t.shape)-1-i] = int(n) // the file has the last dimension first
	}
	at = r.Pos()
	t.typ = format.Type(r.Uint32("type"))
	if r.Err() == nil && !t.typ.Valid() {
		r.failTensor(t, at, file.ErrUnsupported, "type %d; there are %v", uint32(t.typ), format.Types())
	}
	t.offset = r.Uint64("offset")
	return t
}

// failTensor is a fault of a tensor.
func (r *reader) failTensor(t info, at int64, kind error, format string, args ...any) {
	f := file.Fault(r.src.Name(), at, kind, format, args...)
	f.Tensor = t.name
	r.Set(f)
}

// add makes entries of the tensors.
func (r *reader) add(list []info) {
	align, err := r.f.Meta.alignment()
	if err != nil {
		r.Fail(r.align, file.ErrFormat, "%v", err)
		return
	}
	r.f.Alignment = align
	r.f.DataOffset = dataOffset(r.Pos(), align, len(list))
	type part struct {
		info
		end int64
	}
	var parts []part
	for _, t := range list {
		if t.offset%uint64(align) != 0 {
			r.failTensor(t, t.at, file.ErrFormat, "offset %d is no multiple of the alignment, %d",
				t.offset, align)
			return
		}
		e, err := r.entry(t)
		if err == nil {
			err = r.f.Add(e)
		}
		if err != nil {
			r.Set(t.wrap(err))
			return
		}
		if n := e.Size(); n > 0 {
			parts = append(parts, part{t, int64(t.offset) + n})
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.offset, b.offset) })
	for i := 1; i < len(parts); i++ {
		if p := parts[i-1]; int64(parts[i].offset) < p.end {
			r.failTensor(parts[i].info, parts[i].at, file.ErrFormat,
				"it begins at byte %d of the data, and tensor %q ends at %d, so that they overlap",
				parts[i].offset, p.name, p.end)
			return
		}
	}
}

// entry makes an entry of a tensor.
func (r *reader) entry(t info) (*file.Entry, error) {
	enc, err := Encoding(t.typ)
	if err != nil {
		return nil, err
	}
	enc.Big = r.f.BigEndian
	var blob file.Blob
	begin := int64(-1)
	if room := r.src.Size() - r.f.DataOffset; room >= 0 && t.offset <= uint64(room) {
		begin = r.f.DataOffset + int64(t.offset)
		blob, err = r.src.Section(begin, room-int64(t.offset))
	} else {
		blob, err = r.src.Section(0, 0)
	}
	if err != nil {
		return nil, err
	}
	return file.New(file.Spec{Name: t.name, Encoding: enc, Shape: t.shape, Blob: blob,
		Path: r.src.Name(), Offset: begin})
}

// wrap says where the header has what an entry cannot be made of.
func (t info) wrap(err error) error {
	var f *file.Error
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	g.Offset, g.Tensor = t.at, t.name
	return &g
}

// dataOffset is where the elements begin behind a header: without tensors it ends the file.
func dataOffset(header, align int64, tensors int) int64 {
	if tensors == 0 {
		return header
	}
	return roundUp(header, align)
}

// roundUp is the next multiple of a power of 2.
func roundUp(n, to int64) int64 { return (n + to - 1) &^ (to - 1) }
