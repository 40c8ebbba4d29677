package gguf_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// golden is the files that a reference implementation wrote or refuses, and what is in them.
var golden = sync.OnceValues(func() (map[string][]byte, error) {
	f, err := os.Open("testdata/gguf_files.tar.gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return nil, err
		}
		files[path.Base(h.Name)] = b
	}
})

// goldenFile is an object of index.json.
type goldenFile struct {
	File, What, Expect string
	Content            *struct {
		Version    int
		BigEndian  bool `json:"big_endian"`
		Alignment  int64
		DataOffset int64 `json:"data_offset"`
		Metadata   []struct {
			Key, Type string
			Value     any
		}
		Tensors []struct {
			Name, Type, SHA256 string
			Dims               []string
			TypeID             uint32 `json:"type_id"`
			Offset, Bytes      int64
		}
	}
}

func goldenIndex(t *testing.T) (list []goldenFile, files map[string][]byte) {
	t.Helper()
	files, err := golden()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(files["index.json"], &list))
	require.Len(t, list, 67)
	return list, files
}

// either has the files that the format text and the reference disagree about, and whether this
// package reads them.
var either = map[string]bool{
	"nested_arrays.gguf": true, "v1.gguf": true, "big_endian_v3.gguf": true, "name_64.gguf": true,
	"name_empty.gguf": true, "offset_gap.gguf": true, "key_utf8.gguf": true, "bool_2.gguf": false,
}

func TestGoldenFiles(t *testing.T) {
	list, files := goldenIndex(t)
	for _, g := range list {
		t.Run(g.File, func(t *testing.T) {
			b := files[g.File]
			accept, choice := either[g.File]
			require.Equal(t, g.Expect == "either", choice, g.What)
			if !choice {
				accept = g.Expect == "accept"
			}
			for name, src := range map[string]*file.Source{
				"bytes":  file.FromBytes(g.File, b),
				"reader": file.FromReader(g.File, bytes.NewReader(b), int64(len(b))),
			} {
				f, err := gguf.Read(src)
				if !accept {
					var fault *file.Error
					require.ErrorAs(t, err, &fault, "%s: %s", name, g.What)
					require.Contains(t, fault.Error(), " at byte ")
					require.LessOrEqual(t, fault.Offset, int64(len(b)))
					t.Log(err)
					continue
				}
				require.NoError(t, err, "%s: %s", name, g.What)
				if g.Content != nil {
					compare(t, &g, f)
				}
				rewrite(t, f)
			}
		})
	}
}

// compare compares all that a file has with what is said of it.
func compare(t *testing.T, g *goldenFile, f *gguf.File) {
	t.Helper()
	want := g.Content
	require.Equal(t, want.Version, f.Version)
	require.Equal(t, want.BigEndian, f.BigEndian)
	require.Equal(t, want.Alignment, f.Alignment)
	require.Equal(t, want.DataOffset, f.DataOffset)
	require.Equal(t, len(want.Metadata), f.Meta.Len())
	i := 0
	for key, v := range f.Meta.All() {
		m := want.Metadata[i]
		require.Equal(t, m.Key, key)
		require.Equal(t, m.Type, v.Type().String(), key)
		require.Equal(t, m.Value, described(t, v), key)
		i++
	}
	require.Equal(t, len(want.Tensors), f.Len())
	i = 0
	for e := range f.All() {
		w := want.Tensors[i]
		require.Equal(t, w.Name, e.Name)
		var dims []string
		for _, n := range e.Shape() {
			dims = append([]string{strconv.Itoa(n)}, dims...)
		}
		require.Equal(t, slices.Clone(w.Dims), append([]string{}, dims...), e.Name)
		require.Equal(t, w.Type, e.Stored, e.Name)
		v, err := e.Raw()
		require.NoError(t, err)
		require.EqualValues(t, w.Bytes, len(v.Bytes()), e.Name)
		require.Equal(t, w.Bytes, e.Size(), e.Name)
		if w.Bytes > 0 {
			require.Equal(t, w.Offset, e.Offset-f.DataOffset, e.Name)
		}
		sum := sha256.Sum256(v.Bytes())
		require.Equal(t, w.SHA256, hex.EncodeToString(sum[:]), e.Name)
		v.Release()
		if !f.BigEndian {
			typ, err := gguf.TypeOf(e)
			require.NoError(t, err)
			require.EqualValues(t, w.TypeID, typ, e.Name)
		}
		i++
	}
}

