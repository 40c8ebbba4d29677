package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/format"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func memory(t testing.TB, name string, d dtype.DType, s layout.Shape, b []byte) *file.Entry {
	t.Helper()
	e, err := file.FromMemory(name, d, s, b)
	require.NoError(t, err)
	return e
}

// blocks is a tensor of a quantized type.
func blocks(t testing.TB, name string, f format.Type, s layout.Shape, b []byte) *file.Entry {
	t.Helper()
	enc, err := gguf.Encoding(f)
	require.NoError(t, err)
	e, err := file.FromBlocks(name, enc, s, func() ([]byte, error) { return b, nil })
	require.NoError(t, err)
	return e
}

// numbers is n bytes that differ.
func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + 3)
	}
	return b
}

func read(b []byte) (*gguf.File, error) { return gguf.Read(file.FromBytes("x.gguf", b)) }

func write(t testing.TB, m *gguf.Metadata, tensors ...*file.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, gguf.Write(&b, m, tensors...))
	return b.Bytes()
}

// sample is metadata of every type.
func sample() *gguf.Metadata {
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("test"))
	m.Set("n.u8", gguf.Of(uint8(200)))
	m.Set("n.i8", gguf.Of(int8(-3)))
	m.Set("n.u16", gguf.Of(uint16(60000)))
	m.Set("n.i16", gguf.Of(int16(-300)))
	m.Set("n.u32", gguf.Of(uint32(1<<31)))
	m.Set("n.i32", gguf.Of(int32(math.MinInt32)))
	m.Set("n.u64", gguf.Of(uint64(math.MaxUint64)))
	m.Set("n.i64", gguf.Of(int64(-1)))
	m.Set("n.f32", gguf.Of(float32(0.5)))
	m.Set("n.f64", gguf.Of(math.Inf(-1)))
	m.Set("n.bool", gguf.Of(true))
	m.Set("l.str", gguf.ListOf([]string{"a", "", "ü"}))
	m.Set("l.bool", gguf.ListOf([]bool{true, false}))
	m.Set("l.i16", gguf.ListOf([]int16{-1, 2}))
	m.Set("l.f64", gguf.ListOf([]float64{1, math.Copysign(0, -1)}))
	m.Set("l.none", gguf.ListOf[uint32](nil))
	m.Set("l.deep", gguf.Nested(gguf.ListOf([]uint8{1}), gguf.Nested(), gguf.ListOf([]string{"x"})))
	return m
}

func TestMetadataIsKept(t *testing.T) {
	m := sample()
	f, err := read(write(t, m))
	require.NoError(t, err)
	require.Equal(t, m, f.Meta)
	require.Equal(t, "test", f.Set.Metadata()[gguf.KeyArchitecture])
	require.Equal(t, "-1", f.Set.Metadata()["n.i64"])
	require.NotContains(t, f.Set.Metadata(), "l.str")
	v, ok := m.Value("l.deep")
	require.True(t, ok)
	require.Equal(t, `[[1] [] ["x"]]`, v.String())
	v, _ = f.Meta.Value("l.none")
	require.Equal(t, gguf.Uint32, v.Elem())
	require.Equal(t, "[0 1 2 3 4 5 6 7 … 9 in all]", gguf.ListOf([]int8{0, 1, 2, 3, 4, 5, 6, 7,
		8}).String())
	require.Equal(t, 9, gguf.ListOf(make([]string, 9)).Len())
	for _, x := range []struct{ v fmt.Stringer }{{gguf.Of(true)}, {gguf.Of(float32(0.1))},
		{gguf.Of(2.5)}, {gguf.Float64}} {
		require.Contains(t, []string{"true", "0.1", "2.5", "f64"}, x.v.String())
	}
}

func TestMetadataChanges(t *testing.T) {
	var m gguf.Metadata
	m.Set("a", gguf.Of("1"))
	m.Set("b", gguf.Of("2"))
	c := m.Clone()
	m.Set("a", gguf.Of("3"))
	require.True(t, m.Delete("b"))
	require.False(t, m.Delete("b"))
	m.Set("c", gguf.Of("4"))
	text := func(m *gguf.Metadata) (all []string) {
		for k, v := range m.All() {
			all = append(all, k+v.String())
		}
		return all
	}
	require.Equal(t, []string{"a3", "c4"}, text(&m))
	require.Equal(t, []string{"a1", "b2"}, text(c))
	var none *gguf.Metadata
	require.Zero(t, none.Len())
	require.Empty(t, text(none))
	_, ok := none.Value("a")
	require.False(t, ok)
}

