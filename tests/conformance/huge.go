package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// hugeLen is a length whose indices need more than 31 bits.
const hugeLen = 1<<31 + 4099

// RunHuge uses arrays of more than 2³¹ elements. The host device touches a few
// pages of one only; a GPU with the memory goes through all elements.
func RunHuge(t *testing.T, dev *runtime.Device) {
	mark8, count8 := jit.Of(kernels.Mark[uint8]), jit.Of(kernels.CountMarks[uint8])
	t.Run("Sparse", func(t *testing.T) { huge[uint8](t, dev, mark8, count8, 1<<20+1) })
	if dev.Info().Kind == "cpu" {
		return
	}
	t.Run("Dense/uint8", func(t *testing.T) { huge[uint8](t, dev, mark8, count8, 1) })
	mark32, count32 := jit.Of(kernels.Mark[float32]), jit.Of(kernels.CountMarks[float32])
	t.Run("Dense/float32", func(t *testing.T) { huge[float32](t, dev, mark32, count32, 1) })
}

func huge[T uint8 | float32](t *testing.T, dev *runtime.Device, mark, countMarks *jit.Kernel, step int) {
	data, err := runtime.Alloc[T](dev, hugeLen)
	require.NoError(t, err, "memory for %d elements", hugeLen)
	defer data.Free()
	count, err := runtime.From(dev, make([]uint64, 2))
	require.NoError(t, err)
	defer count.Free()
	last := (hugeLen - 1) / step * step
	require.Greater(t, last, 1<<31, "the last element that is touched")

	s, grid := dev.DefaultStream(), runtime.Blocks(16, 64)
	if step == 1 {
		grid = runtime.Blocks(4096, 256)
	}
	require.NoError(t, mark.Launch(s, grid, data, step))
	require.NoError(t, countMarks.Launch(s, grid, count, data, step))
	counts, err := count.Host()
	require.NoError(t, err)
	require.Equal(t, []uint64{uint64(last/step) + 1, 0}, counts, "elements right, wrong")

	// The kernels could agree on wrong addresses; the host looks for itself.
	for _, i := range []int{0, step, (1<<31/step + 1) * step, last} {
		got, err := data.Slice(i, i+1).Host()
		require.NoError(t, err)
		require.Equal(t, T(uint8(uint64(i)*0x9E3779B97F4A7C15>>56)), got[0], "element %d", i)
	}
}
