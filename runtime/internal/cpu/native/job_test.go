package native

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
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

// Of workers at the same time, of which some fail, each block is run by one at most, and all
// before the first that fails are run.
func TestPartsShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		blocks := 1 + rng.IntN(3000)
		j := &job{prog: &Program{}, blocks: blocks, workers: min(1+rng.IntN(8), blocks)}
		j.prog.cost.Store([]int64{0, 1, 1e3, 1e5, 1e9}[rng.IntN(5)])
		j.divide()
		j.limit.Store(int64(blocks))
		seen, bad := make([]atomic.Int32, blocks), rng.IntN(2*blocks)
		cost := rng.Int64N(int64(time.Millisecond))
		var wait sync.WaitGroup
		for range j.workers {
			wait.Go(func() {
				at := int(j.joined.Add(1)-1) % len(j.parts)
				for from, to := j.chunk(&at); from < to; from, to = j.chunk(&at) {
					for b := from; b < to; b++ {
						if seen[b].Add(1); b >= bad {
							j.fail(b, errors.New("bad"))
							break
						}
					}
					j.cost.Store(cost)
				}
			})
		}
		wait.Wait()
		require.EqualValues(t, min(bad, blocks), j.limit.Load())
		require.Equal(t, bad < blocks, j.err != nil)
		for b := range seen {
			n := int(seen[b].Load())
			require.LessOrEqual(t, n, 1, "block %d of %d", b, blocks)
			require.True(t, n == 1 || b > bad, "block %d of %d, of which %d fails", b, blocks, bad)
		}
	}
}
