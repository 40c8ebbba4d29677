package npy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
)

// image is an array with a header of a version, and elements.
func image(version byte, text string, body ...byte) []byte {
	b := []byte{0x93, 'N', 'U', 'M', 'P', 'Y', version, 0}
	if version == 1 {
		b = binary.LittleEndian.AppendUint16(b, uint16(len(text)))
	} else {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(text)))
	}
	return append(append(b, text...), body...)
}

func header(descr, fortran, shape string) string {
	return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }   \n"
}

func read(b []byte) (*file.Entry, error) {
	set, err := npy.Read(file.FromBytes("x.npy", b))
	if err != nil {
		return nil, err
	}
	return set.Get("x")
}

// ints returns the elements as whole numbers.
func ints(t *testing.T, e *file.Entry) []int64 {
	t.Helper()
	b, err := e.Bytes()
	require.NoError(t, err)
	out := []int64{}
	for n := e.DType.Size(); len(b) > 0; b = b[n:] {
		var word [8]byte
		copy(word[:], b[:n])
		out = append(out, dtype.FromBits(e.DType, binary.LittleEndian.Uint64(word[:])).Int())
	}
	return out
}

// swapped returns bytes with those of each element in the other order.
func swapped(size int, b []byte) []byte {
	out := bytes.Clone(b)
	for i := range out {
		out[i] = b[i/size*size+size-1-i%size]
	}
	return out
}

func TestTypes(t *testing.T) {
	for _, c := range []struct {
		descr string
		d     dtype.DType
		body  []byte
		want  []int64
	}{
		{"f2", dtype.F16, []byte{0, 0x3c, 0, 0xc0}, []int64{1, -2}},
		{"f4", dtype.F32, []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, []int64{1, -2}},
		{"f8", dtype.F64, []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, []int64{1, -2}},
		{"i1", dtype.I8, []byte{1, 0xfe}, []int64{1, -2}},
		{"i2", dtype.I16, []byte{1, 0, 0xfe, 0xff}, []int64{1, -2}},
		{"i4", dtype.I32, []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, []int64{1, -2}},
		{"i8", dtype.I64, []byte{1, 0, 0, 0, 0, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []int64{1, -2}},
		{"u1", dtype.U8, []byte{1, 0xfe}, []int64{1, 254}},
		{"u2", dtype.U32, []byte{1, 0, 0xfe, 0xff}, []int64{1, 65534}},
		{"u4", dtype.U32, []byte{1, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff}, []int64{1, 1<<32 - 2}},
		{"u8", dtype.I64, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0x40}, []int64{1, 1<<62 + 258}},
		{"b1", dtype.U8, []byte{1, 0}, []int64{1, 0}},
		{"?", dtype.U8, []byte{1, 0}, []int64{1, 0}},
	} {
		for _, order := range []string{"<", ">", "|", "=", ""} {
			for _, version := range []byte{1, 2, 3} {
				body := c.body
				if order == ">" {
					body = swapped(len(body)/2, body)
				}
				b := image(version, header(order+c.descr, "False", "(2,)"), body...)
				e, err := read(b)
				require.NoError(t, err, "%s%s", order, c.descr)
				require.Equal(t, c.d, e.DType)
				require.Equal(t, order+c.descr, e.Stored)
				require.Equal(t, layout.Shape{2}, e.Shape())
				require.EqualValues(t, len(b)-len(body), e.Offset)
				require.Equal(t, c.want, ints(t, e), "%s%s", order, c.descr)
				e, err = npy.Decode(bytes.NewReader(b))
				require.NoError(t, err)
				require.Equal(t, c.want, ints(t, e), "%s%s", order, c.descr)
			}
		}
	}
}

func TestOrders(t *testing.T) {
	body := []byte{0, 1, 2, 3, 4, 5}
	for _, c := range []struct {
		fortran, shape string
		want           layout.Shape
		strides        []int
		elements       []int64
	}{
		{"False", "(2, 3)", layout.Shape{2, 3}, []int{3, 1}, []int64{0, 1, 2, 3, 4, 5}},
		{"True", "(2, 3)", layout.Shape{2, 3}, []int{1, 2}, []int64{0, 2, 4, 1, 3, 5}},
		{"True", "(1,2,3)", layout.Shape{1, 2, 3}, []int{1, 1, 2}, []int64{0, 2, 4, 1, 3, 5}},
		{"True", "(6L,)", layout.Shape{6}, []int{1}, []int64{0, 1, 2, 3, 4, 5}},
	} {
		e, err := read(image(1, header("|u1", c.fortran, c.shape), body...))
		require.NoError(t, err)
		require.Equal(t, c.want, e.Shape())
		require.Equal(t, c.strides, e.Layout.Strides())
		require.Equal(t, c.elements, ints(t, e))
		v, err := e.View()
		require.NoError(t, err)
		require.Equal(t, body, v.Bytes(), "no element moves")
	}
	e, err := read(image(1, header(">i2", "True", "()"), 1, 2))
	require.NoError(t, err)
	require.Equal(t, []int64{258}, ints(t, e))
	e, err = read(image(1, header("<f8", "True", "(3, 0)")))
	require.NoError(t, err)
	require.Empty(t, ints(t, e))
}

