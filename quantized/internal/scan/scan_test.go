package scan_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/quantized/internal/scan"
	"github.com/gokiln/kiln/tensor/file"
)

func TestFields(t *testing.T) {
	r := scan.New(file.FromBytes("f", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}))
	require.EqualValues(t, 1, r.Uint8("a"))
	require.EqualValues(t, 0x0302, r.Uint16("b"))
	r.Order = binary.BigEndian
	require.EqualValues(t, 0x04050607, r.Uint32("c"))
	r.Skip(8)
	r.Skip(3) // not back
	require.EqualValues(t, 0x090a0b0c0d0e0f10, r.Uint64("d"))
	require.EqualValues(t, 16, r.Pos())
	require.Zero(t, r.Left())
	require.Empty(t, r.Take(0, "nothing"))
	require.NoError(t, r.Err())
	require.Zero(t, r.Uint8("e"))
	r.Fail(0, file.ErrFormat, "a later one")
	require.ErrorIs(t, r.Err(), file.ErrTruncated)
	require.ErrorContains(t, r.Err(), "f: truncated file at byte 16: e: 1 bytes wanted, 0 remaining")
	require.Nil(t, r.Take(0, "nothing"))
}

func TestFits(t *testing.T) {
	r := scan.New(file.FromBytes("f", make([]byte, 16)))
	require.True(t, r.Fits(0, 4, 4, "things"))
	require.False(t, r.Fits(3, 1<<62, 8, "things"))
	require.ErrorContains(t, r.Err(), "at byte 3: 4611686018427387904 things, and 16 bytes remaining")
}

// The window moves on, and more than it holds can be taken.
func TestWindow(t *testing.T) {
	const n = 1 << 18
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * i >> 3)
	}
	r := scan.New(file.FromReader("f", strings.NewReader(string(b)), n))
	at := 0
	for _, size := range []int{1, 1<<16 - 3, 7, 1 << 17, 5, 1<<16 - 20} {
		require.Equal(t, b[at:at+size], r.Take(int64(size), "x"))
		at += size
	}
	require.NoError(t, r.Err())
	require.Nil(t, r.Take(int64(n-at)+1, "x"))
	require.ErrorIs(t, r.Err(), file.ErrTruncated)
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("disk lost") }

func TestErrorsOfReading(t *testing.T) {
	r := scan.New(file.FromReader("f", broken{}, 100))
	require.Zero(t, r.Uint64("x"))
	require.ErrorContains(t, r.Err(), "disk lost")
}
