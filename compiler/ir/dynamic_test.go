package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const dynamicText = `module "t"
shared 0 "tile" [5]u8
shared 1 "words" [0]u32 dynamic 1

kernel @k(%0: u8, %1: i32) args(a scalar u8 "uint8", n scalar i32 "int32") {
b0:
  %2 = shared 1 : ptr<shared,[0]u32>
  ret
}
`

// The text of a module has the parameter that is the length of an array.
func TestDynamicText(t *testing.T) {
	m, err := Parse(dynamicText)
	require.NoError(t, err)
	require.Equal(t, dynamicText, m.String())
	require.Same(t, m.Shared[1], m.Dynamic())
	require.Equal(t, &Length{Offset: 4, Size: 4, Signed: true, Elem: 4}, m.DynamicLength())
	offsets, size := m.SharedLayout()
	require.Equal(t, []int{0, 16}, offsets)
	require.Equal(t, 16, size)
	require.Equal(t, []int{-1, 0}, m.SharedParts(false))
	require.Equal(t, []int{0, 16}, m.SharedParts(true))
	m.Shared = m.Shared[:1]
	require.Nil(t, m.SharedParts(false))
}

// Lengths that no memory has are errors, of every type of number.
func TestLengthBytes(t *testing.T) {
	all := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	for _, c := range []struct {
		l    Length
		args []byte
		n    int
		err  string
	}{
		{l: Length{Size: 1, Elem: 8}, args: all, n: 255 * 8},
		{l: Length{Size: 1, Elem: 8, Signed: true}, args: all, err: "out of range: -1"},
		{l: Length{Size: 2, Offset: 1, Elem: 2}, args: []byte{9, 1, 2}, n: 0x201 * 2},
		{l: Length{Size: 8, Elem: 4, Signed: true}, args: all, err: "out of range: -1"},
		{l: Length{Size: 8, Elem: 4}, args: all, err: "out of range: 18446744073709551615 elements of 4 bytes"},
		{l: Length{Size: 4, Elem: 4}, args: all, err: "out of range: 4294967295 elements of 4 bytes"},
		{l: Length{Size: 4, Elem: 1}, args: []byte{0, 0, 0, 0x40}, n: 1 << 30},
		{l: Length{Size: 4, Elem: 1}, args: []byte{1, 0, 0, 0x40}, err: "out of range"},
	} {
		n, err := c.l.Bytes(c.args)
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.n, n)
	}
}
