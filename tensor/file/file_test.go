package file_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// numbers returns n bytes 0, 1, 2 and so on.
func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// sources opens the same bytes by every method.
func sources(t *testing.T, b []byte) map[string]*file.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.bin")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	opened, err := file.Open(path)
	require.NoError(t, err)
	all := map[string]*file.Source{
		"mapped": opened,
		"bytes":  file.FromBytes("memory", b),
		"reader": file.FromReader("reader", bytes.NewReader(b), int64(len(b))),
	}
	t.Cleanup(func() {
		for _, s := range all {
			require.NoError(t, s.Close())
			require.NoError(t, s.Close(), "closing twice is nothing")
		}
	})
	return all
}

func TestSource(t *testing.T) {
	want := numbers(100)
	for name, s := range sources(t, want) {
		t.Run(name, func(t *testing.T) {
			require.EqualValues(t, 100, s.Size())
			got, err := io.ReadAll(io.NewSectionReader(s, 0, 1000))
			require.NoError(t, err)
			require.Equal(t, want, got)
			n, err := s.ReadAt(make([]byte, 1), 100)
			require.Equal(t, 0, n)
			require.Equal(t, io.EOF, err)
			part, err := s.Section(10, 50)
			require.NoError(t, err)
			v, err := part.View(40, 10)
			require.NoError(t, err)
			require.Equal(t, want[50:60], v.Bytes())
			v.Release()
			require.Nil(t, v.Bytes())
			v.Release()
			_, err = part.View(41, 10)
			require.ErrorIs(t, err, file.ErrTruncated)
			_, err = s.View(91, 10)
			require.ErrorIs(t, err, file.ErrTruncated)
			require.ErrorContains(t, err, "truncated file at byte 100: the file ends, and 10 bytes from byte 91 on are wanted")
			_, err = s.View(-1, 1)
			require.ErrorIs(t, err, file.ErrFormat)
			_, err = s.Section(1<<62, 1<<62)
			require.ErrorIs(t, err, file.ErrTruncated)
		})
	}
}

func TestViewsOutliveTheFile(t *testing.T) {
	for name, s := range sources(t, numbers(100)) {
		v, err := s.View(5, 3)
		require.NoError(t, err)
		require.NoError(t, s.Close())
		runtime.GC()
		require.Equal(t, []byte{5, 6, 7}, v.Bytes(), name)
		_, err = s.View(5, 3)
		require.ErrorIs(t, err, os.ErrClosed, name)
		_, err = s.ReadAt(make([]byte, 3), 5)
		require.ErrorIs(t, err, os.ErrClosed, name)
		v.Release()
	}
}

func TestSourcesWithoutBytes(t *testing.T) {
	s := sources(t, nil)["mapped"]
	require.Zero(t, s.Size())
	v, err := s.View(0, 0)
	require.NoError(t, err)
	require.Empty(t, v.Bytes())
	_, err = file.Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = file.Open(t.TempDir())
	require.Error(t, err)
	short := file.FromReader("lies", strings.NewReader("abc"), 10)
	_, err = short.View(0, 10)
	require.ErrorIs(t, err, file.ErrTruncated)
	require.ErrorContains(t, err, "at byte 3")
}

func TestReadingFromManyGoroutines(t *testing.T) {
	want := numbers(200)
	s := sources(t, want)["mapped"]
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for range 50 {
				v, err := s.View(int64(i), 100)
				if err != nil {
					assert.ErrorIs(t, err, os.ErrClosed)
					return
				}
				assert.Equal(t, want[i:i+100], v.Bytes())
				v.Release()
			}
		})
	}
	require.NoError(t, s.Close())
	wg.Wait()
}

// entry makes an Entry over bytes.
func entry(t *testing.T, b []byte, s file.Spec) *file.Entry {
	t.Helper()
	e, err := file.New(over(b, s))
	require.NoError(t, err)
	return e
}

func over(b []byte, s file.Spec) file.Spec {
	src := file.FromBytes("t.bin", b)
	s.Blob, _ = src.Section(0, src.Size())
	s.Path, s.Name = src.Name(), "w"
	return s
}

