package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// MaxHeader is the largest header, in bytes.
const MaxHeader = 100_000_000

const (
	prefix      = 8 // bytes in front of the header
	metadataKey = "__metadata__"
)

// Open opens a file, which is mapped into memory if the system can.
func Open(path string) (*file.Set, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	set, err := Read(src)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	return set, nil
}

// OpenAll opens several files as one. Of tensors with one name, that of the last file
// counts.
func OpenAll(paths ...string) (*file.Set, error) {
	var sets []*file.Set
	for _, p := range paths {
		s, err := Open(p)
		if err != nil {
			return nil, errors.Join(err, file.Join(sets...).Close())
		}
		sets = append(sets, s)
	}
	return file.Join(sets...), nil
}

// Read reads the header of a file. The result closes the source; an error does not.
func Read(src *file.Source) (*file.Set, error) {
	if src.Size() < prefix {
		return nil, file.Fault(src.Name(), src.Size(), file.ErrTruncated, "the file ends within the size of the header")
	}
	var size [prefix]byte
	if _, err := src.ReadAt(size[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(size[:])
	switch {
	case n > MaxHeader:
		return nil, file.Fault(src.Name(), 0, file.ErrFormat, "a header of %d bytes, want %d at most; is this a safetensors file?", n, MaxHeader)
	case int64(n) > src.Size()-prefix:
		return nil, file.Fault(src.Name(), src.Size(), file.ErrTruncated, "the file ends within its header of %d bytes", n)
	}
	text := make([]byte, n)
	if _, err := src.ReadAt(text, prefix); err != nil {
		return nil, err
	}
	h, err := parseHeader(src.Name(), text)
	if err != nil {
		return nil, err
	}
	return h.check(src, prefix+int64(n))
}

// header is what a header says.
type header struct {
	tensors []tensor
	meta    map[string]string
}

// tensor is what a header says of a tensor.
type tensor struct {
	name       string
	at         int64 // of the name in the file
	kind       elementType
	shape      layout.Shape
	begin, end int
}

func parseHeader(name string, text []byte) (*header, error) {
	s, err := newScanner(name, prefix, text)
	if err != nil {
		return nil, err
	}
	if len(text) == 0 || text[0] != '{' {
		return nil, s.fault(prefix, "the header must begin with {; is this a safetensors file?")
	}
	h := &header{meta: map[string]string{}}
	err = s.object("the header", "", func(at int64, key string) error {
		if key == metadataKey {
			return s.texts(metadataKey, false, h.meta)
		}
		t, err := s.tensor(at, key)
		h.tensors = append(h.tensors, t)
		return err
	})
	if err == nil {
		err = s.end()
	}
	return h, err
}

// tensor reads what is said of a tensor. Fields that the format has got since are left
// out.
func (s *scanner) tensor(at int64, name string) (tensor, error) {
	t := tensor{name: name, at: at}
	have := 0
	err := s.object("tensor ", name, func(_ int64, key string) error {
		switch key {
		case "dtype":
			text, err := s.str("dtype")
			t.kind = typeNamed(text)
			have |= 1
			return err
		case "shape":
			list, err := s.numbers("shape", file.MaxRank)
			t.shape = list
			have |= 2
			return err
		case "data_offsets":
			at := s.pos()
			list, err := s.numbers("data_offsets", 2)
			if err == nil && len(list) != 2 {
				err = s.fault(at, "data_offsets must be two numbers")
			}
			if err == nil {
				t.begin, t.end = list[0], list[1]
			}
			have |= 4
			return err
		}
		return s.skip()
	})
	if err == nil && have != 7 {
		err = s.fault(at, "tensor %q must have dtype, shape and data_offsets", name)
	}
	return t, err
}

// check makes entries of tensors whose elements fill the file from data on.
func (h *header) check(src *file.Source, data int64) (*file.Set, error) {
	slices.SortStableFunc(h.tensors, func(a, b tensor) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
	set := file.NewSet(src)
	next, room := 0, src.Size()-data
	for _, t := range h.tensors {
		if err := t.check(src, next, room); err != nil {
			return nil, err
		}
		next = t.end
		blob, err := src.Section(data+int64(t.begin), int64(t.end-t.begin))
		if err != nil {
			return nil, err
		}
		e, err := file.New(file.Spec{Name: t.name, Encoding: t.kind.enc, Shape: t.shape, Blob: blob, Path: src.Name(), Offset: data + int64(t.begin)})
		if err == nil {
			err = set.Add(e)
		}
		if err != nil {
			return nil, err
		}
	}
	if int64(next) != room {
		return nil, file.Fault(src.Name(), data+int64(next), file.ErrFormat, "the tensors end, and %d bytes are left", room-int64(next))
	}
	for k, v := range h.meta {
		set.Metadata()[k] = v
	}
	return set, nil
}

// check reports elements that do not begin where those before end, or are not as many
// as the shape says. There is room for so many bytes.
func (t tensor) check(src *file.Source, next int, room int64) error {
	fault := func(kind error, format string, args ...any) error {
		f := file.Fault(src.Name(), t.at, kind, "data_offsets [%d, %d]: "+format, append([]any{t.begin, t.end}, args...)...)
		f.Tensor = t.name
		return f
	}
	switch {
	case t.end < t.begin:
		return fault(file.ErrFormat, "the end is in front of the begin")
	case int64(t.end) > room:
		return fault(file.ErrTruncated, "the file has %d bytes behind its header", room)
	case t.begin < next:
		return fault(file.ErrFormat, "the tensor before ends at %d, so that they overlap", next)
	case t.begin > next:
		return fault(file.ErrFormat, "the tensor before ends at %d, so that there is a hole", next)
	case t.kind.bits == 0:
		return nil
	case t.shape.Check() != nil || t.shape.Count() > math.MaxInt/64:
		return fault(file.ErrFormat, "shape %v is too large", t.shape)
	}
	want := t.shape.Count() * t.kind.bits
	if want%8 != 0 {
		return fault(file.ErrFormat, "%s of shape %v does not fill whole bytes", t.kind.enc.Name, t.shape)
	}
	if want /= 8; want != t.end-t.begin {
		return fault(file.ErrFormat, "%d bytes, and %s of shape %v needs %d", t.end-t.begin, t.kind.enc.Name, t.shape, want)
	}
	return nil
}
