package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Blocks of a middle size lie one behind the other, and go one by one.
func TestRegions(t *testing.T) {
	const size = 5 * minRegional / 2
	var blocks [][]byte
	next := 0
	for range 3 * regionSize / size {
		mem, err := mapMemory(size)
		require.NoError(t, err)
		require.Len(t, mem, size)
		require.Zero(t, addrOf(mem)%pageSize)
		if n := len(blocks); n > 0 && addrOf(mem) == addrOf(blocks[n-1])+size {
			next++
		}
		for i := 0; i < size; i += pageSize / 2 {
			require.Zero(t, mem[i])
			mem[i] = byte(len(blocks) + 1)
		}
		blocks = append(blocks, mem)
	}
	require.GreaterOrEqual(t, next, len(blocks)-4)
	for i := 0; i < len(blocks); i += 2 {
		unmapMemory(blocks[i])
	}
	for i := 1; i < len(blocks); i += 2 {
		for at := 0; at < size; at += pageSize / 2 {
			require.Equal(t, byte(i+1), blocks[i][at])
		}
		unmapMemory(blocks[i])
	}
}
