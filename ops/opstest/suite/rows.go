package suite

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	rowsops "github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/ops/rows/rowstest"
	"github.com/gokiln/kiln/runtime"
)

// RunRows tests the operations that go through rows, or a share of their parts.
func RunRows(t *testing.T, dev *runtime.Device, share opstest.Share) {
	opstest.Run(t, dev, groups(func(g opstest.Group) bool { return g.Rows }), share)
}

// RunNeighbours tests reductions of rows that are next to each other, more and fewer than a warp
// has lanes, on a device that runs blocks one after the other: it transposes the partial results of
// several rows at once.
func RunNeighbours(t *testing.T, dev *runtime.Device, share opstest.Share) {
	opstest.Run(t, dev, []opstest.Group{{Name: "Rows", Run: neighbours}}, share)
}

func neighbours(t *testing.T, b *opstest.Bench) {
	shapes := []layout.Shape{{1, 257}, {7, 300}, {67, 259}, {5, 3, 300}}
	for i, name := range []string{"sum", "max", "any"} {
		for k, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.U8} {
			b.Part(t, func(t *testing.T, b *opstest.Bench) {
				for n, s := range shapes {
					rowstest.CheckReduction(t, b, rowstest.Reduction(t, b, name), rowstest.References[name], d, opstest.ReductionCase{Shape: s, Dims: []int{-1}}, i+k+n)
				}
			}, "%s/%v", name, d)
		}
	}
	t.Run("Same", func(t *testing.T) { sameRows(t, b) })
}

// sameRows requires that the sum of a row has the same bits wherever it is among others.
func sameRows(t *testing.T, b *opstest.Bench) {
	const rows, wide = 37, 301
	row, n := make([]dtype.Scalar, wide), 0
	for i := range row {
		row[i] = b.Moderate(dtype.F32)
	}
	x := b.Value(t, dtype.F32, layout.Contiguous(layout.Shape{rows, wide}), func() dtype.Scalar { n++; return row[(n-1)%wide] })
	out := b.Output(t, dtype.F32, layout.Shape{rows}, 0)
	require.NoError(t, rowsops.Sum.Run(b.Stream, out.View, x.View, []int{1}))
	sums := b.Read(t, out)
	for r, got := range sums {
		require.Equal(t, sums[0], got, "row %d", r)
	}
	one, first := b.Output(t, dtype.F32, layout.Shape{1}, 0), x.View
	var err error
	first.Layout, err = x.Layout.Narrow(0, 0, 1)
	require.NoError(t, err)
	require.NoError(t, rowsops.Sum.Run(b.Stream, one.View, first, []int{1}))
	require.Equal(t, sums[:1], b.Read(t, one), "alone")
}
