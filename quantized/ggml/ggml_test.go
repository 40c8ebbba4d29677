package ggml_test

import (
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/ggml"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/file/filetest"
)

const (
	oldest = 0x67676d6c // ggml
	ggmf   = 0x67676d66
	ggjt   = 0x67676a74
)

// image is a file, number by number. A string is its bytes, align comes up to 32.
func image(fields ...any) []byte {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = binary.LittleEndian.AppendUint32(b, uint32(f))
		case float64:
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(f)))
		case string:
			b = append(b, f...)
		case []byte:
			b = append(b, f...)
		case func([]byte) []byte:
			b = f(b)
		}
	}
	return b
}

func align(b []byte) []byte { return append(b, make([]byte, (32-len(b)%32)%32)...) }

// numbers is n bytes that differ.
func numbers(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*5 + 1)
	}
	return b
}

var params = image(2, 64, 256, 4, 1, 16, 2)

func read(b []byte) (*ggml.File, error) { return ggml.Read(file.FromBytes("x.bin", b)) }

// model is a file of version 3 of ggjt with two tensors.
func model() []byte {
	return image(ggjt, 3, params, 1, "a", 0.5, 2, "bc", -1.0,
		2, 4, 2, 64, 3, "tok.", align, numbers(6*18),
		1, 6, 0, 3, "norm.w", align, numbers(12))
}

func TestNewestVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.bin")
	require.NoError(t, os.WriteFile(path, model(), 0o600))
	f, err := ggml.Open(path)
	require.NoError(t, err)
	require.Equal(t, "ggjt", f.Magic)
	require.Equal(t, 3, f.Version)
	require.Equal(t, ggml.Params{Vocab: 2, Embed: 64, Mult: 256, Heads: 4, Layers: 1, Rot: 16,
		FType: 2}, f.Params)
	require.Equal(t, []ggml.Token{{"a", 0.5}, {"bc", -1}}, f.Vocab)
	require.Equal(t, []string{"tok.", "norm.w"}, f.Names())
	e, err := f.Get("tok.")
	require.NoError(t, err)
	require.Equal(t, layout.Shape{3, 64}, e.Shape())
	require.Zero(t, e.Offset%32)
	got, err := e.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(6*18), got)
	typ, err := gguf.TypeOf(e)
	require.NoError(t, err)
	require.Equal(t, "Q4_0", typ.String())
	e, err = f.Get("norm.w")
	require.NoError(t, err)
	require.Equal(t, "F32", e.Stored)
	got, err = e.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(12), got)
	require.NoError(t, f.Close())
	_, err = ggml.Open(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Types whose blocks were others are no types of GGUF files, but those behind them are found.
func TestOlderVersions(t *testing.T) {
	type of struct {
		stored string
		typ    int
		bytes  int // of 64 elements
	}
	first := []of{
		{"Q4_0 before ggjt v3", 2, 40}, {"Q4_1 before ggjt v3", 3, 48}, {"Q4_2 before ggjt v2", 4, 40},
		{"Q4_3 before ggjt v2", 5, 48},
		{"Q5_0 before ggjt v2", 6, 44}, {"Q5_1 before ggjt v2", 7, 48}, {"Q8_0 before ggjt v3", 8, 72},
		{"F16", 1, 128},
	}
	second := []of{{"Q4_0 before ggjt v3", 2, 40}, {"Q5_0", 6, 44}, {"Q5_1", 7, 48},
		{"Q8_0 before ggjt v3", 8, 72}}
	for _, c := range []struct {
		head   []byte
		align  func([]byte) []byte
		tokens []byte
		list   []of
	}{
		{image(oldest, params), func(b []byte) []byte { return b }, image(1, "a", 1, "b"), first},
		{image(ggmf, 1, params), func(b []byte) []byte { return b }, image(1, "a", 0.0, 1, "b", 0.0),
			first},
		{image(ggjt, 1, params), align, image(1, "a", 0.0, 1, "b", 0.0), first},
		{image(ggjt, 2, params), align, image(1, "a", 0.0, 1, "b", 0.0), second},
	} {
		b := image(c.head, c.tokens)
		for i, x := range c.list {
			b = image(b, 1, 1, x.typ, 64, string(rune('a'+i)), c.align, numbers(x.bytes))
		}
		f, err := read(b)
		require.NoError(t, err)
		require.Equal(t, len(c.list), f.Len())
		for i, x := range c.list {
			e, err := f.Get(string(rune('a' + i)))
			require.NoError(t, err)
			require.Equal(t, x.stored, e.Stored)
			got, err := e.Bytes()
			require.NoError(t, err)
			require.Equal(t, numbers(x.bytes), got)
			_, err = gguf.TypeOf(e)
			require.Equal(t, strings.Contains(x.stored, "before"), err != nil, x.stored)
		}
	}
}

func TestWrongFiles(t *testing.T) {
	head := image(ggjt, 3, params, 1, "a", 0.5, 2, "bc", -1.0)
	at := int64(len(head))
	for _, c := range []struct {
		b    []byte
		at   int64
		kind error
		want string
	}{
		{[]byte("GGUF...."), 0, file.ErrFormat, "none of ggml, ggmf and ggjt"},
		{image(ggjt, 4), 4, file.ErrUnsupported, "version 4 of ggjt, want 1 to 3"},
		{image(ggmf, 2), 4, file.ErrUnsupported, "version 2 of ggmf"},
		{image(ggjt, 0), 4, file.ErrUnsupported, "version 0 of ggjt"},
		{image(oldest, 1<<30, 1, 1, 1, 1, 1, 1), 32, file.ErrTruncated, "1073741824 tokens"},
		{image(ggjt, 3, params, 1<<30, numbers(12)), 40, file.ErrTruncated, "token: 1073741824 bytes"},
		{image(head, math.MaxInt32, "w"), at + 4, file.ErrTruncated, "length of a name"},
		{image(head, 0, 1, 0), at, file.ErrFormat, "0 dimensions"},
		{image(head, 5, 1, 0), at, file.ErrFormat, "5 dimensions"},
		{image(head, 1, 1, 4, 32, "w", align), at, file.ErrUnsupported, `tensor "w": unknown`},
		{image(head, 1, 1, 2, 33, "w", align), at, file.ErrFormat, "rows of 33"},
		{image(head, 1, 1, 0, 1<<20, "w", align, 1), at, file.ErrTruncated, `tensor "w"`},
		{image(head, 4, 1, 0, -1, -1, -1, -1, "w", align, 1), at, file.ErrFormat, "too large"},
		{image(head, 1, 1<<30, 0, 1, "w"), at + 16, file.ErrTruncated, "name of a tensor"},
		{image(head, 1, 1, 24, 1, "w", align, []byte{1}, 1, 1, 24, 1, "w", align, []byte{1}),
			0, file.ErrFormat, "two tensors"},
	} {
		_, err := read(c.b)
		var f *file.Error
		require.ErrorAs(t, err, &f, c.want)
		require.ErrorIs(t, err, c.kind, c.want)
		require.ErrorContains(t, err, c.want)
		if c.want != "two tensors" {
			require.Equal(t, c.at, f.Offset, "%v", err)
		}
	}
	f, err := read(image(oldest, params, 0, 0)) // two tokens of four bytes
	require.NoError(t, err)
	require.Len(t, f.Vocab, 2)
	_, err = read(image(ggmf, 1, params, 0, 0, 0))
	require.ErrorContains(t, err, "2 tokens, and 12 bytes remaining")
	b := model()
	f, err = read(b)
	require.NoError(t, err)
	e, err := f.Get("tok.")
	require.NoError(t, err)
	between := int(e.Offset + e.Size()) // where a file can end as well
	for n := range b {
		_, err := read(b[:n])
		if n == between || n == int(at) {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, file.ErrTruncated, "%d bytes of %d", n, len(b))
	}
}

// FuzzRead reads anything, and all tensors that it finds.
func FuzzRead(f *testing.F) {
	f.Add(model())
	f.Add(image(oldest, params, 1, "a", 1, "b", 2, 1, 6, 64, 1, "q", numbers(44), 1, 1, 0, 1, "w",
		1.0))
	f.Add(image(ggmf, 1, params, 1, "a", 0.0, 1, "b", 0.0, math.MaxInt32, "w"))
	f.Add(image(ggmf, 1, params, 1, "a", 0.0, 1, "b", 0.0, 1, 1, 4, 32, "w", numbers(20)))
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := read(b)
		if filetest.Refused(t, err, len(b)) {
			return
		}
		for e := range set.All() {
			if n, err := e.WriteTo(io.Discard); err != nil || n != e.Size() {
				t.Fatal(n, err)
			}
		}
	})
}
