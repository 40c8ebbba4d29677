package gguf_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/quantized/gguf"
	"github.com/gokiln/kiln/tensor/file"
)

// bytesOf is n tensors of 1, 2, … bytes, called t0, t1, ….
func bytesOf(t *testing.T, n int) (list []*file.Entry) {
	t.Helper()
	for i := range n {
		b := make([]byte, i+1)
		for j := range b {
			b[j] = byte(10*i + j)
		}
		list = append(list, memory(t, fmt.Sprintf("t%d", i), dtype.I8, layout.Shape{len(b)}, b))
	}
	return list
}

func modelMeta() *gguf.Metadata {
	m := &gguf.Metadata{}
	m.Set(gguf.KeyArchitecture, gguf.Of("test"))
	m.Set("split.count", gguf.Of(uint16(9))) // of files that this was read from
	m.Set("split.other", gguf.Of("kept"))
	m.Set("tokens", gguf.ListOf([]string{"a", "b"}))
	return m
}

// counts is the numbers of tensors in files.
func counts(parts []gguf.Part) (n []int) {
	for _, p := range parts {
		n = append(n, len(p.Tensors))
	}
	return n
}

func TestParts(t *testing.T) {
	m, tensors := modelMeta(), bytesOf(t, 7)
	large := memory(t, "large", dtype.I8, layout.Shape{100}, make([]byte, 100))
	for _, c := range []struct {
		s    gguf.Split
		of   []*file.Entry
		want []int
	}{
		{gguf.Split{MaxTensors: 3}, tensors, []int{3, 3, 1}},
		{gguf.Split{MaxTensors: 7}, tensors, []int{7}},
		{gguf.Split{MaxTensors: 3, EmptyFirst: true}, tensors, []int{0, 3, 3, 1}},
		{gguf.Split{MaxBytes: 64}, tensors, []int{2, 2, 2, 1}}, // padded to 32 each
		{gguf.Split{MaxBytes: 95}, tensors, []int{2, 2, 2, 1}},
		{gguf.Split{MaxBytes: 96, MaxTensors: 2}, tensors, []int{2, 2, 2, 1}},
		{gguf.Split{MaxBytes: 96}, tensors, []int{3, 3, 1}},
		{gguf.Split{MaxBytes: 1}, tensors[:2], []int{1, 1}},
		{gguf.Split{MaxBytes: 64}, []*file.Entry{tensors[0], large, tensors[1]}, []int{1, 1, 1}},
		{gguf.Split{MaxBytes: 64}, []*file.Entry{large, tensors[0], tensors[1]}, []int{1, 2}},
		{gguf.Split{MaxTensors: 1}, nil, []int{0}},
		{gguf.Split{MaxTensors: 1, EmptyFirst: true}, nil, []int{0}},
	} {
		parts, err := c.s.Parts("dir/m.gguf", m, c.of...)
		require.NoError(t, err)
		require.Equal(t, c.want, counts(parts), "%+v", c.s)
		for i, p := range parts {
			require.Equal(t, fmt.Sprintf("dir/m-%05d-of-%05d.gguf", i+1, len(parts)), p.Path)
			for key, want := range map[string]int{"split.no": i, "split.count": len(parts),
				"split.tensors.count": len(c.of)} {
				n, err := gguf.Get[int32](p.Meta, key)
				require.NoError(t, err)
				require.EqualValues(t, want, n, key)
			}
			v, _ := p.Meta.Value("split.count")
			require.Equal(t, gguf.Uint16, v.Type(), "as llama.cpp reads it")
			v, _ = p.Meta.Value("split.tensors.count")
			require.Equal(t, gguf.Int32, v.Type())
			require.Equal(t, map[bool]int{true: 6, false: 3}[i == 0], p.Meta.Len())
		}
	}
	require.Equal(t, 4, m.Len(), "it is not changed")
	var keys []string
	parts, err := gguf.Split{MaxTensors: 1}.Parts("m", m, tensors[0])
	require.NoError(t, err)
	for k := range parts[0].Meta.All() {
		keys = append(keys, k)
	}
	require.Equal(t, []string{gguf.KeyArchitecture, "split.other", "tokens", "split.no",
		"split.tensors.count", "split.count"}, keys)

	for _, s := range []gguf.Split{{}, {MaxTensors: -1}, {MaxBytes: -1, MaxTensors: 1}} {
		_, err := s.Parts("m", m, tensors...)
		require.ErrorContains(t, err, "want a limit of one")
	}
	_, err = gguf.Split{MaxTensors: 1}.Parts("m", m, tensors[0], tensors[0])
	require.ErrorContains(t, err, "two tensors of this name", "though in two files")
	var many []*file.Entry
	for i := range 1 << 16 {
		e := *tensors[0]
		e.Name = fmt.Sprint(i)
		many = append(many, &e)
	}
	_, err = gguf.Split{MaxTensors: 1}.Parts("m", m, many...)
	require.ErrorContains(t, err, "65536 files, want 65535 at most")
}

// What is divided, and put together again, has the bytes that it had.
func TestSplitAndMerge(t *testing.T) {
	for _, align := range []uint32{0, 8, 64} {
		dir := t.TempDir()
		m := modelMeta()
		m.Delete("split.count")
		if align > 0 {
			m.Set(gguf.KeyAlignment, gguf.Of(align))
		}
		whole := filepath.Join(dir, "whole.gguf")
		require.NoError(t, gguf.WriteFile(whole, m, bytesOf(t, 5)...))
		f, err := gguf.Open(whole)
		require.NoError(t, err)
		paths, err := gguf.WriteSplit(filepath.Join(dir, "m"), gguf.Split{MaxTensors: 2}, f.Meta,
			entries(f)...)
		require.NoError(t, err)
		require.Len(t, paths, 3)
		require.NoError(t, f.Close())

		f, err = gguf.Open(paths[1])
		require.NoError(t, err)
		for _, e := range entries(f) {
			require.Zero(t, e.Offset%int64(max(align, 8)))
		}
		merged := filepath.Join(dir, "merged.gguf")
		require.NoError(t, gguf.WriteFile(merged, f.Meta, entries(f)...))
		again, err := gguf.WriteSplit(filepath.Join(dir, "again"), gguf.Split{MaxTensors: 2}, f.Meta,
			entries(f)...)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		same(t, whole, merged)
		for i := range paths {
			same(t, paths[i], again[i])
		}
	}
}

func entries(f *gguf.File) (list []*file.Entry) {
	for e := range f.All() {
		list = append(list, e)
	}
	return list
}

func same(t *testing.T, a, b string) {
	t.Helper()
	x, err := os.ReadFile(a)
	require.NoError(t, err)
	y, err := os.ReadFile(b)
	require.NoError(t, err)
	require.Equal(t, x, y, "%s and %s", a, b)
}

// A set that cannot be written whole leaves only what was there before.
func TestSplitThatFails(t *testing.T) {
	dir := t.TempDir()
	list := bytesOf(t, 3)
	lost := errors.New("disk lost")
	bad, err := file.FromFunc("bad", dtype.I8, layout.Shape{2},
		func() ([]byte, error) { return nil, lost })
	require.NoError(t, err)
	there := filepath.Join(dir, "m-00002-of-00004.gguf")
	require.NoError(t, os.WriteFile(there, []byte("old"), 0o600))
	_, err = gguf.WriteSplit(filepath.Join(dir, "m.gguf"), gguf.Split{MaxTensors: 1}, nil,
		append(list, bad)...)
	require.ErrorIs(t, err, lost)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{there}, left)
}
