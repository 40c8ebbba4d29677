package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/safetensors"
)

// image is a file with a header and so many bytes 0, 1, 2 and so on behind it.
func image(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	for i := range data {
		b = append(b, byte(i))
	}
	return b
}

func read(b []byte) (*file.Set, error) {
	return safetensors.Read(file.FromBytes("x.safetensors", b))
}

func f32s(x ...float32) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func memory(t *testing.T, name string, d dtype.DType, s layout.Shape, b []byte) *file.Entry {
	t.Helper()
	e, err := file.FromMemory(name, d, s, b)
	require.NoError(t, err)
	return e
}

// What the reference implementation writes, by its own tests.
func TestBytesOfTheReference(t *testing.T) {
	six := f32s(0, 1, 2, 3, 4, 5)
	for _, c := range []struct {
		name   string
		meta   map[string]string
		tensor []*file.Entry
		header string
	}{
		{"one", nil, []*file.Entry{memory(t, "attn.0", dtype.F32, layout.Shape{1, 2, 3}, six)}, `{"attn.0":{"dtype":"F32","shape":[1,2,3],"data_offsets":[0,24]}}`},
		{"padded", nil, []*file.Entry{memory(t, "attn0", dtype.F32, layout.Shape{1, 1, 2, 3}, six)}, `{"attn0":{"dtype":"F32","shape":[1,1,2,3],"data_offsets":[0,24]}}       `},
		{"nibbles", nil, []*file.Entry{memory(t, "attn.0", dtype.F4, layout.Shape{1, 2}, []byte{0})}, `{"attn.0":{"dtype":"F4","shape":[1,2],"data_offsets":[0,1]}}    `},
		{"empty", nil, nil, `{}      `},
		{"metadata", map[string]string{"framework": "pt"}, nil, `{"__metadata__":{"framework":"pt"}}     `},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := image(c.header, 0)
			for _, e := range c.tensor {
				b, err := e.Bytes()
				require.NoError(t, err)
				want = append(want, b...)
			}
			var got bytes.Buffer
			require.NoError(t, safetensors.Write(&got, c.meta, c.tensor...))
			require.Equal(t, want, got.Bytes())
			set, err := read(want)
			require.NoError(t, err)
			require.Equal(t, len(c.tensor), set.Len())
			require.Equal(t, len(c.meta), len(set.Metadata()))
		})
	}
}

func TestOrderDoesNotDependOnTheCaller(t *testing.T) {
	var all []*file.Entry
	for _, d := range []dtype.DType{dtype.U8, dtype.F4, dtype.I64, dtype.BF16, dtype.F32, dtype.F16, dtype.F64, dtype.F8E8M0} {
		for _, n := range []string{"b", "a"} {
			all = append(all, memory(t, n+d.String(), d, layout.Shape{2}, make([]byte, d.Bytes(2))))
		}
	}
	var one, two bytes.Buffer
	require.NoError(t, safetensors.Write(&one, map[string]string{"x": "1", "y": "2", "w": "3"}, all...))
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	require.NoError(t, safetensors.Write(&two, map[string]string{"w": "3", "y": "2", "x": "1"}, all...))
	require.Equal(t, one.Bytes(), two.Bytes())
	set, err := read(one.Bytes())
	require.NoError(t, err)
	require.Equal(t, []string{"ai64", "bi64", "af64", "bf64", "af32", "bf32", "abf16", "bbf16", "af16", "bf16", "af8e8m0", "bf8e8m0", "au8", "bu8", "af4", "bf4"}, set.Names())
	for e := range set.All() {
		if n := int64(e.DType.Size()); n > 0 {
			require.Zero(t, e.Offset%n, "%s is aligned", e.Name)
		}
	}
}

func TestEveryTypeThereAndBack(t *testing.T) {
	for d := dtype.Invalid + 1; d.Valid(); d++ {
		want := make([]byte, d.Bytes(8))
		for i := range want {
			want[i] = byte(37 * (i + 1))
		}
		var b bytes.Buffer
		require.NoError(t, safetensors.Write(&b, nil, memory(t, "w", d, layout.Shape{2, 4}, want)))
		set, err := read(b.Bytes())
		require.NoError(t, err)
		e, err := set.Get("w")
		require.NoError(t, err)
		require.Equal(t, d, e.DType)
		require.Equal(t, layout.Shape{2, 4}, e.Shape())
		got, err := e.Bytes()
		require.NoError(t, err)
		require.Equal(t, want, got, "%s", d)
	}
}

