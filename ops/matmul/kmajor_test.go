package matmul

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/dtype"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
	"github.com/gokiln/kiln/runtime"
)

// TestTurnedFactors multiplies as for a device whose warpgroups want factors along k, with factors
// that lie across it, and with a second one that all products share.
func TestTurnedFactors(t *testing.T) {
	dev, err := runtime.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	b := opstest.NewBench(dev)
	const batch, m, n, k = 3, 40, 36, 37 // zeros are behind k
	small := func() dtype.Scalar { return dtype.FromInt(dtype.F32, int64(b.Rand.IntN(9)-4)) }
	across, err := layout.New(layout.Shape{batch, m, k}, []int{m * k, 1, m}, 0)
	require.NoError(t, err)
	for _, shared := range []bool{false, true} {
		shape := layout.Shape{batch, k, n}
		if shared {
			shape = layout.Shape{k, n}
		}
		x, y := b.Value(t, dtype.F32, across, small), b.Value(t, dtype.F32, layout.Contiguous(shape), small)
		out := b.Output(t, dtype.F32, layout.Shape{batch, m, n}, 0)
		p, err := newProduct(b.Stream, Options{Precision: High}, out.View, x.View, y.View, ops.View{})
		require.NoError(t, err)
		p.KMajor = true
		require.True(t, p.needsKMajor(1) && p.needsKMajor(2))
		require.NoError(t, runPadded(b.Stream, p))
		for i, got := range b.Read(t, out) {
			z, row, col := i/(m*n), i/n%m, i%n
			first := z * k * n
			if shared {
				first = 0
			}
			want := 0.0
			for j := range k {
				want += x.Want[(z*m+row)*k+j].Float() * y.Want[first+j*n+col].Float()
			}
			require.Equal(t, want, got.Float(), "product %d, row %d, column %d", z, row, col)
		}
	}
}
