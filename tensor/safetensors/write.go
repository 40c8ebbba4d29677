package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/gokiln/kiln/tensor/file"
)

// WriteFile writes tensors into a file, which replaces one of the name when it is whole.
// See [Write].
func WriteFile(path string, metadata map[string]string, tensors ...*file.Entry) error {
	return file.Create(path, func(w io.Writer) error { return Write(w, metadata, tensors...) })
}

// Write writes tensors, which may be those of another file. The bytes are those that
// the reference implementation writes, and do not depend on the order of the tensors.
// Metadata may be nil.
func Write(w io.Writer, metadata map[string]string, tensors ...*file.Entry) error {
	tensors = slices.Clone(tensors)
	slices.SortFunc(tensors, func(a, b *file.Entry) int {
		return cmp.Or(cmp.Compare(rankOf(b.DType), rankOf(a.DType)), cmp.Compare(a.Name, b.Name))
	})
	head, err := makeHeader(metadata, tensors)
	if err != nil {
		return err
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))); err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	for _, e := range tensors {
		n, err := e.WriteTo(w)
		if err == nil && n != e.Size() {
			err = fmt.Errorf("tensor %q: %d bytes written, want %d: %w", e.Name, n, e.Size(), io.ErrShortWrite)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeHeader returns the header, padded with spaces.
func makeHeader(metadata map[string]string, tensors []*file.Entry) ([]byte, error) {
	b := []byte{'{'}
	if metadata != nil {
		b = append(appendString(b, metadataKey), ":{"...)
		for i, k := range slices.Sorted(maps.Keys(metadata)) {
			if !utf8.ValidString(k) || !utf8.ValidString(metadata[k]) {
				return nil, fmt.Errorf("metadata %q: %w: text that is not UTF-8", k, file.ErrUnsupported)
			}
			if i > 0 {
				b = append(b, ',')
			}
			b = appendString(append(appendString(b, k), ':'), metadata[k])
		}
		b = append(b, '}')
	}
	seen := map[string]bool{}
	at := int64(0)
	for _, e := range tensors {
		if err := writable(e, seen); err != nil {
			return nil, err
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendString(b, e.Name)
		b = fmt.Appendf(b, `:{"dtype":"%s","shape":[`, types[rankOf(e.DType)].enc.Name)
		for i, n := range e.Shape() {
			if i > 0 {
				b = append(b, ',')
			}
			b = fmt.Append(b, n)
		}
		b = fmt.Appendf(b, `],"data_offsets":[%d,%d]}`, at, at+e.Size())
		at += e.Size()
	}
	b = append(b, '}')
	for len(b)%8 != 0 {
		b = append(b, ' ')
	}
	if len(b) > MaxHeader {
		return nil, fmt.Errorf("%w: a header of %d bytes, and readers take %d at most; write several files", file.ErrUnsupported, len(b), MaxHeader)
	}
	return b, nil
}

// writable reports what the format cannot have, and names that were seen before.
func writable(e *file.Entry, seen map[string]bool) error {
	fault := func(format string, args ...any) error {
		return &file.Error{Path: e.Path, Offset: e.Offset, Tensor: e.Name, Err: file.ErrUnsupported, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case rankOf(e.DType) < 0:
		return fault("the format has no element type for %s", e.Stored)
	case e.Layout.Count()*e.DType.Bits()%8 != 0:
		return fault("%s of shape %v does not fill whole bytes", e.DType, e.Shape())
	case e.Name == metadataKey:
		return fault("the format has this name for its metadata")
	case !utf8.ValidString(e.Name):
		return fault("the name is not UTF-8")
	case seen[e.Name]:
		return fault("there are two tensors of this name")
	}
	seen[e.Name] = true
	return nil
}

// appendString appends a string of JSON with as few escapes as there can be, as the
// reference implementation does.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c >= 0x20:
			b = append(b, c)
		default:
			b = appendControl(b, c)
		}
	}
	return append(b, '"')
}

// appendControl appends a control character.
func appendControl(b []byte, c byte) []byte {
	const have, letters = "\b\f\n\r\t", "bfnrt"
	for i := range len(have) {
		if have[i] == c {
			return append(b, '\\', letters[i])
		}
	}
	return fmt.Appendf(b, `\u%04x`, c)
}