func TestTypesReadAsOthers(t *testing.T) {
	for _, c := range []struct {
		stored string
		size   int
		want   dtype.DType
		last   int64
	}{
		{"BOOL", 1, dtype.U8, 1}, {"U16", 2, dtype.U32, 0x0706}, {"U64", 8, dtype.I64, 0x1f1e1d1c1b1a1918},
	} {
		h := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[4],"data_offsets":[0,%d]}}`, c.stored, 4*c.size)
		set, err := read(image(h, 4*c.size))
		require.NoError(t, err)
		e, err := set.Get("w")
		require.NoError(t, err)
		require.Equal(t, c.want, e.DType)
		require.Equal(t, c.stored, e.Stored)
		b, err := e.Bytes()
		require.NoError(t, err)
		require.Len(t, b, 4*c.want.Size())
		var word [8]byte
		copy(word[:], b[3*c.want.Size():])
		require.Equal(t, c.last, dtype.FromBits(c.want, binary.LittleEndian.Uint64(word[:])).Int(), c.stored)
	}
	for _, stored := range []string{"C64", "F8_E4M3FNUZ", "F8_NEW"} {
		h := fmt.Sprintf(`{"w":{"dtype":%q,"shape":[8],"data_offsets":[0,8]},"v":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}}`, stored)
		if stored == "C64" {
			h = strings.Replace(h, "[8]", "[1]", 1)
		}
		set, err := read(image(h, 9))
		require.NoError(t, err, "the others can be read")
		e, err := set.Get("w")
		require.NoError(t, err)
		require.Equal(t, stored, e.Stored)
		_, err = e.Bytes()
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, `tensor "w": no element type can hold `+stored+"; there are u8, u32,")
		require.ErrorIs(t, safetensors.Write(&bytes.Buffer{}, nil, e), file.ErrUnsupported)
	}
}

const two = `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"I16","shape":[1,2],"data_offsets":[2,6]}}`

func TestHeadersThatAreRight(t *testing.T) {
	for _, h := range []string{
		two,
		two + "    \n",
		strings.ReplaceAll(two, ",", " ,\t"),
		strings.Replace(two, `"shape":[2]`, `"new":{"x":[1,{"y":null}],"z":true},"shape":[2]`, 1),
		strings.Replace(two, "{", `{"__metadata__":{"format":"pt"},`, 1),
		`{"b":{"data_offsets":[2,6],"shape":[1,2],"dtype":"I16"},"\u0061":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`,
		strings.Replace(two, "{", `{"none":{"dtype":"F64","shape":[0,9],"data_offsets":[2,2]},"here":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},`, 1),
	} {
		set, err := read(image(h, 6))
		require.NoError(t, err, h)
		e, err := set.Get("a")
		require.NoError(t, err)
		got, err := file.Values[uint8](e)
		require.NoError(t, err)
		require.Equal(t, []uint8{0, 1}, got)
		e, err = set.Get("b")
		require.NoError(t, err)
		require.EqualValues(t, 8+len(h)+2, e.Offset)
		v, err := file.Values[int16](e)
		require.NoError(t, err)
		require.Equal(t, []int16{0x0302, 0x0504}, v)
	}
}

func TestHeadersThatAreWrong(t *testing.T) {
	// at is text of the header where the fault is, or a number of bytes behind it.
	for _, c := range []struct {
		name, header string
		data         int
		kind         error
		at           any
		text         string
	}{
		{"no object", `[]`, 0, file.ErrFormat, "[", "must begin with {"},
		{"space first", ` {}`, 0, file.ErrFormat, " ", "must begin with {"},
		{"nothing", ``, 0, file.ErrFormat, 0, "must begin with {"},
		{"not closed", `{"a":{"dtype":"U8"`, 0, file.ErrFormat, 0, "ends too early"},
		{"syntax", `{"a":{"dtype" "U8"}}`, 0, file.ErrFormat, `"U8"`, "invalid character"},
		{"more", `{}{}`, 0, file.ErrFormat, "{}", "there is more behind the end"},
		{"zeros", "{}\x00", 0, file.ErrFormat, "\x00", "there is more behind the end"},
		{"not UTF-8", "{\"a\xff\":{}}", 0, file.ErrFormat, "\xff", "not UTF-8"},
		{"no fields", `{"a":{}}`, 0, file.ErrFormat, `"a"`, `tensor "a" must have dtype`},
		{"no shape", `{"a":{"dtype":"U8","data_offsets":[0,0]}}`, 0, file.ErrFormat, `"a"`, "must have dtype, shape"},
		{"dtype", `{"a":{"dtype":8,"shape":[],"data_offsets":[0,1]}}`, 1, file.ErrFormat, "8,", "dtype must be a string"},
		{"shape", `{"a":{"dtype":"U8","shape":1,"data_offsets":[0,1]}}`, 1, file.ErrFormat, "1,", "shape must begin with ["},
		{"negative", `{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}`, 1, file.ErrFormat, "-1", "whole numbers"},
		{"fraction", `{"a":{"dtype":"U8","shape":[1.0],"data_offsets":[0,1]}}`, 1, file.ErrFormat, "1.0", "whole numbers"},
		{"huge number", `{"a":{"dtype":"U8","shape":[9223372036854775808],"data_offsets":[0,1]}}`, 1, file.ErrFormat, "9223", "whole numbers"},
		{"text in shape", `{"a":{"dtype":"U8","shape":["1"],"data_offsets":[0,1]}}`, 1, file.ErrFormat, `"1"`, "must be numbers"},
		{"rank", `{"a":{"dtype":"U8","shape":[` + strings.Repeat("1,", 64) + `7],"data_offsets":[0,1]}}`, 1, file.ErrFormat, "7]", "more than 64"},
		{"one offset", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1]}}`, 1, file.ErrFormat, "[1]}", "must be two numbers"},
		{"three offsets", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1,9]}}`, 1, file.ErrFormat, "9]", "more than 2"},
		{"backwards", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1, file.ErrFormat, `"a"`, "in front of the begin"},
		{"too long", `{"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}`, 2, file.ErrTruncated, `"a"`, "the file has 2 bytes"},
		{"terabytes", `{"a":{"dtype":"U8","shape":[1099511627776],"data_offsets":[0,1099511627776]}}`, 2, file.ErrTruncated, `"a"`, "the file has 2 bytes"},
		{"too many elements", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 4, file.ErrFormat, `"a"`, "F32 of shape [2] needs 8"},
		{"too few elements", `{"a":{"dtype":"F32","shape":[],"data_offsets":[0,8]}}`, 8, file.ErrFormat, `"a"`, "needs 4"},
		{"shape wraps", `{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`, 0, file.ErrFormat, `"a"`, "too large"},
		{"size wraps", `{"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}`, 0, file.ErrFormat, `"a"`, "too large"},
		{"part of a byte", `{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2, file.ErrFormat, `"a"`, "whole bytes"},
		{"overlap", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3, file.ErrFormat, `"b"`, "overlap"},
		{"same place", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`, 2, file.ErrFormat, `"b"`, "overlap"},
		{"hole", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3, file.ErrFormat, `"b"`, "hole"},
		{"hole in front", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}`, 2, file.ErrFormat, `"a"`, "hole"},
		{"bytes left", two, 10, file.ErrFormat, 6, "4 bytes are left"},
		{"no tensors", `{}`, 1, file.ErrFormat, 0, "1 bytes are left"},
		{"twice", `{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"\u0061":{"dtype":"U8","shape":[],"data_offsets":[1,2]}}`, 2, file.ErrFormat, `"\u`, `"a" twice`},
		{"dtype twice", `{"a":{"dtype":"U8","dtype":"I8","shape":[],"data_offsets":[0,1]}}`, 1, file.ErrFormat, `"dtype":"I8"`, `"dtype" twice`},
		{"metadata twice", `{"__metadata__":{},"__metadata__":{"x":"y"}}`, 0, file.ErrFormat, `"__metadata__":{"x`, "twice"},
		{"metadata of numbers", `{"__metadata__":{"x":1}}`, 0, file.ErrFormat, "1", `the value of "x" must be a string`},
		{"deep", `{"a":{"x":` + strings.Repeat("[", 5000), 0, file.ErrFormat, strings.Repeat("[", 4900), "within each other more than 100 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(image(c.header, c.data))
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, "x.safetensors", f.Path)
			want := 0
			switch at := c.at.(type) {
			case string:
				want = strings.LastIndex(c.header, at)
			case int:
				want = len(c.header) + at
			}
			require.EqualValues(t, 8+want, f.Offset, "%v", err)
		})
	}
}

