package opstest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	rowsops "github.com/gokiln/kiln/ops/rows"
	"github.com/gokiln/kiln/runtime"
)

// RunRows tests the operations that go through rows, which devices divide in different
// ways.
func RunRows(t *testing.T, dev *runtime.Device) {
	for _, f := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{{"Reduce", reduce}, {"RowNorm", rowNorm}, {"Scan", scan}, {"Sort", sorting}, {"Index", index}, {"Search", searching}, {"Conv", convolution}} {
		t.Run(f.name, func(t *testing.T) {
			f.run(t, &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))})
		})
	}
}

// RunNeighbours tests reductions of rows that are next to each other, more and fewer than a warp
// has lanes, on a device that runs blocks one after the other: it transposes the partial results of
// several rows at once.
func RunNeighbours(t *testing.T, dev *runtime.Device) {
	b := &bench{dev: dev, s: dev.DefaultStream(), rng: rand.New(rand.NewPCG(1, 2))}
	shapes := []layout.Shape{{1, 257}, {7, 300}, {67, 259}, {5, 3, 300}}
	for i, name := range []string{"sum", "max", "any"} {
		for k, d := range []dtype.DType{dtype.F32, dtype.BF16, dtype.I64, dtype.U8} {
			t.Run(name+"/"+d.String(), func(t *testing.T) {
				for n, s := range shapes {
					b.reduce(t, b.reduction(t, name), reduced[name], d, fold{s, []int{-1}}, i+k+n)
				}
			})
		}
	}
	t.Run("Same", b.sameRows)
}

// sameRows requires that the sum of a row has the same bits wherever it is among others.
func (b *bench) sameRows(t *testing.T) {
	const rows, wide = 37, 301
	row, n := make([]dtype.Scalar, wide), 0
	for i := range row {
		row[i] = b.moderate(dtype.F32)
	}
	x := b.value(t, dtype.F32, layout.Contiguous(layout.Shape{rows, wide}), func() dtype.Scalar { n++; return row[(n-1)%wide] })
	out := b.room(t, dtype.F32, layout.Shape{rows}, 0)
	require.NoError(t, rowsops.Sum.Run(b.s, out.View, x.View, []int{1}))
	sums := b.read(t, out)
	for r, got := range sums {
		require.Equal(t, sums[0], got, "row %d", r)
	}
	one, first := b.room(t, dtype.F32, layout.Shape{1}, 0), x.View
	var err error
	first.Layout, err = x.Layout.Narrow(0, 0, 1)
	require.NoError(t, err)
	require.NoError(t, rowsops.Sum.Run(b.s, one.View, first, []int{1}))
	require.Equal(t, sums[:1], b.read(t, one), "alone")
}