// convert asks for a value as another type.
func convert[T gguf.Scalar](t *testing.T, key string, want T, ok bool) {
	t.Helper()
	m := sample()
	got, err := gguf.Get[T](m, key)
	if !ok {
		require.ErrorIs(t, err, gguf.ErrValue, "%s is %v", key, got)
		require.ErrorContains(t, err, `metadata "`+key+`"`)
		require.Zero(t, got)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func TestTypedAccess(t *testing.T) {
	convert(t, "n.u8", uint8(200), true)
	convert(t, "n.u8", int8(0), false)
	convert(t, "n.u8", uint64(200), true)
	convert(t, "n.u8", int32(200), true)
	convert(t, "n.i8", int64(-3), true)
	convert(t, "n.i8", uint8(0), false)
	convert(t, "n.i8", uint64(0), false)
	convert(t, "n.u16", uint32(60000), true)
	convert(t, "n.u16", int16(0), false)
	convert(t, "n.i16", int8(0), false)
	convert(t, "n.u32", int32(0), false)
	convert(t, "n.u32", int64(1<<31), true)
	convert(t, "n.i32", int32(math.MinInt32), true)
	convert(t, "n.i32", uint32(0), false)
	convert(t, "n.u64", uint64(math.MaxUint64), true)
	convert(t, "n.u64", int64(0), false)
	convert(t, "n.i64", int8(-1), true)
	convert(t, "n.i64", uint64(0), false)
	convert(t, "n.bool", uint64(1), true)
	convert(t, "n.bool", true, true)
	convert(t, "n.u8", true, false)
	convert(t, "n.f32", 0.5, true)
	convert(t, "n.f32", float32(0.5), true)
	convert(t, "n.f32", uint8(0), false)
	convert(t, "n.f64", float32(0), false)
	convert(t, "n.f64", math.Inf(-1), true)
	convert(t, "n.u8", 0.0, false)
	convert(t, gguf.KeyArchitecture, "test", true)
	convert(t, gguf.KeyArchitecture, uint8(0), false)
	convert(t, "n.u8", "", false)
	convert(t, "l.str", "", false)
	_, err := gguf.Get[string](sample(), "none")
	require.ErrorIs(t, err, gguf.ErrKey)
	require.ErrorContains(t, err, `"none"`)

	wide, err := gguf.GetList[int64](sample(), "l.i16")
	require.NoError(t, err)
	require.Equal(t, []int64{-1, 2}, wide)
	_, err = gguf.GetList[uint32](sample(), "l.i16")
	require.ErrorIs(t, err, gguf.ErrValue)
	require.ErrorContains(t, err, "element 0")
	for _, key := range []string{"n.u8", "l.deep", "l.str"} {
		_, err = gguf.GetList[uint8](sample(), key)
		require.ErrorIs(t, err, gguf.ErrValue, key)
	}
	_, err = gguf.GetList[uint8](sample(), "none")
	require.ErrorIs(t, err, gguf.ErrKey)
}

func TestTensorsAreKept(t *testing.T) {
	m := &gguf.Metadata{}
	m.Set(gguf.KeyAlignment, gguf.Of(uint32(128)))
	for _, typ := range format.Types() {
		info, err := typ.Info()
		require.NoError(t, err)
		enc, err := gguf.Encoding(typ)
		require.NoError(t, err)
		shape := layout.Shape{3, 2 * info.Elems}
		data := numbers(6 * info.Bytes)
		e := func() *file.Entry {
			if enc.Quantized() {
				return blocks(t, "w", typ, shape, data)
			}
			return memory(t, "w", enc.DType, shape, data)
		}()
		f, err := read(write(t, m, e, memory(t, "behind", dtype.F32, nil, numbers(4))))
		require.NoError(t, err)
		x, err := f.Get("w")
		require.NoError(t, err)
		got, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, data, got, typ)
		require.Zero(t, x.Offset%128)
		back, err := gguf.TypeOf(x)
		require.NoError(t, err)
		require.Equal(t, typ, back)
		row, err := x.Narrow(0, 1, 1)
		require.NoError(t, err)
		got, err = row.Bytes()
		require.NoError(t, err)
		require.Equal(t, data[2*info.Bytes:4*info.Bytes], got, typ)
		x, err = f.Get("behind")
		require.NoError(t, err)
		require.Empty(t, x.Shape())
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	fails := func(want string, m *gguf.Metadata, of ...*file.Entry) {
		t.Helper()
		err := gguf.Write(&bytes.Buffer{}, m, of...)
		require.ErrorContains(t, err, want)
	}
	one := func(name string, d dtype.DType) *file.Entry {
		return memory(t, name, d, layout.Shape{2}, make([]byte, 2*d.Size()))
	}
	of := func(key string, v gguf.Value) *gguf.Metadata {
		m := &gguf.Metadata{}
		m.Set(key, v)
		return m
	}
	fails("GGUF has no type for u8", nil, one("a", dtype.U8))
	fails("GGUF has no type for f8e4m3", nil, one("a", dtype.F8E4M3))
	fails("two tensors of this name", nil, one("a", dtype.I8), one("a", dtype.I8))
	fails("5 dimensions", nil, memory(t, "a", dtype.I8, layout.Shape{1, 1, 1, 1, 1}, []byte{1}))
	fails("a key of 0 bytes", of("", gguf.Of("x")))
	fails("a key of 65536 bytes", of(strings.Repeat("k", 1<<16), gguf.Of("x")))
	fails("general.alignment is 24, want a power of 2", of(gguf.KeyAlignment, gguf.Of(uint32(24))))
	fails("general.alignment is of type u64", of(gguf.KeyAlignment, gguf.Of(uint64(32))))
	fails("u8 as an element of an array of arr", of("k", gguf.Nested(gguf.Of(uint8(1)))))
	deep := gguf.ListOf([]uint8{1})
	for range gguf.MaxDepth - 1 {
		deep = gguf.Nested(deep)
	}
	_, err := read(write(t, of("k", deep)))
	require.NoError(t, err)
	fails("within each other more than 64 times", of("k", gguf.Nested(deep)))

	lost := errors.New("device lost")
	broken, err := file.FromFunc("w", dtype.I8, layout.Shape{1}, func() ([]byte, error) {
		return nil, lost
	})
	require.NoError(t, err)
	dir := t.TempDir()
	require.ErrorIs(t, gguf.WriteFile(filepath.Join(dir, "x"), nil, broken), lost)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Every file that ends too early is an error, wherever it ends.
func TestTruncatedFiles(t *testing.T) {
	b := write(t, sample(), memory(t, "a", dtype.F32, layout.Shape{2, 3}, numbers(24)), blocks(t,
		"b", format.Q4_0, layout.Shape{64}, numbers(36)))
	f, err := read(b)
	require.NoError(t, err)
	e, err := f.Get("b")
	require.NoError(t, err)
	for n := range int(e.Offset + e.Size()) {
		_, err := read(b[:n])
		require.ErrorIs(t, err, file.ErrTruncated, "%d bytes of %d", n, len(b))
		var fault *file.Error
		require.ErrorAs(t, err, &fault)
		require.LessOrEqual(t, fault.Offset, int64(n))
	}
}

// A header of few bytes cannot have much memory taken.
func TestMemoryOfClaims(t *testing.T) {
	_, files := goldenIndex(t)
	for _, name := range []string{"nested_wide.gguf", "strings_2_30.gguf", "array_len_2_40.gguf",
		"tensors_huge.gguf", "kv_huge.gguf", "nested_2000.gguf"} {
		b := append(slices.Clone(files[name]), make([]byte, 1<<20)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(b)
		runtime.ReadMemStats(&after)
		require.Error(t, err, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(24<<20), name)
	}
}

func TestPositionsOfFaults(t *testing.T) {
	head := func(tensors, keys uint64) []byte {
		b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
		return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, tensors), keys)
	}
	list, files := goldenIndex(t)
	require.NotEmpty(t, list)
	for name, want := range map[string]struct {
		at   int64
		kind error
		text string
	}{
		"magic_wrong.gguf":      {0, file.ErrFormat, `begins with "GGML"`},
		"version_4.gguf":        {4, file.ErrUnsupported, "version 4"},
		"tensors_huge.gguf":     {8, file.ErrTruncated, "1099511627776 tensors, and 0 bytes remaining"},
		"kv_huge.gguf":          {16, file.ErrTruncated, "1099511627776 keys"},
		"key_len_max.gguf":      {24, file.ErrFormat, "key of 18446744073709551615 bytes"},
		"key_twice.gguf":        {41, file.ErrFormat, `duplicate key "same"`},
		"value_type_13.gguf":    {33, file.ErrFormat, "type 13"},
		"bool_2.gguf":           {-2, file.ErrFormat, "the bool 2"},
		"name_twice.gguf":       {-2, file.ErrFormat, `tensor "a": there are two tensors of this name`},
		"type_43.gguf":          {-2, file.ErrUnsupported, "type 43; there are [F32 F16"},
		"row_q4_0.gguf":         {-2, file.ErrFormat, "rows of 33 elements"},
		"offset_overlap.gguf":   {-2, file.ErrFormat, "overlap"},
		"offset_unaligned.gguf": {-2, file.ErrFormat, "offset 4"},
		"data_cut.gguf":         {-2, file.ErrTruncated, "needs"},
		"alignment_3.gguf":      {-2, file.ErrFormat, "want a power of 2"},
	} {
		_, err := read(files[name])
		var fault *file.Error
		require.ErrorAs(t, err, &fault, name)
		require.ErrorIs(t, err, want.kind, name)
		require.ErrorContains(t, err, want.text, name)
		if want.at >= 0 {
			require.Equal(t, want.at, fault.Offset, "%s: %v", name, err)
		}
		require.Positive(t, fault.Offset+1, name)
	}
	_, err := read(append(head(0, 1), 0))
	require.ErrorIs(t, err, file.ErrTruncated)
	// A tensor is described by 24 bytes at least, and a key by 13.
	_, err = read(append(head(2, 0), make([]byte, 47)...))
	require.ErrorContains(t, err, "at byte 8: 2 tensors, and 47 bytes remaining")
	_, err = read(append(head(0, 2), make([]byte, 25)...))
	require.ErrorContains(t, err, "at byte 16: 2 keys, and 25 bytes remaining")
	_, err = read(append([]byte("FUGG\x00\x00\x00\x03"), make([]byte, 16)...))
	require.NoError(t, err)
}

func TestSplitFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(i, n int) string {
		return filepath.Join(dir, fmt.Sprintf("m-%05d-of-%05d.gguf", i, n))
	}
	part := func(i, n, all int, name string) {
		m := &gguf.Metadata{}
		m.Set("split.no", gguf.Of(uint16(i)))
		m.Set("split.count", gguf.Of(uint16(n)))
		m.Set("split.tensors.count", gguf.Of(int32(all)))
		m.Set("file", gguf.Of(uint32(i)))
		require.NoError(t, gguf.WriteFile(path(i+1, n), m, memory(t, name, dtype.I8, layout.Shape{2},
			[]byte{byte(i), 7})))
	}
	for i, name := range []string{"a", "b", "c"} {
		part(i, 3, 3, name)
	}
	for i := range 3 { // any of them
		f, err := gguf.Open(path(i+1, 3))
		require.NoError(t, err)
		require.Equal(t, []string{"a", "b", "c"}, f.Names())
		require.Equal(t, 1, f.Meta.Len(), "that of the first file, without split.no and the like")
		n, err := gguf.Get[uint8](f.Meta, "file")
		require.NoError(t, err)
		require.Zero(t, n)
		require.Equal(t, map[string]string{"file": "0"}, f.Set.Metadata())
		for j, name := range f.Names() {
			e, err := f.Get(name)
			require.NoError(t, err)
			got, err := file.Values[int8](e)
			require.NoError(t, err)
			require.Equal(t, []int8{int8(j), 7}, got)
		}
		require.NoError(t, f.Close())
	}
	fails := func(want string) {
		t.Helper()
		_, err := gguf.Open(path(1, 3))
		require.ErrorContains(t, err, want)
	}
	part(1, 3, 3, "a")
	fails("two tensors of this name")
	part(2, 3, 3, "c")
	require.NoError(t, os.Rename(path(3, 3), path(2, 3)))
	fails("it says that it is file 3 of 3, want 2 of 3")
	require.NoError(t, os.Remove(path(2, 3)))
	fails("m-00002-of-00003.gguf")
	part(0, 1, 2, "a") // one file is no split
	_, err := gguf.Open(path(1, 1))
	require.NoError(t, err)
	part(0, 2, 3, "a")
	part(1, 2, 3, "b")
	_, err = gguf.Open(path(1, 2))
	require.ErrorContains(t, err, "the model has 3 tensors, and its 2 files have 2")
	require.NoError(t, os.Rename(path(1, 2), filepath.Join(dir, "other.gguf")))
	_, err = gguf.Open(filepath.Join(dir, "other.gguf"))
	require.ErrorContains(t, err, "must be called as name-00001-of-00002.gguf")
}

func TestEdit(t *testing.T) {
	p := filepath.Join(t.TempDir(), "m.gguf")
	m := &gguf.Metadata{}
	m.Set("general.name", gguf.Of("first"))
	data := numbers(180)
	tensors := []*file.Entry{blocks(t, "q", format.Q4_0, layout.Shape{2, 160}, data), memory(t,
		"none", dtype.F32, layout.Shape{0, 2}, nil), memory(t, "w", dtype.F32, layout.Shape{1}, data[:4])}
	require.NoError(t, gguf.WriteFile(p, m, tensors...))
	edit := func(inPlace bool, change func(m *gguf.Metadata) error) {
		t.Helper()
		before, err := os.Stat(p)
		require.NoError(t, err)
		got, err := gguf.Edit(p, change)
		require.NoError(t, err)
		require.Equal(t, inPlace, got)
		after, err := os.Stat(p)
		require.NoError(t, err)
		require.Equal(t, inPlace, os.SameFile(before, after))
		f, err := gguf.Open(p)
		require.NoError(t, err)
		defer f.Close()
		require.NoError(t, change(m))
		require.Equal(t, m, f.Meta)
		bytesNow, err := os.ReadFile(p)
		require.NoError(t, err)
		require.Equal(t, write(t, m, tensors...), bytesNow, "the same as written anew")
	}
	set := func(key string, v gguf.Value) func(m *gguf.Metadata) error {
		return func(m *gguf.Metadata) error { m.Set(key, v); return nil }
	}
	edit(true, set("general.name", gguf.Of("other")))
	edit(false, set("general.description", gguf.Of(strings.Repeat("long", 100))))
	edit(true, set("general.description", gguf.Of(strings.Repeat("text", 100))))
	edit(false, set(gguf.KeyAlignment, gguf.Of(uint32(64))))
	edit(false, func(m *gguf.Metadata) error { m.Delete("general.description"); return nil })

	no := errors.New("no")
	want, err := os.ReadFile(p)
	require.NoError(t, err)
	_, err = gguf.Edit(p, func(m *gguf.Metadata) error { m.Delete("general.name"); return no })
	require.ErrorIs(t, err, no)
	_, err = gguf.Edit(p, set(gguf.KeyAlignment, gguf.Of(uint32(3))))
	require.ErrorContains(t, err, "power of 2")
	got, err := os.ReadFile(p)
	require.NoError(t, err)
	require.Equal(t, want, got)
	_, err = gguf.Edit(p+"x", set("a", gguf.Of("b")))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Tensors of another byte order are converted, if their type is plain.
func TestPlainTensorsOfTheOtherOrder(t *testing.T) {
	b := binary.BigEndian.AppendUint32([]byte("GGUF"), 3)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, 1), 0)
	b = append(binary.BigEndian.AppendUint64(b, 1), 'w')
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, 1), 2)
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, uint32(format.F32)), 0)
	b = append(b, make([]byte, (32-len(b)%32)%32)...)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, math.Float32bits(1.5)),
		math.Float32bits(-2))
	f, err := read(b)
	require.NoError(t, err)
	e, err := f.Get("w")
	require.NoError(t, err)
	got, err := file.Values[float32](e)
	require.NoError(t, err)
	require.Equal(t, []float32{1.5, -2}, got)
	rewrite(t, f)
}

// Other formats' tensors are written as they are.
func TestFromSafetensors(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, safetensors.Write(&b, nil, memory(t, "w", dtype.BF16, layout.Shape{2, 2},
		numbers(8))))
	set, err := safetensors.Read(file.FromBytes("x", b.Bytes()))
	require.NoError(t, err)
	f, err := read(write(t, nil, slices.Collect(set.All())...))
	require.NoError(t, err)
	e, err := f.Get("w")
	require.NoError(t, err)
	require.Equal(t, dtype.BF16, e.DType)
	err = safetensors.Write(&b, nil, blocks(t, "q", format.Q8_0, layout.Shape{32}, numbers(34)))
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, "Q8_0")
}
