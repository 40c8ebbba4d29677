package imatrix

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// WriteFile writes a file of the GGUF form, which replaces one of the name when it is whole.
func WriteFile(path string, m *Matrix) error {
	return file.Create(path, func(w io.Writer) error { return Write(w, m) })
}

// WriteBinaryFile writes a file of the binary form, which replaces one of the name when it is
// whole. See [WriteBinary].
func WriteBinaryFile(path string, m *Matrix) error {
	return file.Create(path, func(w io.Writer) error { return WriteBinary(w, m) })
}

// Write writes the GGUF form. Counts of more than 2²⁴ are rounded to the next float32.
func Write(w io.Writer, m *Matrix) error {
	meta := &gguf.Metadata{}
	meta.Set(keyType, gguf.Of(kind))
	meta.Set(keyDatasets, gguf.ListOf(m.Datasets))
	for _, n := range []struct {
		key string
		n   int
	}{{keyChunks, m.Chunks}, {keyChunkSize, m.ChunkSize}} {
		if n.n < 0 || int64(n.n) > math.MaxUint32 {
			return fmt.Errorf("importance matrix: %w: %s of %d", file.ErrUnsupported, n.key, n.n)
		}
		meta.Set(n.key, gguf.Of(uint32(n.n)))
	}
	var tensors []*file.Entry
	for _, e := range m.Entries() {
		if err := e.check(); err != nil {
			return fmt.Errorf("importance of %q: %w", e.Name, err)
		}
		n := len(e.Counts)
		list := make([]float32, n)
		for i, c := range e.Counts {
			list[i] = float32(c)
		}
		for _, t := range []struct {
			name    string
			columns int
			values  []float32
		}{{e.Name + sums, e.Columns(), e.Sums}, {e.Name + counts, 1, list}} {
			x, err := file.FromMemory(t.name, dtype.F32, layout.Shape{n, t.columns}, appendFloats(nil,
				t.values))
			if err != nil {
				return err
			}
			tensors = append(tensors, x)
		}
	}
	return gguf.Write(w, meta, tensors...)
}

// WriteBinary writes the binary form. It has one number of calls for all experts of a weight: the
// largest count, in chunks if their size is known; and of several datasets the last one.
func WriteBinary(w io.Writer, m *Matrix) error {
	var b []byte
	size := func(n int64, what string) error {
		if n < 0 || n > math.MaxInt32 {
			return fmt.Errorf("importance matrix: %w: %d %s", file.ErrUnsupported, n, what)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(n))
		return nil
	}
	text := func(s string) error {
		err := size(int64(len(s)), "bytes of a name")
		b = append(b, s...)
		return err
	}
	if err := size(int64(len(m.entries)), "weights"); err != nil {
		return err
	}
	for _, e := range m.Entries() {
		if err := e.check(); err != nil {
			return fmt.Errorf("importance of %q: %w", e.Name, err)
		}
		calls, values := e.calls(int64(m.ChunkSize))
		if err := text(e.Name); err != nil {
			return err
		}
		if err := size(calls, "calls"); err != nil {
			return err
		}
		if err := size(int64(len(values)), "columns"); err != nil {
			return err
		}
		if b = appendFloats(b, values); len(b) > 1<<20 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	if err := size(int64(m.Chunks), "chunks"); err != nil {
		return err
	}
	last := ""
	if n := len(m.Datasets); n > 0 {
		last = m.Datasets[n-1]
	}
	if err := text(last); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

// calls is the number of calls, and the means times this number.
func (e *Entry) calls(chunk int64) (int64, []float32) {
	chunk = max(chunk, 1)
	most := slices.Max(e.Counts)
	calls := max(most/chunk+min(most%chunk, 1), 1)
	if slices.Min(e.Counts) == calls && most == calls {
		return calls, e.Sums
	}
	values := e.Weights()
	for i := range values {
		values[i] *= float32(calls)
	}
	return calls, values
}

func appendFloats(b []byte, x []float32) []byte {
	b = slices.Grow(b, 4*len(x))
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
