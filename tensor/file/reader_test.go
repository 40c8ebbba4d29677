package file_test

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// ReaderAt has the bytes of views, and those of a quantized type, whatever the source is.
func TestReaderAt(t *testing.T) {
	big := file.As("F32", dtype.F32)
	big.Big = true
	bytesBig := file.As("I8", dtype.I8)
	bytesBig.Big = true
	for name, src := range sources(t, numbers(100)) {
		blob, err := src.Section(10, 80)
		require.NoError(t, err)
		entry := func(enc file.Encoding, shape layout.Shape, strides ...int) *file.Entry {
			e, err := file.New(file.Spec{Name: "w", Encoding: enc, Shape: shape, Strides: strides, Blob: blob, Path: name, Offset: 10})
			require.NoError(t, err)
			return e
		}
		part, err := entry(file.As("F32", dtype.F32), layout.Shape{5, 4}).Narrow(0, 2, 2)
		require.NoError(t, err)
		for _, e := range []*file.Entry{part, entry(file.As("U8", dtype.U8), layout.Shape{7}), entry(bytesBig, layout.Shape{7}),
			entry(file.As("F32", dtype.F32), layout.Shape{2, 3}, 1, 5), entry(quads, layout.Shape{2, 8}), entry(file.As("I8", dtype.I8), layout.Shape{0})} {
			view := e.View
			if e.Encoding().Quantized() {
				view = e.Raw
			}
			v, err := view()
			require.NoError(t, err)
			r := e.ReaderAt()
			require.NotNil(t, r)
			require.EqualValues(t, len(v.Bytes()), r.Size())
			got, err := io.ReadAll(r)
			require.NoError(t, err)
			require.True(t, bytes.Equal(v.Bytes(), got), "%v of %s", e.Shape(), name)
			v.Release()
		}
		for _, e := range []*file.Entry{entry(big, layout.Shape{3}), entry(file.From("BOOL", file.Bool), layout.Shape{3}), entry(file.Encoding{Name: "C64"}, layout.Shape{3})} {
			require.Nil(t, e.ReaderAt(), e.Stored)
		}
	}
	e, err := file.FromMemory("w", dtype.U8, layout.Shape{3}, []byte{1, 2, 3})
	require.NoError(t, err)
	require.NotNil(t, e.ReaderAt())
	e, err = file.FromFunc("w", dtype.U8, layout.Shape{3}, func() ([]byte, error) { return []byte{1, 2, 3}, nil })
	require.NoError(t, err)
	require.Nil(t, e.ReaderAt(), "it is made")
}
