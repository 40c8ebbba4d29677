package tensorfile_test

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/cmd/kiln/internal/tensorfile"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func floats(t *testing.T, name string, shape layout.Shape, x ...float32) *file.Entry {
	t.Helper()
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	e, err := file.FromMemory(name, dtype.F32, shape, b)
	require.NoError(t, err)
	return e
}

// q8 is 32 elements of Q8_0: the number i times a scale of 1/2, a half of 0x3800.
func q8(t *testing.T, name string) *file.Entry {
	t.Helper()
	b := []byte{0x00, 0x38}
	for i := range 32 {
		b = append(b, byte(i))
	}
	enc, err := gguf.Encoding(format.Q8_0)
	require.NoError(t, err)
	e, err := file.FromBlocks(name, enc, layout.Shape{1, 32}, func() ([]byte, error) { return b, nil })
	require.NoError(t, err)
	return e
}

// model is a GGUF file with a plain and a quantized tensor.
func model(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	m := &gguf.Metadata{}
	m.Set("general.architecture", gguf.Of("test"))
	m.Set("general.file_type", gguf.Of(uint32(7)))
	m.Set("tokens", gguf.ListOf([]string{"a", "b"}))
	require.NoError(t, gguf.WriteFile(path, m, floats(t, "norm", layout.Shape{2}, 1, 2), q8(t, "w")))
	return path
}

func open(t *testing.T, path string) *tensorfile.Model {
	t.Helper()
	m, err := tensorfile.Open(path, "")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

func values(t *testing.T, m *tensorfile.Model, name string) (all []float64) {
	t.Helper()
	e, err := m.Get(name)
	require.NoError(t, err)
	require.NoError(t, tensorfile.Each(e, func(v []float64) error {
		all = append(all, v...)
		return nil
	}))
	return all
}

func TestFormats(t *testing.T) {
	from := open(t, model(t))
	require.Equal(t, "gguf", from.Format)
	require.Equal(t, []tensorfile.Fact{
		{Key: "general.architecture", Type: "str", Text: "test"},
		{Key: "general.file_type", Type: "u32", Text: "7"},
		{Key: "tokens", Type: "str[]", Text: `["a" "b"]`},
	}, from.Facts())
	for _, name := range []string{"gguf", "npz", "pth", "safetensors"} {
		path := filepath.Join(t.TempDir(), "out."+name)
		wrote := int64(0)
		o := tensorfile.Options{Dequantize: true, Wrote: func(n int64) { wrote = n }}
		require.NoError(t, tensorfile.Write(path, "", from, o))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, info.Size(), wrote)
		m := open(t, path)
		require.Equal(t, name, m.Format)
		require.Equal(t, []float64{1, 2}, values(t, m, "norm"))
		w := values(t, m, "w")
		require.Len(t, w, 32)
		for i, x := range w {
			require.Equal(t, float64(i)/2, x)
		}
		switch name {
		case "gguf":
			n, err := gguf.Get[uint32](m.Meta, "general.file_type")
			require.NoError(t, err)
			require.Zero(t, n, "all F32")
		case "safetensors":
			require.Equal(t, "test", m.Metadata()["general.architecture"])
			require.Len(t, m.Facts(), 2, "without arrays")
		}
		back := filepath.Join(t.TempDir(), "back") // the format is named, and then found by what is in it
		require.NoError(t, tensorfile.Write(back, "gguf", m, tensorfile.Options{DType: dtype.BF16}))
		m = open(t, back)
		require.Equal(t, "gguf", m.Format)
		e, err := m.Get("w")
		require.NoError(t, err)
		require.Equal(t, dtype.BF16, e.DType)
		require.Equal(t, 15.5, values(t, m, "w")[31])
	}
	n, err := gguf.Get[uint32](from.Meta, "general.file_type")
	require.NoError(t, err)
	require.EqualValues(t, 7, n, "the metadata of the source is not changed")
}

