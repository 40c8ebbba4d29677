package hostcopy

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParts(t *testing.T) {
	for _, size := range []int64{0, 1, grain, 2*grain - 1, 3*grain + 1, 64 << 20, 64<<20 + 4095} {
		for _, most := range []int{grain, LargeChunk} {
			var mu sync.Mutex
			seen := map[int64]int{}
			require.NoError(t, Parts(size, most, func(at int64, n int) error {
				mu.Lock()
				defer mu.Unlock()
				seen[at] = n
				return nil
			}))
			sum := int64(0)
			for range len(seen) { // one behind the other
				n := seen[sum]
				require.True(t, n > 0 && n <= most, "%d of %d bytes from %d on", n, size, sum)
				require.Zero(t, sum%4096)
				sum += int64(n)
			}
			require.Equal(t, size, sum)
		}
	}
}

func TestPartsEndWithTheFirstError(t *testing.T) {
	lost := errors.New("lost")
	for _, size := range []int64{grain, 1 << 30} {
		var mu sync.Mutex
		calls := 0
		require.ErrorIs(t, Parts(size, grain, func(int64, int) error {
			mu.Lock()
			defer mu.Unlock()
			calls++
			return lost
		}), lost)
		require.LessOrEqual(t, calls, goroutines)
	}
}

func TestPartOf(t *testing.T) {
	require.Equal(t, grain, partOf(2*grain, LargeChunk, 2))
	require.Equal(t, LargeChunk, partOf(1<<30, LargeChunk, 8))
	require.Equal(t, 1<<20, partOf(32<<20, LargeChunk, 8))
	require.Equal(t, 1<<20+4096, partOf(32<<20+32, LargeChunk, 8))
}
