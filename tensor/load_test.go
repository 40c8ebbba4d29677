package tensor_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor"
	"github.com/gokiln/kiln/tensor/file"
	"github.com/gokiln/kiln/tensor/npy"
	"github.com/gokiln/kiln/tensor/safetensors"
)

func TestFiles(t *testing.T) {
	d := open(t)
	x := count(d, 2, 3)
	all := map[string]*tensor.Tensor{"x": x, "turned": x.T(), "one": tensor.Item(d, int64(-7)), "none": tensor.Zeros(d, tensor.F32, 0, 4)}
	for _, dt := range dtype.All() {
		all[dt.String()] = x.Cast(dt)
	}
	var entries []*file.Entry
	for name, x := range all {
		e, err := x.Entry(name)
		require.NoError(t, err)
		entries = append(entries, e)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	require.NoError(t, safetensors.WriteFile(path, map[string]string{"format": "pt"}, entries...))
	set, err := safetensors.Open(path)
	require.NoError(t, err)
	got, err := tensor.LoadAll(d, set)
	require.NoError(t, err)
	require.NoError(t, set.Close())
	require.Len(t, got, len(all))
	for name, want := range all {
		require.Equal(t, want.DType(), got[name].DType(), name)
		require.True(t, want.Shape().Equal(got[name].Shape()), name)
		a, err := want.Bytes()
		require.NoError(t, err)
		b, err := got[name].Bytes()
		require.NoError(t, err)
		require.Equal(t, a, b, name)
	}
	require.ErrorIs(t, tensor.Load(d, nil).Err(), tensor.ErrArgument)
	_, err = x.Narrow(0, 1, 5).Entry("bad")
	require.ErrorIs(t, err, tensor.ErrRange)
}

// LoadRaw has the bytes of the file, of quantized types too; Load says what it cannot read.
func TestLoadRaw(t *testing.T) {
	d := open(t)
	b := make([]byte, 48)
	for i := range b {
		b[i] = byte(i)
	}
	src := file.FromBytes("f", b)
	blob, err := src.Section(8, 40)
	require.NoError(t, err)
	big := file.As("I32", dtype.I32)
	big.Big = true
	entry := func(enc file.Encoding, shape layout.Shape, strides ...int) *file.Entry {
		e, err := file.New(file.Spec{Name: "w", Encoding: enc, Shape: shape, Strides: strides, Blob: blob, Path: "f", Offset: 8})
		require.NoError(t, err)
		return e
	}
	quads := file.Blocks("quads", 4, 3)
	for _, e := range []*file.Entry{entry(quads, layout.Shape{2, 8}), entry(big, layout.Shape{3}), entry(file.As("F32", dtype.F32), layout.Shape{3})} {
		x := tensor.LoadRaw(d, e)
		require.NoError(t, x.Err())
		require.Equal(t, tensor.U8, x.DType())
		got, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, b[8:20], got)
	}
	require.ErrorIs(t, tensor.Load(d, entry(quads, layout.Shape{2, 8})).Err(), file.ErrUnsupported)
	require.Equal(t, []int32{0x08090a0b, 0x0c0d0e0f}, list[int32](t, tensor.Load(d, entry(big, layout.Shape{2}))), "converted")
	require.ErrorContains(t, tensor.LoadRaw(d, entry(file.As("F32", dtype.F32), layout.Shape{2, 2}, 1, 2)).Err(), "strides")
	require.ErrorIs(t, tensor.LoadRaw(d, entry(file.Encoding{Name: "C64"}, layout.Shape{2})).Err(), file.ErrUnsupported)
	require.ErrorIs(t, tensor.LoadRaw(d, nil).Err(), tensor.ErrArgument)
	require.ErrorIs(t, tensor.LoadRaw(nil, entry(quads, layout.Shape{4})).Err(), tensor.ErrArgument)
	require.NoError(t, src.Close())
	require.ErrorIs(t, tensor.LoadRaw(d, entry(quads, layout.Shape{4})).Err(), os.ErrClosed)
}

// A file of Fortran order is loaded in row-major order.
func TestFortranFile(t *testing.T) {
	d := open(t)
	head := "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }"
	for len(head) < 127 {
		head += " "
	}
	head += "\n"
	data := []byte{0, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0}
	set, err := npy.Read(file.FromBytes("a.npy", append([]byte(head), data...)))
	require.NoError(t, err)
	for e := range set.All() {
		rows, err := tensor.To2[int32](tensor.Load(d, e))
		require.NoError(t, err)
		require.Equal(t, [][]int32{{0, 1, 2}, {3, 4, 5}}, rows)
	}
	require.Equal(t, 1, set.Len())
}
