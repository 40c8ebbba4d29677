package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

// TestRowLengthsShareKernel sums rows of lengths from some steps of a thread to hundreds, for which
// a CPU needs one kernel.
func TestRowLengthsShareKernel(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	const rows, longest = 64, 4096
	in, err := runtime.Alloc[float32](dev, rows*longest)
	require.NoError(t, err)
	sums, err := runtime.Alloc[float32](dev, rows)
	require.NoError(t, err)
	var resolved []string
	defer jit.OnResolve(func(e jit.Event) { resolved = append(resolved, e.Kernel) })()
	for _, n := range []int{128, 256, 1024, longest} {
		x := ops.View{Buf: in.Buffer(), DType: dtype.F32, Layout: layout.Contiguous(layout.Shape{rows, n})}
		out := ops.View{Buf: sums.Buffer(), DType: dtype.F32, Layout: layout.Contiguous(layout.Shape{rows, 1})}
		require.NoError(t, ops.Sum.Run(dev.DefaultStream(), out, x, []int{1}))
	}
	require.NoError(t, dev.Sync())
	require.Len(t, resolved, 1, "%v", resolved)
}
