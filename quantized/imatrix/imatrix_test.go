package imatrix_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/quantized/imatrix"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/file/filetest"
)

// old is a file of the binary form, field by field.
func old(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(f))
		case float64:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		case string:
			b = append(binary.LittleEndian.AppendUint32(b, uint32(len(f))), f...)
		}
	}
	return b
}

var small = old(2, "blk.1.w", 4, 3, 4.0, 2.0, 0.0, "blk.0.w", 0, 1, 0.5, 7, "wiki.txt")

func read(b []byte) (*imatrix.Matrix, error) { return imatrix.Read(file.FromBytes("x.imatrix", b)) }

func sample(t testing.TB) *imatrix.Matrix {
	m := &imatrix.Matrix{Datasets: []string{"a.txt", "b.txt"}, Chunks: 12, ChunkSize: 512}
	require.NoError(t, m.Add(&imatrix.Entry{Name: "w", Sums: []float32{1024, 512, 256},
		Counts: []int64{1024}}))
	experts := &imatrix.Entry{Name: "experts", Sums: []float32{600, 300, 0, 0, 9, 3},
		Counts: []int64{600, 0, 3}}
	require.NoError(t, m.Add(experts))
	return m
}

func TestBinaryForm(t *testing.T) {
	m, err := read(small)
	require.NoError(t, err)
	require.Equal(t, 2, m.Len())
	require.Equal(t, 7, m.Chunks)
	require.Equal(t, []string{"wiki.txt"}, m.Datasets)
	require.Equal(t, "blk.0.w", m.Entries()[0].Name)
	e, ok := m.Get("blk.1.w")
	require.True(t, ok)
	require.Equal(t, []float32{1, 0.5, 0}, e.Weights())
	e, ok = m.Get("blk.0.w")
	require.True(t, ok)
	require.Equal(t, []float32{0.5}, e.Weights(), "without calls the values are the means")
	_, ok = m.Get("blk.2.w")
	require.False(t, ok)
	var b bytes.Buffer
	require.NoError(t, imatrix.WriteBinary(&b, m))
	require.Equal(t, old(2, "blk.0.w", 1, 1, 0.5, "blk.1.w", 4, 3, 4.0, 2.0, 0.0, 7, "wiki.txt"),
		b.Bytes())

	m, err = read(old(1, "w", 2, 1, 3.0)) // as the first files were
	require.NoError(t, err)
	require.Zero(t, m.Chunks)
	require.Empty(t, m.Datasets)
}

func TestGGUFForm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.gguf")
	m := sample(t)
	require.NoError(t, imatrix.WriteFile(path, m))
	got, err := imatrix.Open(path)
	require.NoError(t, err)
	require.Equal(t, m, got)
	e, ok := got.Get("experts")
	require.True(t, ok)
	require.Equal(t, 2, e.Columns())
	require.Equal(t, []float32{1, 0.5, 1, 1, 3, 1}, e.Weights(),
		"1 for an expert that was never chosen")

	f, err := gguf.Open(path)
	require.NoError(t, err)
	require.Equal(t, []string{"experts.in_sum2", "experts.counts", "w.in_sum2", "w.counts"}, f.Names())
	kind, err := gguf.Get[string](f.Meta, "general.type")
	require.NoError(t, err)
	require.Equal(t, "imatrix", kind)
	x, err := f.Get("experts.counts")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 1}, x.Shape())
	require.NoError(t, f.Close())
}

func TestFromOneFormToTheOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.dat")
	m := sample(t)
	require.NoError(t, imatrix.WriteBinaryFile(path, m))
	got, err := imatrix.Open(path)
	require.NoError(t, err)
	require.Equal(t, []string{"b.txt"}, got.Datasets)
	require.Equal(t, 12, got.Chunks)
	for _, e := range m.Entries() {
		x, ok := got.Get(e.Name)
		require.True(t, ok)
		require.Equal(t, e.Weights(), x.Weights())
	}
	e, _ := got.Get("experts")
	require.Equal(t, []int64{2}, e.Counts, "600 tokens are in two chunks of 512")

	// The smallest count is the number of chunks by chance.
	m = &imatrix.Matrix{ChunkSize: 3}
	e = &imatrix.Entry{Name: "w", Sums: []float32{4, 6}, Counts: []int64{2, 6}}
	require.NoError(t, m.Add(e))
	var b bytes.Buffer
	require.NoError(t, imatrix.WriteBinary(&b, m))
	require.Equal(t, old(1, "w", 2, 2, 4.0, 2.0, 0, ""), b.Bytes())
}

