package ops

import (
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/runtime"
)

// Scratch is memory for the intermediate results of one call.
type Scratch struct {
	Buf  *runtime.Buffer
	Used int // bytes that are taken
}

// Alloc allocates the memory in the order of the stream.
func (m *Scratch) Alloc(s *runtime.Stream, bytes int) (err error) {
	m.Buf, err = s.Alloc(bytes)
	return err
}

// Take returns memory of n elements of a size; larger elements are taken first.
func (m *Scratch) Take(size, n int) runtime.SliceHeader {
	h := runtime.SliceHeader{Buf: m.Buf, Off: m.Used / size, Len: n}
	m.Used += size * n
	return h
}

// Free gives the memory back once what was launched so far is done.
func (m *Scratch) Free(s *runtime.Stream) {
	if m.Buf != nil {
		_ = m.Buf.FreeOn(s)
	}
}

// Uints takes n unsigned integers, of 64 bits if wide and else of 32.
func (m *Scratch) Uints(wide bool, n int) (any, error) {
	if !wide {
		h := m.Take(4, n)
		return SliceArg(dtype.U32, &h), nil
	}
	h := m.Take(8, n)
	all, err := runtime.View[uint64](h.Buf)
	if err != nil {
		return nil, err
	}
	return all.Slice(h.Off, h.Off+h.Len), nil
}