func TestLayouts(t *testing.T) {
	u8 := file.As("u8", dtype.U8)
	for _, c := range []struct {
		name    string
		shape   layout.Shape
		strides []int
		skip    int
		want    []byte
	}{
		{"rows", layout.Shape{2, 3}, nil, 0, []byte{0, 1, 2, 3, 4, 5}},
		{"offset", layout.Shape{2, 2}, nil, 4, []byte{4, 5, 6, 7}},
		{"columns", layout.Shape{2, 3}, []int{1, 2}, 0, []byte{0, 2, 4, 1, 3, 5}},
		{"gaps", layout.Shape{3}, []int{4}, 1, []byte{1, 5, 9}},
		{"repeated", layout.Shape{2, 3}, []int{0, 1}, 2, []byte{2, 3, 4, 2, 3, 4}},
		{"one", layout.Shape{}, nil, 9, []byte{9}},
		{"none", layout.Shape{0, 5}, []int{100, 1}, 90, []byte{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := entry(t, numbers(10), file.Spec{Encoding: u8, Shape: c.shape, Strides: c.strides, Skip: c.skip})
			got, err := file.Values[uint8](e)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			require.EqualValues(t, len(c.want), e.Size())
			v, err := e.View()
			require.NoError(t, err)
			require.Len(t, v.Bytes(), e.Layout.Span())
			var b bytes.Buffer
			n, err := e.WriteTo(&b)
			require.NoError(t, err)
			require.EqualValues(t, len(c.want), n)
		})
	}
}

func TestWhatNewRefuses(t *testing.T) {
	u8, f32 := file.As("u8", dtype.U8), file.As("f32", dtype.F32)
	for _, c := range []struct {
		name string
		spec file.Spec
		kind error
		text string
	}{
		{"too long", file.Spec{Encoding: f32, Shape: layout.Shape{3}}, file.ErrTruncated, `t.bin: truncated file at byte 0: tensor "w": shape [3] with strides [1] from element 0 on needs 12 bytes, and there are 10`},
		{"reaches too far", file.Spec{Encoding: u8, Shape: layout.Shape{3, 3}, Strides: []int{4, 1}}, file.ErrTruncated, "needs 11 bytes"},
		{"skips too far", file.Spec{Encoding: u8, Shape: layout.Shape{1}, Skip: 10}, file.ErrTruncated, "from element 10 on"},
		{"skips backwards", file.Spec{Encoding: u8, Shape: layout.Shape{1}, Skip: -1}, file.ErrFormat, "number -1"},
		{"negative size", file.Spec{Encoding: u8, Shape: layout.Shape{-1}}, file.ErrFormat, "negative"},
		{"wraps", file.Spec{Encoding: u8, Shape: layout.Shape{1 << 32, 1 << 32}}, file.ErrFormat, "too large"},
		{"wraps beside 0", file.Spec{Encoding: u8, Shape: layout.Shape{0, 1 << 32, 1 << 32}}, file.ErrFormat, "too large"},
		{"strides wrap", file.Spec{Encoding: u8, Shape: layout.Shape{5}, Strides: []int{1 << 62}}, file.ErrFormat, "too large"},
		{"strides add up", file.Spec{Encoding: u8, Shape: layout.Shape{2, 2}, Strides: []int{1 << 59, 1}}, file.ErrFormat, "too large"},
		{"negative stride", file.Spec{Encoding: u8, Shape: layout.Shape{2}, Strides: []int{-1}}, file.ErrFormat, "negative"},
		{"strides missing", file.Spec{Encoding: u8, Shape: layout.Shape{2, 2}, Strides: []int{1}}, file.ErrFormat, "1 strides"},
		{"rank", file.Spec{Encoding: u8, Shape: make(layout.Shape, 65)}, file.ErrUnsupported, "65 dimensions"},
		{"nibbles with gaps", file.Spec{Encoding: file.As("f4", dtype.F4), Shape: layout.Shape{2, 2}, Strides: []int{4, 1}}, file.ErrUnsupported, "share bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := file.New(over(numbers(10), c.spec))
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, "w", f.Tensor)
		})
	}
}

func TestRepeatedElementsAreLimited(t *testing.T) {
	e := entry(t, numbers(1), file.Spec{Encoding: file.As("u8", dtype.U8), Shape: layout.Shape{1 << 50}, Strides: []int{0}})
	v, err := e.View()
	require.NoError(t, err)
	require.Len(t, v.Bytes(), 1)
	_, err = e.Bytes()
	require.ErrorIs(t, err, file.ErrUnsupported)
	_, err = e.WriteTo(io.Discard)
	require.ErrorIs(t, err, file.ErrUnsupported)
}

