package ops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
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
		require.NoError(t, rowsops.Sum.Run(dev.DefaultStream(), out, x, []int{1}))
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
	reduce := func(r *rowsops.Reduction, dim []int, shape ...int) func() error {
		return func() error { return r.Run(s, view(results, dtype.F32, shape...), x, dim) }
	}
	compare := func(e *elementwise.Elementwise) func() error {
		return func() error { return e.Run(s, view(results, dtype.U8, rows, columns), []ops.View{x, x}) }
	}
	require.LessOrEqual(t, count(reduce(rowsops.Sum, []int{1}, rows, 1)), 1)
	require.Zero(t, count(reduce(rowsops.Average, []int{1}, rows, 1)), "a mean of rows")
	require.Equal(t, 2, count(reduce(rowsops.Max, []int{0}, 1, columns)), "parts of columns, and what joins them")
	require.LessOrEqual(t, count(reduce(rowsops.Max, []int{0, 1}, 1, 1)), 1, "what joins parts is there")
	require.Equal(t, 1, count(compare(elementwise.Lt)))
	require.Zero(t, count(compare(elementwise.Gt)), "x > y")
	square := view(results, dtype.F32, rows, columns)
	softmax := func(log bool) func() error {
		return func() error { return rowsops.Softmax(s, square, x, 1, log) }
	}
	require.Equal(t, 1, count(softmax(false)))
	require.Zero(t, count(softmax(true)), "the logarithms of a softmax")
	scan := func(n int) func() error {
		return func() error {
			return rowsops.CumSum.Run(s, view(results, dtype.F32, columns, n), view(in, dtype.F32, columns, n), 1)
		}
	}
	require.Equal(t, 1, count(scan(10)))
	require.Zero(t, count(scan(rows)), "a scan of longer rows")
	scaled := func(e *elementwise.Elementwise) func() error {
		number := dtype.FromFloat(dtype.F32, 3)
		return func() error { return e.Run(s, square, []ops.View{x}, number, number) }
	}
	require.Equal(t, 1, count(scaled(elementwise.Affine)))
	for _, e := range []*elementwise.Elementwise{elementwise.AddOf, elementwise.SubOf, elementwise.MulOf, elementwise.SubFrom} {
		require.Zero(t, count(scaled(e)), e.Name())
	}
}

// TestAffineBits compares operations that share the kernels of Affine with Go's, bit by bit.
func TestAffineBits(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	affineBits[float32](t, dev, dtype.F32)
	affineBits[float64](t, dev, dtype.F64)
}

func affineBits[T float32 | float64](t *testing.T, dev *runtime.Device, d dtype.DType) {
	values := []T{0, T(math.Copysign(0, -1)), 1, -1, 0.1, -3.7, 1e30, -1e-30, math.MaxFloat32, math.SmallestNonzeroFloat32, T(math.Inf(1)), T(math.Inf(-1))}
	in, err := runtime.From(dev, values)
	require.NoError(t, err)
	results, err := runtime.Alloc[T](dev, len(values))
	require.NoError(t, err)
	view := func(buf runtime.Slice[T]) ops.View {
		return ops.View{Buf: buf.Buffer(), DType: d, Layout: layout.Contiguous(layout.Shape{len(values)})}
	}
	for _, c := range []struct {
		op   *elementwise.Elementwise
		want func(x, a T) T
	}{
		{elementwise.AddOf, func(x, a T) T { return x + a }},
		{elementwise.SubOf, func(x, a T) T { return x - a }},
		{elementwise.MulOf, func(x, a T) T { return x * a }},
		{elementwise.SubFrom, func(x, a T) T { return a - x }},
	} {
		for _, a := range values {
			number := dtype.FromFloat(d, float64(a))
			require.NoError(t, c.op.Run(dev.DefaultStream(), view(results), []ops.View{view(in)}, number, number))
			got, err := results.Host()
			require.NoError(t, err)
			for i, x := range values {
				want := float64(c.want(x, a))
				same := math.Float64bits(want) == math.Float64bits(float64(got[i])) || want != want && got[i] != got[i]
				require.True(t, same, "%s of %v and %v as %s: %v, want %v", c.op.Name(), x, a, d, got[i], want)
			}
		}
	}
}
