package convtest

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/ops"
	"github.com/gokiln/kiln/ops/conv"
	"github.com/gokiln/kiln/ops/dtype"
	indexops "github.com/gokiln/kiln/ops/index"
	"github.com/gokiln/kiln/ops/layout"
	"github.com/gokiln/kiln/ops/opstest"
)

// samples are images, and how many rows and columns of positions there are.
var samples = []struct {
	x          layout.Shape
	rows, cols int
}{
	{layout.Shape{2, 3, 5, 4}, 3, 7},
	{layout.Shape{1, 5, 1, 6}, 2, 40},
	{layout.Shape{3, 1, 4, 1}, 5, 1},
	{layout.Shape{0, 2, 3, 3}, 2, 2},
	{layout.Shape{2, 0, 3, 3}, 2, 2},
}

// sampled tests one mode and padding with all images.
func sampled(t *testing.T, b *opstest.Bench, d dtype.DType, kind int, p conv.Sampling) {
	t.Helper()
	for n, c := range samples {
		places := layout.Shape{c.x[0], c.rows, c.cols, 2}
		axis := 0
		x := b.Value(t, d, opstest.LayoutOf(t, opstest.Kinds[(kind+n)%len(opstest.Kinds)], c.x), func() dtype.Scalar { return dtype.FromInt(d, int64(b.Rand.IntN(30))-10) })
		grid := b.Value(t, d.Compute(), opstest.LayoutOf(t, opstest.Kinds[(kind+2*n)%len(opstest.Kinds)], places), func() dtype.Scalar {
			axis++
			return dtype.FromFloat(d.Compute(), sight(b, c.x[2+axis%2], p.AlignCorners))
		})
		shape := layout.Shape{c.x[0], c.x[1], c.rows, c.cols}
		out := b.Output(t, d, shape, kind)
		require.NoError(t, conv.Sample(b.Stream, out.View, x.View, grid.View, p))
		got, i := b.Read(t, out), 0
		opstest.EachIndex(shape, func(at []int) {
			pair := opstest.FlatIndex(places, []int{at[0], at[2], at[3], 0})
			sum := 0.0
			for _, down := range seen(grid.Want[pair+1].Float(), c.x[2], p) {
				for _, across := range seen(grid.Want[pair].Float(), c.x[3], p) {
					sum += down.weight * across.weight * x.Want[opstest.FlatIndex(c.x, []int{at[0], at[1], down.at, across.at})].Float()
				}
			}
			tolerance := 1e-3
			if d.Bits() < 32 {
				tolerance += opstest.ULP(d, sum)
			}
			require.InDelta(t, sum, got[i].Float(), tolerance, "%v at %v by %+v: %v", x.Layout, grid.Layout, p, at)
			i++
		})
	}
}

// sight draws a position, at times outside of the image or none, where what is nearest is clear
// however it is rounded, also if the image has another size along the other axis.
func sight(b *opstest.Bench, n int, aligned bool) float64 {
	if b.Rand.IntN(20) == 0 {
		return []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e30, -1, 1}[b.Rand.IntN(6)]
	}
	at := float64(b.Rand.IntN(3*n+2)-n) + []float64{-.31, -.1, .17, .4}[b.Rand.IntN(4)]
	if aligned {
		return at*2/float64(max(n-1, 1)) - 1
	}
	return (at*2+1)/float64(n) - 1
}

// seen returns the elements of n along an axis that count for a position.
func seen(g float64, n int, p conv.Sampling) (list []corner) {
	if math.IsNaN(g) {
		g = -1
	}
	g = min(max(g, -1<<22), 1<<22)
	at := ((g+1)*float64(n) - 1) / 2
	if p.AlignCorners {
		at = (g + 1) / 2 * float64(n-1)
	}
	at = min(max(at, -1<<22), 1<<22)
	add := func(i, weight float64) {
		if i >= 0 && i < float64(n) {
			list = append(list, corner{int(i), weight})
		}
	}
	switch p.Mode {
	case conv.SampleNearest:
		add(math.RoundToEven(within1(at, n, p)), 1)
	case conv.SampleBilinear:
		at = within1(at, n, p)
		low := math.Floor(at)
		add(low, 1-(at-low))
		add(low+1, at-low)
	case conv.SampleBicubic:
		low := math.Floor(at)
		for k := -1.0; k <= 2; k++ {
			const a = -0.75
			x := math.Abs(at - low - k)
			w := ((a*x-5*a)*x+8*a)*x - 4*a
			if x <= 1 {
				w = ((a+2)*x-(a+3))*x*x + 1
			}
			add(within1(low+k, n, p), w)
		}
	}
	return list
}

// within1 is a position, or the one in the image that counts for it.
func within1(at float64, n int, p conv.Sampling) float64 {
	low, span := -0.5, float64(n)
	if p.AlignCorners {
		low, span = 0, float64(n-1)
	}
	switch p.Padding {
	case indexops.PadConstant:
		return at
	case indexops.PadReflect:
		if span == 0 {
			return 0
		}
		turns := math.Floor(math.Abs(at-low) / span)
		rest := math.Abs(at-low) - turns*span
		if int64(turns)%2 != 0 {
			rest = span - rest
		}
		at = low + rest
	}
	return min(max(at, 0), float64(n-1))
}

// samplingErrors are operands that do not fit.
func samplingErrors(t *testing.T, b *opstest.Bench) {
	view := func(d dtype.DType, s ...int) ops.View { return b.RandomValue(t, d, s, 0).View }
	f := dtype.F32
	out, x, grid := view(f, 2, 3, 5, 6), view(f, 2, 3, 4, 4), view(f, 2, 5, 6, 2)
	require.ErrorIs(t, conv.Sample(b.Stream, out, view(f, 2, 4, 4), grid, conv.Sampling{}), layout.ErrRank)
	require.ErrorIs(t, conv.Sample(b.Stream, out, x, view(f, 2, 5, 6, 3), conv.Sampling{}), layout.ErrShape)
	require.ErrorIs(t, conv.Sample(b.Stream, out, x, view(f, 1, 5, 6, 2), conv.Sampling{}), layout.ErrShape)
	require.ErrorIs(t, conv.Sample(b.Stream, view(f, 2, 3, 6, 5), x, grid, conv.Sampling{}), layout.ErrShape)
	require.ErrorIs(t, conv.Sample(b.Stream, out, view(f, 2, 3, 0, 4), grid, conv.Sampling{}), layout.ErrShape)
	require.ErrorIs(t, conv.Sample(b.Stream, out, x, view(dtype.F16, 2, 5, 6, 2), conv.Sampling{}), ops.ErrDType)
	require.ErrorIs(t, conv.Sample(b.Stream, view(dtype.F16, 2, 3, 5, 6), x, grid, conv.Sampling{}), ops.ErrDType)
	i := dtype.I32
	require.ErrorIs(t, conv.Sample(b.Stream, view(i, 2, 3, 5, 6), view(i, 2, 3, 4, 4), view(i, 2, 5, 6, 2), conv.Sampling{}), ops.ErrDType)
	require.ErrorContains(t, conv.Sample(b.Stream, out, x, grid, conv.Sampling{Padding: indexops.PadCircular}), "want PadConstant, PadEdge or PadReflect")
	require.ErrorContains(t, conv.Sample(b.Stream, out, x, grid, conv.Sampling{Mode: 3}), "want SampleBilinear, SampleNearest or SampleBicubic")
}