func TestWhatCannotBeWritten(t *testing.T) {
	m := open(t, model(t))
	dir := t.TempDir()
	for name, want := range map[string]string{
		"x.json": "index files are read and not written; there are gguf, npy, npz, pth, safetensors",
		"x":      "which format?", "x.safetensors": "no element type for Q8_0",
		"x.pth": "PyTorch has no type for Q8_0",
		"x.npy": "one tensor, and there are 2",
	} {
		require.ErrorContains(t, tensorfile.Write(filepath.Join(dir, name), "", m,
			tensorfile.Options{}), want)
	}
	require.ErrorContains(t, tensorfile.Write(filepath.Join(dir, "x"), "nothing", m,
		tensorfile.Options{}), `which format? "nothing" is none; there are gguf`)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestOpening(t *testing.T) {
	dir := t.TempDir()
	_, err := tensorfile.Open(filepath.Join(dir, "none"), "")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = tensorfile.Open(dir, "")
	require.ErrorContains(t, err, "a folder without an index of safetensors files and with more or less than one model")
	part := filepath.Join(dir, "m-1.safetensors")
	require.NoError(t, safetensors.WriteFile(part, nil, floats(t, "a", layout.Shape{1}, 1)))
	require.Equal(t, "safetensors", open(t, dir).Format)
	index := filepath.Join(dir, "m.safetensors.index.json")
	require.NoError(t, os.WriteFile(index, []byte(`{"weight_map":{"a":"m-1.safetensors"}}`), 0o600))
	require.Equal(t, "index", open(t, dir).Format)
	unknown := filepath.Join(dir, "x")
	require.NoError(t, os.WriteFile(unknown, []byte("text"), 0o600))
	_, err = tensorfile.Open(unknown, "")
	require.ErrorContains(t, err, "which format? Name one of gguf")
	_, err = tensorfile.Open(unknown, "safetensors")
	require.ErrorIs(t, err, file.ErrTruncated)
	_, err = tensorfile.Open(unknown, "x")
	require.ErrorContains(t, err, `which format? "x" is none`)
}

func TestDiff(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	write := func(of ...*file.Entry) *tensorfile.Model {
		path := filepath.Join(t.TempDir(), "m.gguf")
		require.NoError(t, gguf.WriteFile(path, nil, of...))
		return open(t, path)
	}
	half := func(e *file.Entry) *file.Entry {
		h, err := tensorfile.Convert(e, dtype.F16)
		require.NoError(t, err)
		return h
	}
	two := layout.Shape{2}
	a := write(floats(t, "same", two, 1, nan), floats(t, "zero", two, 0, 1), floats(t, "shape", two,
		1, 2),
		floats(t, "values", layout.Shape{4}, 1, 2, 4, -8), floats(t, "nan", two, nan, inf), floats(t,
			"type", two, 1, 2),
		floats(t, "a", two, 1, 2), q8(t, "q"))
	b := write(floats(t, "same", two, 1, nan), floats(t, "zero", two, float32(math.Copysign(0, -1)),
		1),
		floats(t, "shape", layout.Shape{1, 2}, 1, 2), floats(t, "values", layout.Shape{4}, 1, 2.5, 4,
			-10),
		floats(t, "nan", two, nan, 1), half(floats(t, "type", two, 1, 2)), floats(t, "b", two, 1, 2),
		half(q8(t, "q")))
	list, err := tensorfile.Diff(a, b, tensorfile.Tolerance{})
	require.NoError(t, err)
	var text []string
	for _, d := range list {
		require.True(t, d.Beyond, d.Name)
		text = append(text, d.String())
	}
	require.Equal(t, []string{
		"shape: shapes [2] and [1 2]",
		"values: 2 of 4 elements differ, max abs 2, max rel 0.2",
		"nan: 1 of 2 elements differ, max abs 0, max rel 0, 1 are not finite",
		"type: types f32 and f16, the same values",
		"a: only in " + a.Path,
		"q: types Q8_0 and f16, the same values",
		"b: only in " + b.Path,
	}, text)
	within := func(tol tensorfile.Tolerance) (names []string) {
		list, err := tensorfile.Diff(a, b, tol)
		require.NoError(t, err)
		for _, d := range list {
			if !d.Beyond {
				names = append(names, d.Name)
			}
		}
		return names
	}
	require.Equal(t, []string{"type", "q"}, within(tensorfile.Tolerance{AnyType: true}))
	require.Equal(t, []string{"values"}, within(tensorfile.Tolerance{Abs: 2}))
	require.Equal(t, []string{"values"}, within(tensorfile.Tolerance{Rel: 0.2}))
	require.Empty(t, within(tensorfile.Tolerance{Abs: 1.9, Rel: 0.005}))
	none, err := tensorfile.Diff(a, a, tensorfile.Tolerance{})
	require.NoError(t, err)
	require.Empty(t, none)
}

// Values of all types, more than are worked on at a time, and parts.
func TestValues(t *testing.T) {
	const n = 1<<16 + 37
	for _, d := range dtype.All() {
		var b []byte
		for i := range n {
			b = dtype.FromInt(d, int64(i%8)).Append(b)
		}
		e, err := file.FromMemory("x", d, layout.Shape{n}, b)
		require.NoError(t, err)
		var all []float64
		err = tensorfile.Each(e, func(v []float64) error { all = append(all, v...); return nil })
		require.NoError(t, err)
		require.Len(t, all, n)
		for i, x := range all {
			require.Equal(t, float64(i%8), x, d)
		}
	}
	e, err := file.FromMemory("x", dtype.F4, layout.Shape{2}, []byte{1})
	require.NoError(t, err)
	err = tensorfile.Each(e, func([]float64) error { return nil })
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, "f4 is a type for storage")
	e = floats(t, "x", layout.Shape{2, 2}, 1, 2, 3, 4)
	column, err := e.Narrow(1, 1, 1)
	require.NoError(t, err)
	var got []float64
	require.NoError(t, tensorfile.Each(column,
		func(v []float64) error { got = slices.Clone(v); return nil }))
	require.Equal(t, []float64{2, 4}, got)
	require.NoError(t, tensorfile.Each(floats(t, "none", layout.Shape{0}),
		func([]float64) error { t.Fatal("values of none"); return nil }))
}
