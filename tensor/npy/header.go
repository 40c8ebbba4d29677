package npy

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// MaxHeader is the largest header, in bytes.
const MaxHeader = 1 << 20

const (
	magic     = "\x93NUMPY"
	maxPrefix = 12 // bytes in front of a header
	maxDepth  = 32 // of types within types
)

// header is what a header says.
type header struct {
	size    int // with what is in front of it: where the elements begin
	enc     file.Encoding
	shape   layout.Shape
	fortran bool
}

// place is a file and the offset of an array in it.
type place struct {
	path string
	base int64
}

func (p place) fault(at int, kind error, format string, args ...any) error {
	return file.Fault(p.path, p.base+int64(at), kind, format, args...)
}

// prefix understands the first bytes: where the header begins and ends.
func (p place) prefix(b []byte) (begin, end int, err error) {
	if n := min(len(b), len(magic)); string(b[:n]) != magic[:n] {
		hint := ""
		if strings.HasPrefix(string(b), "PK") {
			hint = "; it is a zip archive, which OpenNPZ opens"
		}
		return 0, 0, p.fault(0, file.ErrFormat, "no NumPy array%s", hint)
	}
	if len(b) < len(magic)+2 {
		return 0, 0, p.fault(len(b), file.ErrTruncated, "the file ends in front of the header")
	}
	switch major := b[len(magic)]; major {
	case 1:
		begin = 10
	case 2, 3:
		begin = 12
	default:
		return 0, 0, p.fault(len(magic), file.ErrUnsupported, "version %d of the format; there are 1, 2 and 3", major)
	}
	if len(b) < begin {
		return 0, 0, p.fault(len(b), file.ErrTruncated, "the file ends in front of the header")
	}
	n := uint64(binary.LittleEndian.Uint16(b[8:]))
	if begin == 12 {
		n = uint64(binary.LittleEndian.Uint32(b[8:]))
	}
	if n > MaxHeader {
		return 0, 0, p.fault(8, file.ErrFormat, "a header of %d bytes, want %d at most", n, MaxHeader)
	}
	return begin, begin + int(n), nil
}

// parse understands a header, which lies behind begin bytes.
func (p place) parse(text []byte, begin int) (*header, error) {
	s := &scanner{place: place{p.path, p.base + int64(begin)}, text: string(text)}
	h := &header{size: begin + len(text)}
	seen := map[string]bool{}
	if err := s.byte('{'); err != nil {
		return nil, err
	}
	for !s.has('}') {
		at := s.at
		key, err := s.str()
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, s.fault(at, file.ErrFormat, "%q is there twice", key)
		}
		seen[key] = true
		if err := s.byte(':'); err != nil {
			return nil, err
		}
		if err := s.field(h, key, at); err != nil {
			return nil, err
		}
		if !s.has(',') && (s.at >= len(s.text) || s.text[s.at] != '}') {
			return nil, s.fault(s.at, file.ErrFormat, "want , or }")
		}
	}
	if s.space(); s.at < len(s.text) {
		return nil, s.fault(s.at, file.ErrFormat, "there is more behind the header")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return nil, s.fault(0, file.ErrFormat, "the header has no %s", key)
		}
	}
	return h, nil
}

// scanner goes through a value in the syntax of Python.
type scanner struct {
	place
	text string
	at   int
}

func (s *scanner) field(h *header, key string, at int) (err error) {
	s.space()
	switch key {
	case "descr":
		begin := s.at
		if s.at < len(s.text) && strings.IndexByte("[(", s.text[s.at]) >= 0 {
			err = s.skip() // a type of several fields
			h.enc = file.Encoding{Name: s.text[begin:s.at]}
			return err
		}
		var descr string
		descr, err = s.str()
		h.enc = encodingOf(descr)
	case "fortran_order":
		switch {
		case s.word("True"):
			h.fortran = true
		case !s.word("False"):
			err = s.fault(s.at, file.ErrFormat, "fortran_order must be True or False")
		}
	case "shape":
		h.shape, err = s.tuple()
	default:
		err = s.fault(at, file.ErrFormat, "%q is no part of a header; there are descr, fortran_order and shape", key)
	}
	return err
}

