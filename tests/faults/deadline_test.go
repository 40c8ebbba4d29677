package faults

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/engine"
	"github.com/gokiln/kiln/tests/faults/kernels"
)

// A kernel that waits for ever is named by who waits for it. The interpreter stops it; machine
// code goes on by itself, without the device, which can be opened anew.
func TestKernelThatWaitsForEver(t *testing.T) {
	engine.Each(t, func(t *testing.T, dev *runtime.Device) {
		host := make([]int32, 64)
		flag, err := runtime.Lend(dev, host)
		require.NoError(t, err)
		out, err := runtime.From(dev, []float32{1, 2, 3})
		require.NoError(t, err)
		twice := func(dev *runtime.Device, s runtime.Slice[float32]) {
			require.NoError(t, jit.Of(kernels.Twice).Launch(dev.DefaultStream(), runtime.Blocks(1, 64), s, s))
		}
		twice(dev, out)
		require.NoError(t, dev.Sync())
		dev.SetLaunchTimeout(100 * time.Millisecond)
		require.NoError(t, jit.Of(kernels.Await).Launch(dev.DefaultStream(), runtime.Blocks(3, 64), flag))
		defer atomic.StoreInt32(&host[0], 1) // for the threads that cannot be stopped
		err = dev.Sync()
		require.ErrorIs(t, err, runtime.ErrTimeout)
		require.ErrorContains(t, err, "kernel Await has not ended: grid 3×1×1 of blocks 64×1×1, longer than the launch timeout of 100ms")
		require.ErrorContains(t, err, "launched at deadline_test.go:32")
		got := make([]float32, 3)
		if strings.Contains(dev.Info().Driver, "interpreter") {
			twice(dev, out)
			require.NoError(t, out.CopyTo(got))
			require.Equal(t, []float32{4, 8, 12}, got, "what does not depend on it is right")
			require.ErrorIs(t, flag.CopyTo(make([]int32, 64)), runtime.ErrTimeout)
			return
		}
		require.ErrorIs(t, out.CopyTo(got), runtime.ErrTimeout)
		name := dev.Name()
		require.ErrorIs(t, dev.Close(), runtime.ErrTimeout)
		again, err := runtime.Open(name)
		require.NoError(t, err)
		defer again.Close()
		out, err = runtime.From(again, []float32{1, 2, 3})
		require.NoError(t, err)
		twice(again, out)
		require.NoError(t, out.CopyTo(got))
		require.Equal(t, []float32{2, 4, 6}, got)
	})
}