func TestConversions(t *testing.T) {
	for _, c := range []struct {
		name string
		enc  file.Encoding
		in   []byte
		want []int64
	}{
		{"bool", file.From("BOOL", file.Bool), []byte{0, 1, 2, 255}, []int64{0, 1, 1, 1}},
		{"true bool", file.From("BOOL", file.Bool), []byte{0, 1, 1}, []int64{0, 1, 1}},
		{"i8", file.As("I8", dtype.I8), []byte{0, 127, 128, 255}, []int64{0, 127, -128, -1}},
		{"u16", file.From("U16", file.Uint16), []byte{1, 0, 255, 255}, []int64{1, 65535}},
		{"big u16", file.Encoding{DType: dtype.U32, Kind: file.Uint16, Big: true}, []byte{1, 0, 0, 255}, []int64{256, 255}},
		{"u64", file.From("U64", file.Uint64), []byte{5, 0, 0, 0, 0, 0, 0, 0x70}, []int64{0x7000000000000005}},
		{"big u64", file.Encoding{DType: dtype.I64, Kind: file.Uint64, Big: true}, []byte{0, 0, 0, 0, 0, 0, 2, 1}, []int64{513}},
		{"big i16", file.Encoding{DType: dtype.I16, Big: true}, []byte{255, 254, 0, 3}, []int64{-2, 3}},
		{"big i32", file.Encoding{DType: dtype.I32, Big: true}, []byte{0, 0, 1, 0}, []int64{256}},
		{"big f64", file.Encoding{DType: dtype.F64, Big: true}, []byte{0x40, 0x08, 0, 0, 0, 0, 0, 0}, []int64{3}},
		{"big bf16", file.Encoding{DType: dtype.BF16, Big: true}, []byte{0x40, 0x40}, []int64{3}},
		{"big u8", file.Encoding{DType: dtype.U8, Big: true}, []byte{7, 8}, []int64{7, 8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := entry(t, c.in, file.Spec{Encoding: c.enc, Shape: layout.Shape{len(c.want)}})
			b, err := e.Bytes()
			require.NoError(t, err)
			var got []int64
			for n := e.DType.Size(); len(b) > 0; b = b[n:] {
				var word [8]byte
				copy(word[:], b[:n])
				got = append(got, dtype.FromBits(e.DType, binary.LittleEndian.Uint64(word[:])).Int())
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestLargeU64(t *testing.T) {
	in := bytes.Repeat([]byte{0xff}, 24)
	clear(in[:8])
	clear(in[16:])
	spec := file.Spec{Encoding: file.From("U64", file.Uint64), Shape: layout.Shape{3}}
	_, err := entry(t, in, spec).Bytes()
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, `tensor "w": `)
	require.ErrorContains(t, err, "element 1 is 18446744073709551615, which is too large for i64")
	spec.Shape, spec.Strides = layout.Shape{2}, []int{2}
	got, err := file.Values[int64](entry(t, in, spec))
	require.NoError(t, err, "an element in a gap does not count")
	require.Equal(t, []int64{0, 0}, got)
}

func TestUnsupportedTypes(t *testing.T) {
	e := entry(t, numbers(10), file.Spec{Encoding: file.Encoding{Name: "C64"}, Shape: layout.Shape{100}})
	require.Equal(t, "C64", e.Stored)
	require.Equal(t, layout.Shape{100}, e.Shape())
	for _, err := range []error{
		func() error { _, err := e.View(); return err }(),
		func() error { _, err := e.Bytes(); return err }(),
		func() error { _, err := e.Narrow(0, 0, 1); return err }(),
		func() error { _, err := file.Values[float32](e); return err }(),
	} {
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, `tensor "w": no element type can hold C64; there are u8, u32, i8, i16`)
	}
	e = entry(t, numbers(10), file.Spec{Encoding: file.As("u8", dtype.U8), Shape: layout.Shape{10}})
	_, err := file.Values[float32](e)
	require.ErrorContains(t, err, "u8, not f32")
}

func TestNarrow(t *testing.T) {
	e := entry(t, numbers(48), file.Spec{Encoding: file.As("I16", dtype.I16), Shape: layout.Shape{4, 6}})
	rows, err := e.Narrow(0, 1, 2)
	require.NoError(t, err)
	require.True(t, rows.Layout.IsContiguous())
	require.EqualValues(t, 12, rows.Offset)
	v, err := rows.View()
	require.NoError(t, err)
	require.Equal(t, numbers(48)[12:36], v.Bytes(), "no byte more than the rows")
	cols, err := rows.Narrow(-1, 4, 2)
	require.NoError(t, err)
	got, err := cols.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{20, 21, 22, 23, 32, 33, 34, 35}, got)
	none, err := cols.Narrow(0, 2, 0)
	require.NoError(t, err)
	got, err = none.Bytes()
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = e.Narrow(0, 3, 2)
	require.ErrorIs(t, err, layout.ErrNarrow)
	_, err = e.Narrow(2, 0, 1)
	require.ErrorIs(t, err, layout.ErrDim)

	f4 := entry(t, numbers(8), file.Spec{Encoding: file.As("F4", dtype.F4), Shape: layout.Shape{4, 4}})
	rows, err = f4.Narrow(0, 1, 2)
	require.NoError(t, err)
	got, err = rows.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{2, 3, 4, 5}, got)
	_, err = f4.Narrow(1, 0, 1)
	require.ErrorIs(t, err, file.ErrUnsupported)
}

func TestMemory(t *testing.T) {
	e, err := file.FromMemory("x", dtype.F16, layout.Shape{2}, []byte{0, 0x3c, 0, 0xc0})
	require.NoError(t, err)
	got, err := file.Values[dsl.F16](e)
	require.NoError(t, err)
	require.Equal(t, []float32{1, -2}, []float32{dsl.F32(got[0]), dsl.F32(got[1])})
	_, err = file.FromMemory("x", dtype.F16, layout.Shape{2}, make([]byte, 5))
	require.ErrorContains(t, err, `tensor "x": 5 bytes for [2] of f16, want 4`)
	_, err = file.FromMemory("x", dtype.Invalid, layout.Shape{2}, nil)
	require.ErrorIs(t, err, file.ErrUnsupported)

	calls := 0
	lazy, err := file.FromFunc("y", dtype.U8, layout.Shape{3}, func() ([]byte, error) { calls++; return []byte{1, 2, 3}, nil })
	require.NoError(t, err)
	require.Zero(t, calls)
	b, err := lazy.Bytes()
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, b)
	broken := errors.New("device lost")
	lazy, err = file.FromFunc("y", dtype.U8, layout.Shape{3}, func() ([]byte, error) { return nil, broken })
	require.NoError(t, err)
	_, err = lazy.Bytes()
	require.ErrorIs(t, err, broken)
	lazy, err = file.FromFunc("y", dtype.U8, layout.Shape{3}, func() ([]byte, error) { return make([]byte, 2), nil })
	require.NoError(t, err)
	_, err = lazy.Bytes()
	require.ErrorContains(t, err, "2 bytes were made, want 3")
	_, err = file.FromFunc("y", dtype.U8, layout.Shape{1 << 62}, nil)
	require.ErrorIs(t, err, file.ErrFormat)
}

