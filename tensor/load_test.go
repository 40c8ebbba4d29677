package tensor_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
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