func (s *scanner) space() {
	for s.at < len(s.text) && strings.IndexByte(" \t\r\n", s.text[s.at]) >= 0 {
		s.at++
	}
}

// has reads a character if it is next.
func (s *scanner) has(c byte) bool {
	if s.space(); s.at < len(s.text) && s.text[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) byte(c byte) error {
	if !s.has(c) {
		return s.fault(s.at, file.ErrFormat, "want %c", c)
	}
	return nil
}

func (s *scanner) word(w string) bool {
	if strings.HasPrefix(s.text[s.at:], w) {
		s.at += len(w)
		return true
	}
	return false
}

// str reads a string without escapes, which no header needs.
func (s *scanner) str() (string, error) {
	s.space()
	if s.at < len(s.text) && strings.IndexByte(`'"`, s.text[s.at]) >= 0 {
		quote := s.text[s.at]
		if n := strings.IndexByte(s.text[s.at+1:], quote); n >= 0 {
			text := s.text[s.at+1 : s.at+1+n]
			if strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
				s.at += n + 2
				return text, nil
			}
		}
	}
	return "", s.fault(s.at, file.ErrFormat, "want a string")
}

// tuple reads sizes such as (2, 3).
func (s *scanner) tuple() (layout.Shape, error) {
	if err := s.byte('('); err != nil {
		return nil, err
	}
	shape := layout.Shape{}
	for !s.has(')') {
		begin := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		n, err := strconv.ParseUint(s.text[begin:s.at], 10, strconv.IntSize-1)
		if err != nil {
			return nil, s.fault(begin, file.ErrFormat, "a size of shape must be a whole number of %d bits", strconv.IntSize-1)
		}
		if len(shape) == file.MaxRank {
			return nil, s.fault(begin, file.ErrUnsupported, "more than %d dimensions", file.MaxRank)
		}
		shape = append(shape, int(n))
		s.word("L") // as old versions of Python write large numbers
		if !s.has(',') {
			if err := s.byte(')'); err != nil {
				return nil, err
			}
			break
		}
	}
	return shape, nil
}

// skip reads lists and tuples of strings and numbers.
func (s *scanner) skip() error {
	var open []byte
	for {
		s.space()
		if s.at >= len(s.text) || len(open) > maxDepth {
			return s.fault(s.at, file.ErrFormat, "descr does not end, or is too deep")
		}
		switch c := s.text[s.at]; {
		case c == '[':
			open = append(open, ']')
		case c == '(':
			open = append(open, ')')
		case c == open[len(open)-1]:
			open = open[:len(open)-1]
		case c == '\'' || c == '"':
			if _, err := s.str(); err != nil {
				return err
			}
			continue
		case c != ',' && c != 'L' && (c < '0' || c > '9'):
			return s.fault(s.at, file.ErrFormat, "unexpected %q in descr", c)
		}
		if s.at++; len(open) == 0 {
			return nil
		}
	}
}

// strides is the strides of the elements.
func (h *header) strides() []int {
	if !h.fortran {
		return nil
	}
	strides, n := make([]int, len(h.shape)), 1
	for i, d := range h.shape {
		strides[i] = n
		n *= max(d, 1) // if it wraps, the shape is refused before the strides are looked at
	}
	return strides
}

// makeHeader is the header of version 1, whose size any rank fits into, with as many
// spaces as NumPy leaves to write a longer first dimension in its place.
func makeHeader(e *file.Entry) ([]byte, error) {
	descr, err := descrOf(e)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr)
	for i, n := range e.Shape() {
		if i > 0 {
			text.WriteByte(' ')
		}
		fmt.Fprint(&text, n)
		if i == 0 || i < e.Layout.Rank()-1 {
			text.WriteByte(',')
		}
	}
	text.WriteString("), }")
	if e.Layout.Rank() > 0 {
		text.WriteString(strings.Repeat(" ", 21-len(strconv.Itoa(e.Shape()[0]))))
	}
	const align = 64
	pad := func(prefix int) int { return align - 1 - (prefix+text.Len())%align }
	b := []byte(magic + "\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(text.Len()+pad(10)+1))
	b = append(b, text.String()...)
	b = append(b, strings.Repeat(" ", pad(10))...)
	return append(b, '\n'), nil
}
