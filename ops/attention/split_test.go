package attention

import (
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
