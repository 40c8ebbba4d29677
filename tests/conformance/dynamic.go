package conformance

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunDynamicShared runs kernels with shared memory of which a launch decides how much. A device that
// does not have it says so by name.
func RunDynamicShared(t *testing.T, dev *runtime.Device) {
	t.Run("DynamicShared", func(t *testing.T) {
		k := jit.Of(kernels.BackwardsOf)
		most := dev.Info().SharedPerBlock
		for _, n := range []int{5, 1000, 0, (most - 16) / 4, 13 << 10, 6} {
			out, err := dynamicShared(k, dev, n, 0)
			if errors.Is(err, compiler.ErrUnsupported) {
				require.ErrorContains(t, err, "dsl.DynamicShared is not available on ")
				require.NotContains(t, []string{"cpu", "cuda"}, dev.Info().Kind)
				return
			}
			if 16+4*n > most {
				require.ErrorContains(t, err, "BackwardsOf")
				require.ErrorContains(t, err, fmt.Sprint("a block can have ", most))
				continue
			}
			require.NoError(t, err, n)
			want := make([]uint32, dynamicBlocks*n)
			require.NoError(t, dsltest.Run(dsl.Dim3{X: dynamicBlocks}, dsl.Dim3{X: 64}, func(t dsl.Thread) { kernels.BackwardsOf(t, want, n, 0) }))
			require.Equal(t, want, out)
		}
		_, err := dynamicShared(k, dev, -1, 0)
		require.ErrorContains(t, err, "BackwardsOf: length of dsl.DynamicShared out of range")
		_, err = dynamicShared(k, dev, most/4+1, 0)
		require.ErrorContains(t, err, fmt.Sprint(most/4*4+4, " bytes of dynamic shared memory"))
		require.ErrorContains(t, err, fmt.Sprint("a block can have ", most))
		_, err = dynamicShared(jit.Of(kernels.BackwardsOf).Checked(), dev, 100, 1)
		require.ErrorContains(t, err, "index out of range [100] with length 100")
		if dev.Info().Kind == "cpu" {
			unwritten(t, dev)
		}
	})
}

const dynamicBlocks = 3

// dynamicShared launches a kernel like BackwardsOf.
func dynamicShared(k *jit.Kernel, dev *runtime.Device, n int, past int32) ([]uint32, error) {
	out, err := runtime.Alloc[uint32](dev, dynamicBlocks*max(n, 0))
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
