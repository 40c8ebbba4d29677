package imatrix

import (
	"errors"
	"math"
	"strings"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/internal/scan"
	"github.com/gokiln/kiln/tensor/file"
)

// Names of the GGUF form.
const (
	keyType      = "general.type"
	keyDatasets  = "imatrix.datasets"
	keyChunks    = "imatrix.chunk_count"
	keyChunkSize = "imatrix.chunk_size"
	kind         = "imatrix"
	sums         = ".in_sum2"
	counts       = ".counts"
)

// Open reads a file of either form.
func Open(path string) (*Matrix, error) {
	src, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	m, err := Read(src)
	return m, errors.Join(err, src.Close())
}

// Read is [Open] of a file.Source, which it does not close.
func Read(src *file.Source) (*Matrix, error) {
	r := scan.New(src)
	if src.Size() >= 4 {
		switch string(r.Take(4, "magic number")) {
		case "GGUF", "FUGG":
			return readGGUF(src)
		}
	}
	return readBinary(src)
}

// readBinary reads the form that came before GGUF.
func readBinary(src *file.Source) (*Matrix, error) {
	r, m := &binaryReader{scan.New(src)}, &Matrix{}
	n := r.size("number of weights")
	r.Fits(0, uint64(n), 3*4, "weights")
	for i := 0; i < n && r.Err() == nil; i++ {
		at := r.Pos()
		e, err := r.entry()
		if err == nil {
			err = m.Add(e)
		}
		if err != nil {
			r.Fail(at, file.ErrFormat, "%v", err)
		}
	}
	if r.Err() == nil && r.Left() > 0 {
		m.Chunks = r.size("number of chunks")
		if name := r.text("name of the text"); name != "" {
			m.Datasets = []string{name}
		}
	}
	if r.Err() == nil && r.Left() > 0 {
		r.Fail(r.Pos(), file.ErrFormat, "%d bytes are left; is this an importance matrix?", r.Left())
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return m, nil
}

type binaryReader struct{ *scan.Reader }

// size reads a number that is not negative.
func (r *binaryReader) size(what string) int {
	at := r.Pos()
	n := r.Uint32(what)
	if n > math.MaxInt32 {
		r.Fail(at, file.ErrFormat, "%s: %d", what, int32(n))
		return 0
	}
	return int(n)
}

func (r *binaryReader) text(what string) string {
	return string(r.Take(int64(r.size("length of the "+what)), what))
}

func (r *binaryReader) entry() (*Entry, error) {
	e := &Entry{Name: r.text("name of a weight")}
	// Without a number of calls the values are the means.
	e.Counts = []int64{max(int64(r.size("number of calls")), 1)}
	n := r.size("number of columns")
	b := r.Take(4*int64(n), "values")
	if err := r.Err(); err != nil {
		return nil, err
	}
	e.Sums = make([]float32, n)
	for i := range e.Sums {
		e.Sums[i] = math.Float32frombits(r.Order.Uint32(b[4*i:]))
	}
	return e, nil
}

func readGGUF(src *file.Source) (*Matrix, error) {
	f, err := gguf.Read(src)
	if err != nil {
		return nil, err
	}
	typ, err := gguf.Get[string](f.Meta, keyType)
	untyped := errors.Is(err, gguf.ErrKey)
	switch {
	case untyped:
	case err != nil:
		return nil, fault(src, 0, "", file.ErrFormat, "%v", err)
	case typ != kind:
		return nil, fault(src, 0, "", file.ErrFormat, "%s is %q, want %q", keyType, typ, kind)
	}
	m := &Matrix{}
	for key, p := range map[string]*int{keyChunks: &m.Chunks, keyChunkSize: &m.ChunkSize} {
		n, err := gguf.Get[uint32](f.Meta, key)
		if *p = int(n); err != nil && !errors.Is(err, gguf.ErrKey) {
			return nil, fault(src, 0, "", file.ErrFormat, "%v", err)
		}
	}
	m.Datasets, err = gguf.GetList[string](f.Meta, keyDatasets)
	if err != nil && !errors.Is(err, gguf.ErrKey) {
		return nil, fault(src, 0, "", file.ErrFormat, "%v", err)
	}
	for e := range f.All() {
		if err := m.addTensor(src, f, e); err != nil {
			return nil, err
		}
	}
	if untyped && m.Len() == 0 {
		return nil, fault(src, 0, "", file.ErrFormat,
			"no tensor is called name%s; is this an importance matrix?", sums)
	}
	return m, nil
}

// addTensor adds the weight whose sums a tensor is. Tensors that are called otherwise are left out.
func (m *Matrix) addTensor(src *file.Source, f *gguf.File, t *file.Entry) error {
	at := max(t.Offset, 0)
	if base, ok := strings.CutSuffix(t.Name, counts); ok && !f.Has(base+sums) {
		return fault(src, at, t.Name, file.ErrFormat, "there is no tensor %q", base+sums)
	}
	name, ok := strings.CutSuffix(t.Name, sums)
	if !ok {
		return nil
	}
	c, err := f.Get(name + counts)
	if err != nil {
		return fault(src, at, t.Name, file.ErrFormat, "there is no tensor %q", name+counts)
	}
	if t.DType != dtype.F32 || c.DType != dtype.F32 || len(t.Shape()) == 0 {
		return fault(src, at, t.Name, file.ErrFormat,
			"sums of %s and shape %v and counts of %s, want f32",
			t.Stored, t.Shape(), c.Stored)
	}
	e := &Entry{Name: name}
	if e.Sums, err = file.Values[float32](t); err != nil {
		return err
	}
	list, err := file.Values[float32](c)
	if err != nil {
		return err
	}
	for _, x := range list {
		n, ok := sizeOf(x)
		if !ok {
			return fault(src, max(c.Offset, 0), c.Name, file.ErrFormat, "a count of %v", x)
		}
		e.Counts = append(e.Counts, n)
	}
	if columns := t.Shape()[len(t.Shape())-1]; columns*len(list) != len(e.Sums) {
		return fault(src, at, t.Name, file.ErrFormat, "shape %v, and there are %d counts", t.Shape(),
			len(list))
	}
	if err := m.Add(e); err != nil {
		return fault(src, at, t.Name, file.ErrFormat, "%v", err)
	}
	return nil
}
