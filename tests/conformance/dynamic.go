package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunDynamicShared runs kernels with shared memory of which a launch decides how much: one kernel with
// other lengths each time, up to what a block can have, directly and in graphs.
func RunDynamicShared(t *testing.T, dev *runtime.Device) {
	t.Run("DynamicShared", func(t *testing.T) {
		k := jit.Of(kernels.BackwardsOf)
		most := dev.Info().SharedPerBlock
		for _, n := range []int{5, 1000, 0, (most - 16) / 4, 13 << 10, 6} {
			out, err := dynamicShared(k, dev, n, 0)
			if 16+4*n > most {
				tooMuch(t, err, 4*n, most)
				continue
			}
			require.NoError(t, err, n)
			require.Equal(t, backwardsOf(t, n), out)
		}
		_, err := dynamicShared(k, dev, -1, 0)
		require.ErrorContains(t, err, "BackwardsOf: length of dsl.DynamicShared out of range: -1; a block of ")
		require.ErrorContains(t, err, fmt.Sprint(" can have ", most, " bytes"))
		_, err = dynamicShared(k, dev, 1<<40, 0)
		require.ErrorContains(t, err, "BackwardsOf: length of dsl.DynamicShared out of range: 1099511627776 elements of 4 bytes")
		_, err = dynamicShared(k, dev, most/4, 0) // the kernel has other arrays
		tooMuch(t, err, most/4*4, most)
		dynamicReplay(t, dev, k)
		dynamicPast(t, dev)
		if dev.Info().Kind == "cpu" {
			unwritten(t, dev)
		}
	})
}

// tooMuch looks at the error of a launch that asks for more than a block can have.
func tooMuch(t *testing.T, err error, asked, most int) {
	t.Helper()
	require.ErrorContains(t, err, "BackwardsOf")
	require.ErrorContains(t, err, fmt.Sprint(asked, " bytes of dynamic shared memory"))
	require.ErrorContains(t, err, fmt.Sprint("a block can have ", most))
}

// backwardsOf runs the kernel as plain Go.
func backwardsOf(t *testing.T, n int) []uint32 {
	want := make([]uint32, dynamicBlocks*n)
	require.NoError(t, dsltest.Run(dsl.D1(dynamicBlocks), dsl.D1(64), func(t dsl.Thread) { kernels.BackwardsOf(t, want, n, 0) }))
	return want
}

// dynamicPast reads what is behind the length of the launch, in checked code. The failure is the
// stream's until Sync has reported it.
func dynamicPast(t *testing.T, dev *runtime.Device) {
	_, err := dynamicShared(jit.Of(kernels.BackwardsOf).Checked(), dev, 100, 1)
	require.ErrorContains(t, err, "index out of range [100] with length 100")
	require.ErrorContains(t, dev.Sync(), "index out of range [100] with length 100")
}

// dynamicReplay replays graphs with launches of other lengths than the kernel had before.
func dynamicReplay(t *testing.T, dev *runtime.Device, k *jit.Kernel) {
	sizes := []int{40, 7, 2000}
	var graphs []*runtime.Graph
	var outs []runtime.Slice[uint32]
	for _, n := range sizes {
		out, err := runtime.Alloc[uint32](dev, dynamicBlocks*n)
		require.NoError(t, err)
		g, err := dev.Capture(func(s *runtime.Stream) error {
			return k.Launch(s, runtime.Blocks(dynamicBlocks, 64), out, n, int32(0))
		})
		require.NoError(t, err)
		defer g.Close()
		graphs, outs = append(graphs, g), append(outs, out)
	}
	for range 2 {
		for i, g := range graphs {
			require.NoError(t, outs[i].Zero())
			require.NoError(t, g.Launch(dev.DefaultStream()))
			got, err := outs[i].Host()
			require.NoError(t, err)
			require.Equal(t, backwardsOf(t, sizes[i]), got)
		}
	}
}

const dynamicBlocks = 3

// dynamicShared launches a kernel like BackwardsOf.
func dynamicShared(k *jit.Kernel, dev *runtime.Device, n int, past int32) ([]uint32, error) {
	out, err := runtime.Alloc[uint32](dev, dynamicBlocks*max(min(n, 1<<20), 0))
	if err != nil {
		return nil, err
	}
	if err := k.Launch(dev.DefaultStream(), runtime.Blocks(dynamicBlocks, 64), out, n, past); err != nil {
		return nil, err
	}
	return out.Host()
}

// unwritten looks for the bytes that the CPU fills shared memory with for each block.
func unwritten(t *testing.T, dev *runtime.Device) {
	for _, n := range []int{700, 3, 4096} {
		out, err := runtime.Alloc[uint32](dev, 8*n)
		require.NoError(t, err)
		require.NoError(t, jit.Of(kernels.Unwritten).Launch(dev.DefaultStream(), runtime.Blocks(8, 32), out, uint16(n)))
		got, err := out.Host()
		require.NoError(t, err)
		for i, x := range got {
			require.Equal(t, ^uint32(0), x, "word %d of %d", i, n)
		}
	}
}