func TestWrongBinaryFiles(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		at   int64
		want string
	}{
		{nil, 0, "number of weights"},
		{old(-1), 0, "number of weights: -1"},
		{old(1 << 30), 0, "1073741824 weights"},
		{old(1, "w", 1, 2, 1.0), 17, "values: 8 bytes wanted, 4 remaining"},
		{old(1, "w", -5, 1, 1.0), 9, "number of calls: -5"},
		{old(1, "w", 1, 0, 0), 4, "0 sums"},
		{old(1, "", 1, 1, 1.0), 4, "without a name"},
		{old(1, "w", 1, 2, 1.0, math.NaN()), 4, `"w": the sum of column 1 of expert 0 is NaN`},
		{old(1, "w", 1, 1, math.Inf(1)), 4, "the sum of column 0 of expert 0 is +Inf"},
		{old(1, "w", 1, 3, 1.0, 0.0, -1.0), 4, "the sum of column 2 of expert 0 is -1"},
		{old(2, "w", 1, 1, 1.0, "w", 1, 1, 1.0), 21, `"w": duplicate weight`},
		{old(1, "w", 1, 1, 1.0, 1, "x", 9), 30, "4 bytes are left"},
		{old(1, "w", 1, 1, 1.0, 1, 100), 29, "name of the text"},
		{old(1, 1<<30, "w", 1), 8, "name of a weight"},
	} {
		_, err := read(c.b)
		var f *file.Error
		require.ErrorAs(t, err, &f, c.want)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, c.at, f.Offset, "%v", err)
	}
	for n := range len(small) {
		_, err := read(small[:n])
		if n == len(small)-16 { // the files of old ended here
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, file.ErrTruncated, "%d", n)
	}
}

