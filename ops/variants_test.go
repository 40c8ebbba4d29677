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

// TestSharedKernels runs operations that a kernel of another one serves.
func TestSharedKernels(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	const rows, columns = 256, 256
	in, err := runtime.Alloc[float32](dev, rows*columns)
	require.NoError(t, err)
	results, err := runtime.Alloc[float32](dev, rows*columns)
	require.NoError(t, err)
	view := func(buf runtime.Slice[float32], d dtype.DType, shape ...int) ops.View {
		return ops.View{Buf: buf.Buffer(), DType: d, Layout: layout.Contiguous(layout.Shape(shape))}
	}
	x, s := view(in, dtype.F32, rows, columns), dev.DefaultStream()
	count := func(run func() error) (n int) {
		defer jit.OnResolve(func(jit.Event) { n++ })()
		require.NoError(t, run())
		require.NoError(t, dev.Sync())
		return n
	}
	reduce := func(r *ops.Reduction, dim []int, shape ...int) func() error {
		return func() error { return r.Run(s, view(results, dtype.F32, shape...), x, dim) }
	}
	compare := func(e *ops.Elementwise) func() error {
		return func() error { return e.Run(s, view(results, dtype.U8, rows, columns), []ops.View{x, x}) }
	}
	require.LessOrEqual(t, count(reduce(ops.Sum, []int{1}, rows, 1)), 1)
	require.Zero(t, count(reduce(ops.Average, []int{1}, rows, 1)), "a mean of rows")
	require.Equal(t, 2, count(reduce(ops.Max, []int{0}, 1, columns)), "parts of columns, and what joins them")
	require.LessOrEqual(t, count(reduce(ops.Max, []int{0, 1}, 1, 1)), 1, "what joins parts is there")
	require.Equal(t, 1, count(compare(ops.Lt)))
	require.Zero(t, count(compare(ops.Gt)), "x > y")
}