func TestTypesThatNothingHolds(t *testing.T) {
	for _, descr := range []string{"'<c8'", "'<f16'", "'|S5'", "'<U1'", "'|O'", "'|V2'", "'<M8[ns]'", "''", "'x'", "[('a', '<i4'), ('b', '<f8', (2, 3))]", "('<i4', (2,))"} {
		b := image(2, "{'descr': "+descr+", 'fortran_order': False, 'shape': (2,), }", 1, 2, 3, 4)
		e, err := read(b)
		require.NoError(t, err, descr)
		require.Equal(t, strings.Trim(descr, "'"), e.Stored)
		_, err = e.Bytes()
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, `tensor "x": no element type can hold `+strings.Trim(descr, "'")+"; there are u8, u32,")
		_, err = npy.Decode(bytes.NewReader(b))
		require.ErrorIs(t, err, file.ErrUnsupported)
	}
}

func TestWrongFiles(t *testing.T) {
	good := header("|u1", "False", "(2,)")
	edit := func(old, to string) []byte {
		require.Contains(t, good, old)
		return image(1, strings.Replace(good, old, to, 1), 1, 2)
	}
	for _, c := range []struct {
		name string
		file []byte
		kind error
		at   int
		text string
	}{
		{"text", []byte("hello, world"), file.ErrFormat, 0, "no NumPy array"},
		{"zip", []byte("PK\x03\x04aaaaaaaaaaaa"), file.ErrFormat, 0, "OpenNPZ"},
		{"nothing", nil, file.ErrTruncated, 0, "ends in front of the header"},
		{"version", image(4, good, 1, 2), file.ErrUnsupported, 6, "version 4"},
		{"version 0", image(0, good, 1, 2), file.ErrUnsupported, 6, "version 0"},
		{"huge header", append(image(2, "")[:8], 0xff, 0xff, 0xff, 0xff), file.ErrFormat, 8, "a header of 4294967295 bytes"},
		{"header cut", image(1, good)[:40], file.ErrTruncated, 40, "within its header"},
		{"elements cut", image(1, good, 1), file.ErrTruncated, 10 + len(good), "needs 2 bytes, and there are 1"},
		{"bytes left", image(1, good, 1, 2, 3, 4), file.ErrFormat, 12 + len(good), "2 bytes behind the array"},
		{"terabytes", edit("(2,)", "(1099511627776,)"), file.ErrTruncated, 10 + len(good) + 12, "there are 2"},
		{"wraps", edit("(2,)", "(4294967296, 4294967296)"), file.ErrFormat, 10 + len(good) + 20, "too large"},
		{"no dictionary", edit("{", "("), file.ErrFormat, 10, "want {"},
		{"not closed", edit("}", " "), file.ErrFormat, 10 + len(good), "want a string"},
		{"no comma", edit("False,", "False"), file.ErrFormat, 10 + strings.Index(good, "'shape") - 1, "want , or }"},
		{"no colon", edit("descr':", "descr' "), file.ErrFormat, 10 + strings.Index(good, "'|u1"), "want :"},
		{"unknown key", edit("descr", "descx"), file.ErrFormat, 11, `"descx" is no part of a header`},
		{"twice", edit("fortran_order': False", "descr': '|u1'"), file.ErrFormat, 10 + strings.Index(good, "'fortran"), "twice"},
		{"no shape", edit("'shape': (2,), ", ""), file.ErrFormat, 10, "no shape"},
		{"no order", edit("'fortran_order': False, ", ""), file.ErrFormat, 10, "no fortran_order"},
		{"order", edit("False", "0"), file.ErrFormat, 10 + strings.Index(good, "False"), "True or False"},
		{"negative", edit("(2,)", "(-2,)"), file.ErrFormat, 10 + strings.Index(good, "2,)"), "whole number"},
		{"list", edit("(2,)", "[2]"), file.ErrFormat, 10 + strings.Index(good, "(2"), "want ("},
		{"no tuple", edit("(2,)", "(2"), file.ErrFormat, 10 + strings.Index(good, "2,)") + 3, "whole number"},
		{"rank", edit("(2,)", "("+strings.Repeat("1, ", 65)+")"), file.ErrUnsupported, 10 + strings.Index(good, "2,)") + 3*64, "more than 64"},
		{"escape", edit("|u1", `\x7c`), file.ErrFormat, 10 + strings.Index(good, "'|u1"), "want a string"},
		{"more", edit("}  ", "} x"), file.ErrFormat, 10 + strings.Index(good, "}") + 2, "more behind"},
		{"deep", edit("'|u1'", strings.Repeat("[", 40)), file.ErrFormat, 10 + strings.Index(good, "'|u1") + 33, "too deep"},
		{"odd type", edit("'|u1'", "[{}]"), file.ErrFormat, 10 + strings.Index(good, "'|u1") + 1, "unexpected '{'"},
		{"brackets", edit("'|u1'", "[(]"), file.ErrFormat, 10 + strings.Index(good, "'|u1") + 2, "unexpected ']'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.file)
			require.ErrorIs(t, err, c.kind)
			require.ErrorContains(t, err, c.text)
			var f *file.Error
			require.ErrorAs(t, err, &f)
			require.Equal(t, "x.npy", f.Path)
			require.EqualValues(t, c.at, f.Offset, "%v", err)
			e, err := npy.Decode(bytes.NewReader(c.file))
			switch {
			case c.name == "nothing":
				require.Equal(t, io.EOF, err)
			case c.name == "bytes left":
				require.NoError(t, err, "the next array may follow")
				require.Equal(t, []int64{1, 2}, ints(t, e))
			case c.kind == file.ErrTruncated:
				require.ErrorIs(t, err, c.kind)
			default:
				require.Error(t, err)
			}
		})
	}
	b := image(1, good, 1, 2)
	for n := range b {
		_, err := read(b[:n])
		require.ErrorIs(t, err, file.ErrTruncated, "%d bytes of %d", n, len(b))
		if n > 0 {
			_, err = npy.Decode(bytes.NewReader(b[:n]))
			require.ErrorIs(t, err, file.ErrTruncated, "%d bytes of %d", n, len(b))
		}
	}
}

