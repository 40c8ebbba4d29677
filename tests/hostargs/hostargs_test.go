package hostargs_test

import (
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/tests/hostargs"
)

type halves []uint16

func TestArgs(t *testing.T) {
	x := []int8{1, 2, 3}
	a := hostargs.Copy(true, int32(-2), x, uint8(7), float32(1), halves{5}, 2.5, []int64{})
	defer a.Close()
	copied := a.Values[2].([]int8)
	copied[0] = 9
	require.Equal(t, []int8{1, 2, 3}, x)
	require.Equal(t, halves{5}, a.Values[5])
	require.Equal(t, []byte{9, 2, 3}, hostargs.Bytes(copied))
	block := a.Block()
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(block[at:]) }
	require.Equal(t, uint64(0xfffffffe_00000001), word(0))
	for at, i := range map[int]int{8: 2, 32: 5} {
		v := reflect.ValueOf(a.Values[i])
		require.Equal(t, uint64(v.Pointer()), word(at))
		require.Zero(t, word(at)%16)
		require.Equal(t, uint64(v.Len()), word(at+8))
	}
	require.Equal(t, uint64(0x3f800000_00000007), word(24))
	require.Equal(t, uint64(0x4004000000000000), word(48))
	require.Zero(t, word(64))
	require.Len(t, block, 72)
}
