package kernels

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// TestSaxpy checks both forms at sizes around their turns of four.
func TestSaxpy(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	const threads = 32
	for _, n := range []int{0, 1, 31, 127, 128, 129, 1000} {
		x, y, want := make([]float32, n), make([]float32, n), make([]float32, n)
		for i := range x {
			x[i], y[i] = float32(i%7), float32(i)
			want[i] = 2*x[i] + y[i]
		}
		for name, run := range map[string]struct {
			kernel *jit.Kernel
			grid   runtime.Grid
		}{
			"grid": {jit.Of(Saxpy), runtime.Blocks(2, threads)},
			"tile": {jit.Of(SaxpyTile), runtime.Cover((n+3)/4, threads)},
		} {
			dx, err := runtime.From(dev, x)
			require.NoError(t, err)
			dy, err := runtime.From(dev, y)
			require.NoError(t, err)
			require.NoError(t, run.kernel.Launch(dev.DefaultStream(), run.grid, dy, dx, float32(2)))
			got, err := dy.Host()
			require.NoError(t, err)
			require.Equal(t, want, append([]float32{}, got...), "%s %d", name, n)
		}
	}
}
