package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// RunShared runs a kernel with as much shared memory as a block of the device can have, and
// with other amounts; too much is refused with a message that says how much that is.
func RunShared(t *testing.T, dev *runtime.Device) {
	most := dev.Info().SharedPerBlock
	for _, bytes := range []int{16 << 10, most, 100 << 10, 200 << 10, 256 << 10} {
		t.Run(fmt.Sprintf("Shared/%d", bytes), func(t *testing.T) {
			// Three bytes come before the words, which are aligned.
			backwards(t, dev, (bytes-16)/4, bytes <= most)
		})
	}
}

// backwards runs the kernel directly and in a graph.
func backwards(t *testing.T, dev *runtime.Device, n int, fits bool) {
	const blocks = 3
	want := make([]uint32, blocks*n)
	for i := range want {
		at := i % n
		want[i] = uint32(n-1-at)*0x9E3779B1 + uint32(i/n+10*(at%3))
	}
	k := jit.Of(kernels.Backwards)
	launch := func(s *runtime.Stream, out runtime.Slice[uint32]) error {
		return k.Launch(s, runtime.Blocks(blocks, 256), out, dsl.ConstInt(n))
	}
	for _, way := range []func(out runtime.Slice[uint32]) error{
		func(out runtime.Slice[uint32]) error { return launch(dev.DefaultStream(), out) },
		func(out runtime.Slice[uint32]) error {
			g, err := dev.Capture(func(s *runtime.Stream) error { return launch(s, out) })
			if err != nil {
				return err
			}
			defer g.Close()
			return g.Launch(dev.DefaultStream())
		},
	} {
		out, err := runtime.Alloc[uint32](dev, blocks*n)
		require.NoError(t, err)
		err = way(out)
		if !fits {
			require.ErrorContains(t, err, fmt.Sprintf("kernels.Backwards{n:%d}: needs %d bytes of shared memory", n, 16+4*n))
			return
		}
		require.NoError(t, err)
		got, err := out.Host()
		require.NoError(t, err)
		require.Equal(t, want, got)
		out.Free()
	}
}