func TestSet(t *testing.T) {
	make1 := func(name string, b byte) *file.Entry {
		e, err := file.FromMemory(name, dtype.U8, layout.Shape{1}, []byte{b})
		require.NoError(t, err)
		return e
	}
	a, b := file.NewSet(), file.NewSet()
	for i, n := range []string{"l.0.weight", "l.0.bias", "l.1.weight", "l.1.bias", "norm"} {
		require.NoError(t, a.Add(make1(n, byte(i))))
	}
	require.ErrorIs(t, a.Add(make1("norm", 9)), file.ErrFormat)
	require.NoError(t, b.Add(make1("head", 7)))
	require.NoError(t, b.Add(make1("l.0.bias", 8)))
	b.Metadata()["format"] = "pt"

	all := file.Join(a, b)
	require.Equal(t, 6, all.Len())
	require.Equal(t, []string{"l.0.weight", "l.0.bias", "l.1.weight", "l.1.bias", "norm", "head"}, all.Names())
	require.Equal(t, "pt", all.Metadata()["format"])
	e, err := all.Get("l.0.bias")
	require.NoError(t, err)
	got, err := file.Values[uint8](e)
	require.NoError(t, err)
	require.Equal(t, []byte{8}, got, "the last definition counts")
	require.True(t, all.Has("head"))
	require.False(t, all.Has("tail"))
	_, err = all.Get("l.2.bias")
	require.ErrorIs(t, err, file.ErrNotFound)
	require.ErrorContains(t, err, `"l.2.bias"; there are 6, among them ["l.0.bias" "l.1.bias"]`)
	_, err = b.Get("x")
	require.ErrorContains(t, err, `there are ["head" "l.0.bias"]`)
	require.NoError(t, all.Close())
	n := 0
	for range all.All() {
		n++
	}
	require.Equal(t, 6, n)
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	require.NoError(t, file.Create(path, text("first")))
	require.NoError(t, file.Create(path, text("second")))
	failed := errors.New("no more tensors")
	require.ErrorIs(t, file.Create(path, func(w io.Writer) error { _ = text("third")(w); return failed }), failed)
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "second", string(b))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is left of a failed write")
	require.Error(t, file.Create(filepath.Join(dir, "none", "out"), text("")))
}
