package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/elementwise"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestGated multiplies by both halves of a weight that is stacked as checkpoints have it, in one
// product, and by two products. Factors that lie otherwise than each other take two.
func TestGated(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	b := opstest.NewBench(dev)
	const m, n, k = 70, 72, 40
	draw := func() dtype.Scalar { return dtype.FromInt(dtype.F32, int64(b.Rand.IntN(9)-4)) }
	x, w := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{m, k}), draw), b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{2 * n, k}), draw)
	half := func(from int) ops.View {
		v := w.View
		v.Layout, err = v.Layout.Narrow(0, from, n)
		require.NoError(t, err)
		v.Layout, err = v.Layout.Transpose(0, 1)
		require.NoError(t, err)
		return v
	}
	gate, up := half(0), half(n)
	o := Options{Strategy: "matrix tiles of 64x64 by 2x1 warps in 4 stages", Epilogue: Epilogue{Act: elementwise.Relu, Up: up}}
	one, two := b.Output(t, dtype.F32, layout.Shape{m, n}, 0), b.Output(t, dtype.F32, layout.Shape{m, n}, 0)
	p, err := newProduct(b.Stream, o, one.View, x.View, gate, ops.View{})
	require.NoError(t, err)
	require.True(t, p.gates(gate, up))
	p.up = up
	require.NoError(t, gatedProducts.RunBy(b.Stream, o.Strategy, p))
	require.NoError(t, gatedApart(b.Stream, o, two.View, x.View, gate))
	require.Equal(t, b.Read(t, two), b.Read(t, one))

	other := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{k, n}), draw)
	require.False(t, p.gates(gate, other.View))
	require.ErrorIs(t, gatedProducts.RunBy(b.Stream, "two products", p), errApart)
}
