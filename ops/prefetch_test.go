package ops_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/matmul"
	rowsops "github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/runtime"
)

// TestKernelsTogether runs operations of several kernels for the first time. All of them are
// resolved before the operation takes memory for what is between them, which is before the
// first launch, and none that is not launched.
func TestKernelsTogether(t *testing.T) {
	t.Setenv("KILN_CACHE_DIR", t.TempDir())
	const rows, n, wide = 300, 70, 520 // columns enough for both factors of a product to be packed
	for _, c := range []struct {
		name    string
		kernels int
		shape   layout.Shape
		run     func(s *runtime.Stream, out, x, y ops.View) error
	}{
		{"matmul", 3, layout.Shape{wide, wide}, func(s *runtime.Stream, out, x, y ops.View) error {
			return matmul.Matmul(s, out, x, y)
		}},
		{"softmax of columns", 3, layout.Shape{rows, n}, func(s *runtime.Stream, out, x, _ ops.View) error {
			return rowsops.Softmax(s, out, x, 0, false)
		}},
		{"norm of columns", 3, layout.Shape{rows, n}, func(s *runtime.Stream, out, x, _ ops.View) error {
			return rowsops.LayerNorm(s, out, x, ops.View{}, ops.View{}, 0, 1e-5)
		}},
		{"scan in parts", 3, layout.Shape{1 << 20}, func(s *runtime.Stream, out, x, _ ops.View) error {
			return rowsops.CumSum.Run(s, out, x, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dev, err := runtime.Open("cpu")
			require.NoError(t, err)
			defer dev.Close()
			var views [3]ops.View
			for i := range views {
				b, err := runtime.Alloc[float32](dev, c.shape.Count())
				require.NoError(t, err)
				defer func() { require.NoError(t, b.Free()) }() // it is not to be collected before
				views[i] = ops.View{Buf: b.Buffer(), DType: dtype.F32, Layout: layout.Contiguous(c.shape)}
			}
			before := dev.Stats()
			var resolved []string
			stop := jit.OnResolve(func(e jit.Event) {
				resolved = append(resolved, e.Kernel)
				assert.Equal(t, before.Buffers, dev.Stats().Buffers, "%s was resolved after memory was taken", e.Kernel)
			})
			err = c.run(dev.DefaultStream(), views[0], views[1], views[2])
			stop()
			require.NoError(t, err)
			require.NoError(t, dev.Sync())
			assert.Len(t, resolved, c.kernels, "%v", resolved)
		})
	}
}
