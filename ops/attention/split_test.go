package attention

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/attention/kernels"
	"github.com/gokiln/kiln/runtime"
)

func TestSplits(t *testing.T) {
	w := kernels.ForwardTiles{M: 32, N: 64, DV: 128, Down: 2, Stages: 2, Chunk: 8}
	info := runtime.Info{WarpSize: 32, Units: 100, ThreadsPerUnit: 2048, RegistersPerUnit: 1 << 16, SharedPerBlock: 1 << 18}
	require.Equal(t, 4, resident(&info, 2, &w), "by registers")
	info.SharedPerBlock = 128 << 10
	require.Equal(t, 2, resident(&info, 2, &w), "by shared memory")
	info.RegistersPerUnit, info.ThreadsPerUnit = 0, 64
	require.Equal(t, 1, resident(&info, 2, &w), "by threads")
	for _, x := range []struct{ blocks, keys, want int }{
		{100, 1 << 20, 1}, // a block for each multiprocessor
		{1, 255, 1}, {1, 511, 1}, {1, 512, 2}, {1, 1 << 20, 100}, {8, 1 << 20, 12},
		{50, 1024, 2}, {51, 1024, 1},
	} {
		require.Equal(t, x.want, splits(&info, x.blocks, x.keys, 2, &w), "%d blocks, %d keys", x.blocks, x.keys)
	}
}

// Queries with a window attend to few of many keys, of which no more blocks are to have a share.
func TestAttended(t *testing.T) {
	const far = 1 << 40
	for _, c := range []struct {
		name                    string
		s, keys, left, right, m int
		want                    int
	}{
		{"causal", 4096, 4096, far, 0, 32, 4096},
		{"window", 4096, 4096, 100, 20, 32, 152},
		{"one query", 1, 4096, 100, 0, 32, 101},
		{"one query, no bound behind it", 1, 4096, 100, far, 32, 101},
		{"some queries, no bound behind", 300, 4096, 100, far, 32, 400},
		{"some queries", 300, 4096, 100, 20, 32, 152},
		{"few keys", 300, 120, 100, 20, 32, 120},
		{"as many as there are", 1, 100, 100, 0, 32, 100},
		{"the largest number behind", 4096, 8192, 10, math.MaxInt, 32, 4106},
		{"the largest numbers", 4096, 8192, math.MaxInt, math.MaxInt, 32, 8192},
	} {
		k := kernels.Problem{S: c.s, Keys: c.keys, Off: c.keys - c.s, Left: c.left, Right: c.right}
		got := attended(&k, &kernels.Features{Bounded: true}, c.m)
		require.Equal(t, c.want, got, c.name)
		if c.right == math.MaxInt {
			continue // the kernel adds positions to it
		}
		most := 0
		for at := range c.s - min(c.m, c.s) + 1 { // each place of a tile
			first, last := max(at+k.Off-c.left, 0), min(at+min(c.m, c.s)-1+k.Off+c.right, c.keys-1)
			most = max(most, last-first+1)
		}
		require.LessOrEqual(t, most, got, c.name)
		require.Equal(t, most, got, "%s: it is reached", c.name)
	}
	require.Equal(t, 500, attended(&kernels.Problem{S: 1, Keys: 500}, &kernels.Features{}, 32), "no window")
}