// described is a value as index.json has it.
func described(t *testing.T, v gguf.Value) any {
	t.Helper()
	as := func(x any, err error) any {
		require.NoError(t, err)
		return x
	}
	switch v.Type() {
	case gguf.Float32:
		x := as(gguf.As[float32](v)).(float32)
		return fmt.Sprintf("0x%08x", math.Float32bits(x))
	case gguf.Float64:
		x := as(gguf.As[float64](v)).(float64)
		return fmt.Sprintf("0x%016x", math.Float64bits(x))
	case gguf.Bool:
		return as(gguf.As[bool](v))
	case gguf.String:
		return map[string]any{"utf8": as(gguf.As[string](v))}
	case gguf.Array:
		items := []any{}
		for _, x := range elements(t, v) {
			items = append(items, described(t, x))
		}
		require.Len(t, items, v.Len())
		return map[string]any{"elem": v.Elem().String(), "items": items}
	}
	return v.String()
}

// elements is the elements of an array.
func elements(t *testing.T, v gguf.Value) []gguf.Value {
	t.Helper()
	switch v.Elem() {
	case gguf.Array:
		list, ok := v.Arrays()
		require.True(t, ok)
		return list
	case gguf.Uint8:
		return values[uint8](t, v)
	case gguf.Int8:
		return values[int8](t, v)
	case gguf.Uint16:
		return values[uint16](t, v)
	case gguf.Int16:
		return values[int16](t, v)
	case gguf.Uint32:
		return values[uint32](t, v)
	case gguf.Int32:
		return values[int32](t, v)
	case gguf.Uint64:
		return values[uint64](t, v)
	case gguf.Int64:
		return values[int64](t, v)
	case gguf.Float32:
		return values[float32](t, v)
	case gguf.Float64:
		return values[float64](t, v)
	case gguf.Bool:
		return values[bool](t, v)
	}
	return values[string](t, v)
}

func values[T gguf.Scalar](t *testing.T, v gguf.Value) []gguf.Value {
	t.Helper()
	list, err := gguf.ListAs[T](v)
	require.NoError(t, err)
	var out []gguf.Value
	for _, x := range list {
		out = append(out, gguf.Of(x))
	}
	return out
}

// rewrite writes what was read, reads that, and writes it again: the same bytes.
func rewrite(t testing.TB, f *gguf.File) {
	t.Helper()
	first, err := written(f)
	if f.BigEndian && err != nil { // blocks are in the byte order of the file
		require.ErrorIs(t, err, file.ErrUnsupported)
		require.ErrorContains(t, err, "most significant byte first")
		return
	}
	var fault *file.Error
	if errors.As(err, &fault) && errors.Is(err, file.ErrUnsupported) {
		t.Fatal(err)
	}
	if err != nil && strings.Contains(err.Error(), "a key of") {
		return // longer than the format has them
	}
	require.NoError(t, err)
	again, err := gguf.Read(file.FromBytes("again", first))
	require.NoError(t, err)
	require.Equal(t, 3, again.Version)
	require.False(t, again.BigEndian)
	require.Equal(t, f.Alignment, again.Alignment)
	require.Equal(t, f.Names(), again.Names())
	for e := range f.All() {
		want, err := e.Bytes()
		require.NoError(t, err)
		x, err := again.Get(e.Name)
		require.NoError(t, err)
		got, err := x.Bytes()
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), e.Name)
		require.Equal(t, e.Stored, x.Stored)
		require.True(t, e.Shape().Equal(x.Shape()))
	}
	second, err := written(again)
	require.NoError(t, err)
	require.True(t, bytes.Equal(first, second))
}

func written(f *gguf.File) ([]byte, error) {
	var b bytes.Buffer
	err := gguf.Write(&b, f.Meta, slices.Collect(f.All())...)
	return b.Bytes(), err
}

// Files that have nothing out of the ordinary are written as the reference wrote them.
func TestBytesOfTheReference(t *testing.T) {
	list, files := goldenIndex(t)
	n := 0
	for _, g := range list {
		if g.Expect != "accept" || g.Content.Version != 3 {
			continue
		}
		f, err := gguf.Read(file.FromBytes(g.File, files[g.File]))
		require.NoError(t, err)
		got, err := written(f)
		require.NoError(t, err)
		switch g.File {
		case "ok_no_tail_padding.gguf", "ok_nonzero_padding.gguf", "ok_trailing_bytes.gguf":
			require.NotEqual(t, files[g.File], got, g.File)
			continue
		}
		require.True(t, bytes.Equal(files[g.File], got), "%s: %d bytes, want %d", g.File, len(got),
			len(files[g.File]))
		n++
	}
	require.Equal(t, 14, n)
}