func TestWrongGGUFFiles(t *testing.T) {
	f32 := func(name string, s layout.Shape, x ...float64) *file.Entry {
		var fields []any
		for _, v := range x {
			fields = append(fields, v)
		}
		e, err := file.FromMemory(name, dtype.F32, s, old(fields...))
		require.NoError(t, err)
		return e
	}
	i32, err := file.FromMemory("w.counts", dtype.I32, layout.Shape{1}, old(1))
	require.NoError(t, err)
	sum := f32("w.in_sum2", layout.Shape{1, 2}, 1, 2)
	meta := func(key string, v gguf.Value) *gguf.Metadata {
		m := &gguf.Metadata{}
		m.Set(key, v)
		return m
	}
	for _, c := range []struct {
		m    *gguf.Metadata
		of   []*file.Entry
		want string
	}{
		{nil, []*file.Entry{sum}, `there is no tensor "w.counts"`},
		{nil, []*file.Entry{f32("w.counts", layout.Shape{1}, 1)}, `there is no tensor "w.in_sum2"`},
		{nil, []*file.Entry{sum, i32}, "counts of I32, want f32"},
		{nil, []*file.Entry{f32("w.in_sum2", layout.Shape{}, 1), f32("w.counts", layout.Shape{}, 1)},
			"shape []"},
		{nil, []*file.Entry{sum, f32("w.counts", layout.Shape{2}, 1, 1)}, "there are 2 counts"},
		{nil, []*file.Entry{sum, f32("w.counts", layout.Shape{1}, 0.5)}, "a count of 0.5"},
		{nil, []*file.Entry{sum, f32("w.counts", layout.Shape{1}, -1)}, "a count of -1"},
		{nil, []*file.Entry{sum, f32("w.counts", layout.Shape{1}, math.NaN())}, "a count of NaN"},
		{nil, []*file.Entry{f32("w.in_sum2", layout.Shape{2, 2}, 1, 1, 1, math.NaN()),
			f32("w.counts", layout.Shape{2, 1}, 1, 1)},
			`tensor "w.in_sum2": importance of "w": the sum of column 1 of expert 1 is NaN`},
		{meta("general.type", gguf.Of("model")), []*file.Entry{f32("x", layout.Shape{1}, 1)},
			`general.type is "model", want "imatrix"`},
		{meta("general.type", gguf.Of(uint8(1))), nil, `metadata "general.type"`},
		{nil, []*file.Entry{f32("blk.0.x.weight", layout.Shape{1}, 1)},
			"no tensor is called name.in_sum2"},
		{nil, []*file.Entry{f32("w.in_sum2", layout.Shape{0, 2}), f32("w.counts", layout.Shape{0})},
			"0 sums"},
		{meta("imatrix.chunk_count", gguf.Of("x")), nil, `metadata "imatrix.chunk_count"`},
		{meta("imatrix.datasets", gguf.Of("x")), nil, `metadata "imatrix.datasets"`},
	} {
		var b bytes.Buffer
		require.NoError(t, gguf.Write(&b, c.m, c.of...))
		_, err := read(b.Bytes())
		require.ErrorIs(t, err, file.ErrFormat, c.want)
		require.ErrorContains(t, err, c.want)
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	m := &imatrix.Matrix{}
	require.ErrorContains(t, m.Add(&imatrix.Entry{Name: "w", Sums: make([]float32, 3),
		Counts: []int64{1, 1}}), "3 sums for 2")
	require.ErrorContains(t, m.Add(&imatrix.Entry{Name: "w", Sums: make([]float32, 3),
		Counts: []int64{-1}}), "counts [-1]")
	e := &imatrix.Entry{Name: "w", Sums: []float32{1}, Counts: []int64{1}}
	require.NoError(t, m.Add(e))
	require.ErrorContains(t, m.Add(e), "duplicate")
	for _, write := range []func(*imatrix.Matrix) error{
		func(m *imatrix.Matrix) error { return imatrix.Write(&bytes.Buffer{}, m) },
		func(m *imatrix.Matrix) error { return imatrix.WriteBinary(&bytes.Buffer{}, m) },
	} {
		m.Chunks = -1
		require.ErrorIs(t, write(m), file.ErrUnsupported)
		m.Chunks = 0
		require.NoError(t, write(m))
		e.Counts = nil
		require.ErrorContains(t, write(m), `importance of "w": 1 sums for 0 experts`)
		e.Counts = []int64{1}
	}
	e.Counts[0] = 1 << 40
	require.ErrorIs(t, imatrix.WriteBinary(&bytes.Buffer{}, m), file.ErrUnsupported)
}

// FuzzRead reads anything; what is an importance matrix is written in both forms and read again.
func FuzzRead(f *testing.F) {
	f.Add(small)
	f.Add(old(1, "w", 2, 1, 3.0))
	var b bytes.Buffer
	if err := imatrix.Write(&b, sample(f)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := read(b)
		if filetest.Refused(t, err, len(b)) {
			return
		}
		again(t, m, imatrix.Write)
		again(t, m, imatrix.WriteBinary)
	})
}

// again writes, reads and writes: the same bytes.
func again(t *testing.T, m *imatrix.Matrix, write func(io.Writer, *imatrix.Matrix) error) {
	t.Helper()
	var first, second bytes.Buffer
	if err := write(&first, m); err != nil {
		if !errors.Is(err, file.ErrUnsupported) {
			t.Fatal(err)
		}
		return
	}
	got, err := read(first.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if err := write(&second, got); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Fatalf("%v\n%q\n%q", err, first.Bytes(), second.Bytes())
	}
	names := func(m *imatrix.Matrix) (n []string) {
		for _, e := range m.Entries() {
			n = append(n, e.Name)
		}
		return n
	}
	if !slices.Equal(names(m), names(got)) {
		t.Fatal(names(m), names(got))
	}
}

// The magic number of files with the most significant byte first, which readBinary would take for a
// number of weights.
func TestTheOtherMagic(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, imatrix.Write(&b, sample(t)))
	_, err := read(append([]byte("FUGG"), b.Bytes()[4:]...))
	require.NoError(t, err)
}