func memory(t *testing.T, name string, d dtype.DType, s layout.Shape, b ...byte) *file.Entry {
	t.Helper()
	e, err := file.FromMemory(name, d, s, b)
	require.NoError(t, err)
	return e
}

// The texts are those that NumPy 2.4 writes.
func TestBytesOfNumPy(t *testing.T) {
	for _, c := range []struct {
		e    *file.Entry
		text string
	}{
		{memory(t, "", dtype.F32, layout.Shape{2, 3}, make([]byte, 24)...), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n"},
		{memory(t, "", dtype.U8, layout.Shape{}, 5), "{'descr': '|u1', 'fortran_order': False, 'shape': (), }                                                              \n"},
		{memory(t, "", dtype.F64, layout.Shape{0}), "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }                                                            \n"},
		{memory(t, "", dtype.I64, layout.Shape{1, 1, 2}, make([]byte, 16)...), "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 1, 2), }                                                       \n"},
	} {
		body, err := c.e.Bytes()
		require.NoError(t, err)
		var got bytes.Buffer
		require.NoError(t, npy.Write(&got, c.e))
		require.Equal(t, image(1, c.text, body...), got.Bytes())
	}
}

func TestThereAndBack(t *testing.T) {
	for d := dtype.Invalid + 1; d.Valid(); d++ {
		body := make([]byte, d.Bytes(24))
		for i := range body {
			body[i] = byte(i)
		}
		want := memory(t, "w", d, layout.Shape{2, 3, 4}, body...)
		var b bytes.Buffer
		err := npy.Write(&b, want)
		switch d {
		case dtype.BF16, dtype.F8E4M3, dtype.F8E5M2, dtype.F4, dtype.F6E2M3, dtype.F6E3M2, dtype.F8E8M0:
			require.ErrorIs(t, err, file.ErrUnsupported)
			require.ErrorContains(t, err, "convert it to f32, or write safetensors")
			require.ErrorIs(t, npy.WriteNPZ(&b, want), file.ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		got, err := read(b.Bytes())
		require.NoError(t, err)
		require.Equal(t, d, got.DType)
		require.Equal(t, want.Shape(), got.Shape())
		require.Equal(t, ints(t, want), ints(t, got))
		require.Zero(t, got.Offset%64)
	}
}

func TestStreams(t *testing.T) {
	var b bytes.Buffer
	one := memory(t, "", dtype.I16, layout.Shape{2}, 1, 0, 2, 0)
	for range 3 {
		require.NoError(t, npy.Write(&b, one))
	}
	r := io.MultiReader(&b) // no Seek, no ReadAt
	for range 3 {
		e, err := npy.Decode(r)
		require.NoError(t, err)
		require.Equal(t, []int64{1, 2}, ints(t, e))
	}
	_, err := npy.Decode(r)
	require.Equal(t, io.EOF, err)
	broken := errors.New("line is down")
	_, err = npy.Decode(io.MultiReader(bytes.NewReader(image(2, "")[:10]), &failing{broken}))
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bias.npy")
	require.NoError(t, npy.WriteFile(path, memory(t, "w", dtype.U8, layout.Shape{3}, 1, 2, 3)))
	set, err := npy.Open(path)
	require.NoError(t, err)
	e, err := set.Get("bias")
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2, 3}, ints(t, e))
	require.NoError(t, set.Close())
	_, err = e.Bytes()
	require.ErrorIs(t, err, os.ErrClosed)
	_, err = npy.OpenNPZ(path)
	require.ErrorIs(t, err, file.ErrFormat)
	_, err = npy.Open(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}
