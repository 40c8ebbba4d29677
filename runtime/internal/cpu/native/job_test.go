package native

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each worker begins with its part, goes on with those of others, and all blocks are
// handed out once.
func TestParts(t *testing.T) {
	for _, blocks := range []int{1, 2, 3, 10, 1000} {
		for _, cost := range []time.Duration{0, time.Nanosecond, time.Millisecond} {
			j := &job{prog: &Program{}, blocks: blocks, workers: min(3, blocks)}
			j.prog.cost.Store(int64(cost))
			j.divide()
			if cost == time.Nanosecond {
				require.Len(t, j.parts, 1, "a second worker does not pay")
			} else {
				require.Len(t, j.parts, j.workers)
			}
			j.limit.Store(int64(blocks))
			seen := make([]int, blocks)
			at := make([]int, len(j.parts))
			for i := range at {
				at[i] = i
			}
			for first := true; j.left() > 0; first = false {
				for i := range at {
					from, to := j.chunk(&at[i])
					for b := from; b < to; b++ {
						seen[b]++
					}
					if first {
						require.Equal(t, share(blocks, i, len(at)), from)
					}
				}
			}
			for b, n := range seen {
				require.Equal(t, 1, n, "block %d of %d", b, blocks)
			}
			at0 := 0
			from, to := j.chunk(&at0)
			require.Equal(t, from, to, "no more")
		}
	}
}
