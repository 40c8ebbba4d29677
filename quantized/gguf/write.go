package gguf

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/tensor/file"
)

// MaxKey is the most bytes of a key that is written.
const MaxKey = math.MaxUint16

// WriteFile writes a file, which replaces one of the name when it is whole. See [Write].
func WriteFile(path string, m *Metadata, tensors ...*file.Entry) error {
	return file.Create(path, func(w io.Writer) error { return Write(w, m, tensors...) })
}

// Write writes a file of version 3, with the least significant byte first: metadata, which may be
// nil, and tensors, which may be those of another file, each in its order. Tensors begin at
// multiples of general.alignment, if the metadata has it, which is [MaxAlignment] at most. They
// have one of the types that [TypeOf] returns, and MaxRank dimensions at most. Names may have any
// length, but llama.cpp reads none of more than 63 bytes.
func Write(w io.Writer, m *Metadata, tensors ...*file.Entry) error {
	align, err := m.writtenAlignment()
	if err != nil {
		return err
	}
	list, err := infosOf(tensors, align)
	if err != nil {
		return err
	}
	head, err := appendHeader(nil, m, list)
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	n := int64(len(head))
	if err := writeZeros(w, dataOffset(n, align, len(list))-n); err != nil {
		return err
	}
	for _, e := range tensors {
		n, err := e.WriteTo(w)
		if err == nil && n != e.Size() {
			err = fmt.Errorf("tensor %q: %d bytes written, want %d: %w", e.Name, n, e.Size(),
				io.ErrShortWrite)
		}
		if err == nil {
			err = writeZeros(w, roundUp(n, align)-n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// zeros is padding.
var zeros [1 << 12]byte

// writeZeros writes so many zeros.
func writeZeros(w io.Writer, n int64) error {
	for n > 0 {
		b := zeros[:min(n, int64(len(zeros)))]
		if _, err := w.Write(b); err != nil {
			return err
		}
		n -= int64(len(b))
	}
	return nil
}

// infosOf is what a header says of tensors that are written one behind the other.
func infosOf(tensors []*file.Entry, align int64) ([]info, error) {
	seen := map[string]bool{}
	var list []info
	at := int64(0)
	for _, e := range tensors {
		t, err := TypeOf(e)
		if err != nil {
			return nil, err
		}
		var detail string
		switch {
		case len(e.Shape()) > MaxRank:
			detail = fmt.Sprintf("%d dimensions, and GGUF has %d at most", len(e.Shape()), MaxRank)
		case seen[e.Name]:
			detail = "there are two tensors of this name"
		case len(e.Name) > MaxLen:
			detail = "the name is too long"
		}
		if detail != "" {
			return nil, &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name,
				Err: file.ErrUnsupported, Detail: detail}
		}
		seen[e.Name] = true
		list = append(list, info{name: e.Name, shape: e.Shape(), typ: t, offset: uint64(at)})
		at += roundUp(e.Size(), align)
	}
	return list, nil
}

// appendHeader appends all that is in front of the padding.
func appendHeader(b []byte, m *Metadata, list []info) ([]byte, error) {
	le := binary.LittleEndian
	b = le.AppendUint32(append(b, magic...), newest)
	b = le.AppendUint64(b, uint64(len(list)))
	b = le.AppendUint64(b, uint64(m.Len()))
	for k, v := range m.All() {
		if k == "" || len(k) > MaxKey {
			return nil, fmt.Errorf("metadata: %w: a key of %d bytes, want 1 to %d", file.ErrUnsupported,
				len(k), MaxKey)
		}
		b = appendString(b, k)
		var err error
		if b, err = appendValue(le.AppendUint32(b, uint32(v.typ)), v, 0); err != nil {
			return nil, fmt.Errorf("metadata %q: %w", k, err)
		}
	}
	for _, t := range list {
		b = appendInfo(b, t.name, t.shape, t.typ, t.offset)
	}
	return b, nil
}

func appendInfo(b []byte, name string, shape layout.Shape, t format.Type, offset uint64) []byte {
	le := binary.LittleEndian
	b = le.AppendUint32(appendString(b, name), uint32(len(shape)))
	for i := range shape {
		b = le.AppendUint64(b, uint64(shape[len(shape)-1-i]))
	}
	return le.AppendUint64(le.AppendUint32(b, uint32(t)), offset)
}

func appendString(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// appendValue appends a value without its type, in so many arrays.
func appendValue(b []byte, v Value, depth int) ([]byte, error) {
	le := binary.LittleEndian
	switch {
	case v.typ == String && len(v.text) > MaxLen:
		return nil, fmt.Errorf("%w: a string of %d bytes, want %d at most", file.ErrUnsupported,
			len(v.text), MaxLen)
	case v.typ == String:
		return appendString(b, v.text), nil
	case v.typ == Array:
		return appendArray(b, v, depth+1)
	}
	var bits [8]byte
	le.PutUint64(bits[:], v.bits)
	return append(b, bits[:valueTypes[v.typ].size]...), nil
}

func appendArray(b []byte, v Value, depth int) ([]byte, error) {
	le := binary.LittleEndian
	switch {
	case depth > MaxDepth:
		return nil, fmt.Errorf("%w: arrays within each other more than %d times", file.ErrUnsupported,
			MaxDepth)
	case v.Len() > MaxLen:
		return nil, fmt.Errorf("%w: an array of %d elements, want %d at most", file.ErrUnsupported,
			v.Len(), MaxLen)
	}
	b = le.AppendUint64(le.AppendUint32(b, uint32(v.elem)), uint64(v.Len()))
	if l, ok := v.list.([]uint8); ok {
		return append(b, l...), nil
	}
	err := v.each(func(e Value) error {
		if e.typ != v.elem {
			return fmt.Errorf("%w: %s as an element of an array of %s", ErrValue, e.typ, v.elem)
		}
		var err error
		b, err = appendValue(b, e, depth)
		return err
	})
	return b, err
}