func TestSizesOfHeaders(t *testing.T) {
	for n := range 8 {
		_, err := read(make([]byte, n))
		require.ErrorIs(t, err, file.ErrTruncated)
	}
	b := image(two, 6)
	for n := 8; n < len(b); n++ {
		_, err := read(b[:n])
		require.ErrorIs(t, err, file.ErrTruncated, "%d bytes of %d", n, len(b))
	}
	for _, n := range []uint64{safetensors.MaxHeader + 1, 1 << 40, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		_, err := read(binary.LittleEndian.AppendUint64(nil, n))
		require.ErrorIs(t, err, file.ErrFormat)
		require.ErrorContains(t, err, fmt.Sprintf("at byte 0: a header of %d bytes", n))
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	one := func(name string) *file.Entry { return memory(t, name, dtype.U8, layout.Shape{1}, []byte{1}) }
	for _, c := range []struct {
		text string
		meta map[string]string
		of   []*file.Entry
	}{
		{"two tensors", nil, []*file.Entry{one("a"), one("a")}},
		{"for its metadata", nil, []*file.Entry{one("__metadata__")}},
		{"UTF-8", nil, []*file.Entry{one("a\xff")}},
		{"UTF-8", map[string]string{"\xff": ""}, nil},
		{"whole bytes", nil, []*file.Entry{memory(t, "a", dtype.F4, layout.Shape{3}, make([]byte, 2))}},
	} {
		err := safetensors.Write(&bytes.Buffer{}, c.meta, c.of...)
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, c.text)
	}
	dir := t.TempDir()
	lost := errors.New("device lost")
	broken, err := file.FromFunc("w", dtype.U8, layout.Shape{1}, func() ([]byte, error) { return nil, lost })
	require.NoError(t, err)
	require.ErrorIs(t, safetensors.WriteFile(filepath.Join(dir, "x"), nil, broken), lost)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestNamesAndMetadataAreKept(t *testing.T) {
	names := []string{"", "a.b.c", "\"quoted\\\"", "\x00\x1f\b\f\n\r\t", "gewöhnlich", "𝔘\u2028<&>", "__metadata"}
	var all []*file.Entry
	meta := map[string]string{}
	for i, n := range names {
		all = append(all, memory(t, n, dtype.U8, layout.Shape{}, []byte{byte(i)}))
		meta[n] = n
	}
	var b bytes.Buffer
	require.NoError(t, safetensors.Write(&b, meta, all...))
	require.Contains(t, b.String(), `"\u0000\u001f\b\f\n\r\t"`)
	require.Contains(t, b.String(), "\"𝔘\u2028<&>\"")
	set, err := read(b.Bytes())
	require.NoError(t, err)
	require.ElementsMatch(t, names, set.Names())
	require.Equal(t, meta, set.Metadata())
}

func TestPartsAreViewsIntoTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	want := make([]byte, 4000*2)
	for i := range want {
		want[i] = byte(i % 251)
	}
	require.NoError(t, safetensors.WriteFile(path, nil, memory(t, "w", dtype.BF16, layout.Shape{40, 100}, want)))
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	e, err := set.Get("w")
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(5, func() {
		if e.Size() != 8000 {
			t.Fatal(e.Size())
		}
	}))
	rows, err := e.Narrow(0, 10, 3)
	require.NoError(t, err)
	v, err := rows.View()
	require.NoError(t, err)
	require.NoError(t, set.Close())
	require.Equal(t, want[2000:2600], v.Bytes())
	v.Release()
	_, err = e.View()
	require.ErrorIs(t, err, os.ErrClosed)
	got, err := file.Values[dsl.BF16](e)
	require.ErrorIs(t, err, os.ErrClosed)
	require.Nil(t, got)
}
