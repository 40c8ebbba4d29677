package scan

import (
	"encoding/binary"
	"math"

	"github.com/gokiln/kiln/tensor/file"
)

// window is how many bytes are read at once, at least.
const window = 1 << 16

// Reader reads a file from its begin on. The byte order may be changed between fields.
type Reader struct {
	Order binary.ByteOrder

	src *file.Source
	pos int64
	buf []byte // bytes of the file from at on
	at  int64
	err error
}

// New returns a Reader of a file, with the least significant byte first.
func New(src *file.Source) *Reader { return &Reader{Order: binary.LittleEndian, src: src} }

// Err is the first error.
func (r *Reader) Err() error { return r.err }

// Pos is the byte that is read next.
func (r *Reader) Pos() int64 { return r.pos }

// Left is the number of bytes from there to the end of the file.
func (r *Reader) Left() int64 { return r.src.Size() - r.pos }

// Fail sets the error, unless there is one, to a fault at a byte of the file.
func (r *Reader) Fail(at int64, kind error, format string, args ...any) {
	r.Set(file.Fault(r.src.Name(), at, kind, format, args...))
}

// Set sets the error, unless there is one.
func (r *Reader) Set(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Fits reports whether n things of at least so many bytes each can be in the rest of the file, and
// fails at a byte if not.
func (r *Reader) Fits(at int64, n, each uint64, what string) bool {
	if r.err == nil && each > 0 && n > uint64(r.Left())/each {
		r.Fail(at, file.ErrTruncated, "%d %s, and %d bytes remaining", n, what, r.Left())
	}
	return r.err == nil
}

// Take returns the next n bytes, which are there until the next call. It returns nil after an
// error.
func (r *Reader) Take(n int64, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n < 0 || n > r.Left() || n > math.MaxInt {
		r.Fail(r.pos, file.ErrTruncated, "%s: %d bytes wanted, %d remaining", what, n, r.Left())
		return nil
	}
	from := r.pos - r.at
	if r.pos < r.at || from+n > int64(len(r.buf)) {
		if r.fill(n); r.err != nil {
			return nil
		}
		from = 0
	}
	r.pos += n
	return r.buf[from : from+n : from+n]
}

// fill reads the next n bytes or more, which are there.
func (r *Reader) fill(n int64) {
	n = min(max(n, window), r.Left())
	if int64(cap(r.buf)) < n {
		r.buf = make([]byte, n)
	}
	r.buf, r.at = r.buf[:n], r.pos
	if _, err := r.src.ReadAt(r.buf, r.pos); err != nil {
		r.buf = nil
		r.Set(err)
	}
}

// Skip goes to a later byte of the file. It may be behind the end only if nothing is read there.
func (r *Reader) Skip(to int64) {
	if r.err == nil && to >= r.pos {
		r.pos = to
	}
}

// Uint8 reads a field.
func (r *Reader) Uint8(what string) uint8 {
	if b := r.Take(1, what); b != nil {
		return b[0]
	}
	return 0
}

// Uint16 reads a field.
func (r *Reader) Uint16(what string) uint16 {
	if b := r.Take(2, what); b != nil {
		return r.Order.Uint16(b)
	}
	return 0
}

// Uint32 reads a field.
func (r *Reader) Uint32(what string) uint32 {
	if b := r.Take(4, what); b != nil {
		return r.Order.Uint32(b)
	}
	return 0
}

// Uint64 reads a field.
func (r *Reader) Uint64(what string) uint64 {
	if b := r.Take(8, what); b != nil {
		return r.Order.Uint64(b)
	}
	return 0
}
