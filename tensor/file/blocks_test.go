package file_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/tensor/file"
)

// quads is a quantized type: four elements in three bytes.
var quads = file.Blocks("quads", 4, 3)

func blob(t *testing.T, n int) file.Blob {
	t.Helper()
	b, err := file.FromBytes("f", numbers(n)).Section(0, int64(n))
	require.NoError(t, err)
	return b
}

func TestQuantizedTypes(t *testing.T) {
	e, err := file.New(file.Spec{Name: "q", Encoding: quads, Shape: layout.Shape{2, 3, 8},
		Blob: blob(t, 40), Path: "f", Offset: 100})
	require.NoError(t, err)
	require.EqualValues(t, 36, e.Size())
	require.Equal(t, "quads", e.Stored)
	require.Equal(t, quads, e.Encoding())
	require.True(t, e.Encoding().Quantized())
	require.False(t, file.As("F32", dtype.F32).Quantized())
	v, err := e.Raw()
	require.NoError(t, err)
	require.Equal(t, numbers(36), v.Bytes())
	b, err := e.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(36), b)
	b[0] = 99 // memory of its own
	require.EqualValues(t, 0, v.Bytes()[0])
	var out bytes.Buffer
	n, err := e.WriteTo(&out)
	require.NoError(t, err)
	require.EqualValues(t, 36, n)
	require.Equal(t, numbers(36), out.Bytes())
	_, err = e.View()
	require.ErrorIs(t, err, file.ErrUnsupported)
	require.ErrorContains(t, err, `tensor "q": quads is a quantized type: Raw has its blocks`)
	_, err = file.Values[float32](e)
	require.ErrorIs(t, err, file.ErrUnsupported)
}

func TestPartsOfQuantizedTensors(t *testing.T) {
	e, err := file.New(file.Spec{Name: "q", Encoding: quads, Shape: layout.Shape{2, 3, 8},
		Blob: blob(t, 36), Path: "f", Offset: 100})
	require.NoError(t, err)
	part, err := e.Narrow(0, 1, 1)
	require.NoError(t, err)
	require.EqualValues(t, 118, part.Offset)
	row, err := part.Narrow(1, 1, 2)
	require.NoError(t, err)
	require.EqualValues(t, 124, row.Offset)
	b, err := row.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(36)[24:36], b)
	one, err := row.Narrow(1, 0, 1)
	require.NoError(t, err)
	one, err = one.Narrow(2, 4, 4) // a block
	require.NoError(t, err)
	b, err = one.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(36)[27:30], b)
	_, err = one.Narrow(2, 0, 2)
	require.ErrorContains(t, err, "whole blocks of quads")
	_, err = row.Narrow(2, 4, 4)
	require.ErrorContains(t, err, "that follow each other")
	none, err := e.Narrow(2, 3, 0)
	require.NoError(t, err)
	require.Zero(t, none.Size())
}

func TestWrongQuantizedTensors(t *testing.T) {
	for _, c := range []struct {
		spec file.Spec
		want string
		kind error
	}{
		{file.Spec{Shape: layout.Shape{6}}, "rows of 6 elements", file.ErrFormat},
		{file.Spec{Shape: layout.Shape{4, 2}}, "rows of 2 elements", file.ErrFormat},
		{file.Spec{}, "rows of 1 elements", file.ErrFormat},
		{file.Spec{Shape: layout.Shape{8}, Strides: []int{1}}, "row-major", file.ErrUnsupported},
		{file.Spec{Shape: layout.Shape{4}, Skip: 4}, "row-major", file.ErrUnsupported},
		{file.Spec{Shape: layout.Shape{12}}, "needs 9 bytes, and there are 8", file.ErrTruncated},
		{file.Spec{Shape: layout.Shape{1 << 30, 1 << 20}}, "needs", file.ErrTruncated},
	} {
		c.spec.Name, c.spec.Encoding, c.spec.Blob = "q", quads, blob(t, 8)
		_, err := file.New(c.spec)
		require.ErrorIs(t, err, c.kind, "%v", c.spec.Shape)
		require.ErrorContains(t, err, c.want)
	}
	huge := file.Blocks("huge", 1, math.MaxInt32)
	_, err := file.New(file.Spec{Encoding: huge, Shape: layout.Shape{1 << 40}, Blob: blob(t, 8)})
	require.ErrorContains(t, err, "too large")
	unknown, err := file.New(file.Spec{Name: "c", Encoding: file.Encoding{Name: "C64"},
		Shape: layout.Shape{2}, Blob: blob(t, 16)})
	require.NoError(t, err)
	_, err = unknown.Raw()
	require.ErrorIs(t, err, file.ErrUnsupported)
	_, err = unknown.Narrow(0, 0, 1)
	require.ErrorIs(t, err, file.ErrUnsupported)
}

func TestFromBlocks(t *testing.T) {
	lost := errors.New("lost")
	e, err := file.FromBlocks("q", quads, layout.Shape{2, 4}, func() ([]byte,
		error) {
		return numbers(6), nil
	})
	require.NoError(t, err)
	b, err := e.Bytes()
	require.NoError(t, err)
	require.Equal(t, numbers(6), b)
	_, err = file.FromBlocks("q", file.As("F32", dtype.F32), layout.Shape{4}, nil)
	require.ErrorContains(t, err, `tensor "q": F32 is no quantized type`)
	_, err = file.FromBlocks("q", quads, layout.Shape{2, 3}, nil)
	require.ErrorContains(t, err, "rows of 3")
	_, err = file.FromBlocks("q", quads, layout.Shape{-4}, nil)
	require.ErrorIs(t, err, file.ErrFormat)
	e, err = file.FromBlocks("q", quads, layout.Shape{4}, func() ([]byte, error) { return nil, lost })
	require.NoError(t, err)
	_, err = e.Raw()
	require.ErrorIs(t, err, lost)
	e, err = file.FromBlocks("q", quads, layout.Shape{4}, func() ([]byte, error) {
		return numbers(4),
			nil
	})
	require.NoError(t, err)
	_, err = e.Raw()
	require.ErrorContains(t, err, "4 bytes were made, want 3")
}

// Raw is the bytes of the file, whatever they are read as.
func TestRawOfPlainTypes(t *testing.T) {
	enc := file.From("U16", file.Uint16)
	enc.Big = true
	e, err := file.New(file.Spec{Encoding: enc, Shape: layout.Shape{2, 2}, Blob: blob(t, 8)})
	require.NoError(t, err)
	v, err := e.Raw()
	require.NoError(t, err)
	require.Equal(t, numbers(8), v.Bytes())
	column, err := e.Narrow(1, 0, 1)
	require.NoError(t, err)
	_, err = column.Raw()
	require.ErrorContains(t, err, "strides")
}
