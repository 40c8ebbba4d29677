package ops_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/runtime"
)

func TestScratch(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	s := dev.DefaultStream()
	up := func(x ...float32) ops.View {
		m, err := runtime.From(dev, x)
		require.NoError(t, err)
		return ops.View{Buf: m.Buffer(), DType: dtype.F32, Layout: layout.Contiguous(layout.Shape{len(x)})}
	}
	x, y, o := up(1, 2, 3, 4, 5, 6), up(10, 20, 30, 40, 50, 60), up(0, 0, 0, 0, 0, 0)
	down := func(v ops.View) []float32 {

		sl, err := runtime.View[float32](v.Buf)
		require.NoError(t, err)
		h, err := sl.Host()
		require.NoError(t, err)
		return h
	}
	require.NoError(t, ops.Add.Run(s, o, []ops.View{x, y}))
	require.Equal(t, []float32{11, 22, 33, 44, 55, 66}, down(o))
	x.Layout, _, _ = x.Layout.Reshape(layout.Shape{2, 3})
	o.Layout, _, _ = o.Layout.Reshape(layout.Shape{3, 2})
	x.Layout, _ = x.Layout.Transpose(0, 1)
	require.NoError(t, ops.Copy(s, o, x))
	require.Equal(t, []float32{1, 4, 2, 5, 3, 6}, down(o))
	require.NoError(t, ops.Affine.Run(s, o, []ops.View{x}, dtype.New(2.0), dtype.New(float32(1))))
	require.Equal(t, []float32{3, 9, 5, 11, 7, 13}, down(o))
}
